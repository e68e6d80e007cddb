#!/usr/bin/env python3
"""What `scripts/package --machine aarch64` made. Usage: foreign_package_test.py PROGRAM DIST

Runs under qemu, so that it holds results and shapes of files, not times; PROGRAM, of this machine, says what to expect.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM, DIST = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
QEMU = shutil.which("qemu-aarch64-static")
MOST_BYTES = 60e6
ASKED = [("run", "telechat3-36b-2048.yaml"), ("run", "telechat3-105b-4096.yaml"), ("run", "deepseek-v3-2048.yaml"),
         ("run", "llama2-7b-8.yaml", "--engine", "simgrid"), ("explain", "telechat3-36b-2048.yaml"),
         ("campaign", "what-if/telechat3-105b-campaign.yaml", "--set", "campaign.runs=20"),
         ("plan", "telechat3-36b-2048.yaml", "--set", "parallel.pp=[2,4]", "--set", "plan.placements=1")]   # CBC places layers


def output(*command):
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=SOURCE)
    if ran.returncode != 0:
        raise AssertionError(f"{command}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def digits(*command):
    """All that a command answers but which program it was, and the folder of its presets. The gap is of Debian's CBC, which
    joins products and sums on ARM."""
    text = re.sub(r'"(commit|fingerprint)": "[^"]*"|(?<=")(stepcast|scenarios)/', "", output(*command, "--json", "-"))
    return re.sub(r'"gap": (\d\S*)', lambda gap: f'"gap": {round(float(gap[1]), 12)}', text)


class Foreign(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.folder.name)
        output("tar", "-xzf", next(DIST.glob("*-linux-aarch64.tar.gz")), "--strip-components=1", "-C", cls.prefix)
        own = cls.prefix / "lib/stepcast"
        # qemu starts no second program by itself: what the launcher would start is started here.
        cls.command = [QEMU, own / "libraries/ld.so", "--inhibit-cache", "--library-path", own / "libraries",
                       "--argv0", cls.prefix / "bin/stepcast", own / "stepcast"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_all_programs_and_libraries_are_of_that_machine(self):
        count = 0
        for file in self.prefix.rglob("*"):
            if file.is_file() and file.read_bytes()[:4] == b"\x7fELF":
                self.assertIn("AArch64", output("readelf", "-hW", file), file)
                count += 1
        self.assertGreater(count, 10)

    def test_it_is_below_the_limit_and_has_what_the_other_has(self):
        size = sum(file.stat().st_size for file in self.prefix.rglob("*") if file.is_file() and not file.is_symlink())
        self.assertLess(size, MOST_BYTES)
        for name in ("bin/stepcast", "share/man/man1/stepcast-run.1", "share/zsh/vendor-completions/_stepcast",
                     "share/stepcast/schemas/scenario.json", "share/doc/stepcast/stepcast.spdx.json"):
            self.assertTrue((self.prefix / name).stat().st_size > 0, name)

    def test_the_wheel_says_the_machine(self):
        self.assertRegex(next(DIST.glob("*.whl")).name, r"manylinux2014_aarch64")
        parts = json.loads((self.prefix / "share/doc/stepcast/stepcast.spdx.json").read_text())["packages"]
        self.assertTrue(any("arch=arm64" in str(part.get("externalRefs")) for part in parts))

    def test_the_launcher_starts_the_program(self):
        traced = subprocess.run([QEMU, "-strace", self.prefix / "bin/stepcast", "--version"], capture_output=True, text=True)
        started = re.search(r"execve\(\S+?,\{(.*),NULL\}\)", traced.stderr)[1]
        self.assertEqual(started.replace('"', "").split(","), [str(word) for word in (*self.command[1:], "--version")])

    def test_results_are_those_of_this_machine_digit_by_digit(self):
        self.assertEqual(output(*self.command, "--version"), output(PROGRAM, "--version"))
        for words in ASKED:
            with self.subTest(words):
                self.assertTrue(digits(*self.command, *words) == digits(PROGRAM, *words))

    def test_validates(self):
        self.assertEqual(output(*self.command, "validate", "telechat3-36b-2048.yaml"), output(PROGRAM, "validate", "telechat3-36b-2048.yaml"))

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_runs_where_there_is_nothing(self):
        """A root of these files and qemu alone."""
        shutil.copy(QEMU, self.prefix)
        command = [str(word).replace(str(self.prefix), "") for word in self.command[1:]]
        words = ["run", "telechat3-36b-2048.yaml"]
        self.assertTrue(digits("chroot", self.prefix, f"/{pathlib.Path(QEMU).name}", *command, *words) == digits(PROGRAM, *words))

    def test_a_mistake_is_refused(self):
        ran = subprocess.run([*map(str, self.command), "run", "no.yaml"], capture_output=True, text=True, cwd=SOURCE)
        self.assertEqual(ran.returncode, 2)
        self.assertRegex(ran.stderr, re.escape("no.yaml"))


if QEMU is None:
    print("foreign_package_test: needs qemu-aarch64-static", file=sys.stderr)
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
