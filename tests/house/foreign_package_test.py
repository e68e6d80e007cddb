#!/usr/bin/env python3
"""What `scripts/package --machine aarch64` made. Usage: foreign_package_test.py PROGRAM DIST

Runs under qemu, so that it holds results and shapes of files, not times; PROGRAM, of this machine, says what to expect.
"""
import json
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
ASKED = [("scenarios/telechat3-36b-2048.yaml",), ("scenarios/mixtral-8x7b.yaml",),
         ("scenarios/llama2-7b-8.yaml", "--set", "simulate.engine=simgrid")]


def output(*command):
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=SOURCE)
    if ran.returncode != 0:
        raise AssertionError(f"{command}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


class Foreign(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.folder.name)
        output("tar", "-xzf", next(DIST.glob("*-linux-aarch64.tar.gz")), "--strip-components=1", "-C", cls.prefix)
        own = cls.prefix / "lib/stepcast"
        # As the launcher starts it; qemu starts no second program by itself.
        cls.command = [QEMU, own / "libraries/ld.so", "--inhibit-cache", "--library-path", own / "libraries", own / "stepcast"]

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

    def test_results_are_those_of_this_machine(self):
        def numbers(*command):
            result = json.loads(output(*command))
            result.pop("build", None)  # which program made it
            return json.dumps(result, sort_keys=True)

        for scenario, *options in ASKED:
            words = ["run", SOURCE / scenario, *options, "--json", "-"]
            self.assertEqual(numbers(*self.command, *words), numbers(PROGRAM, *words), scenario)

    def test_a_mistake_is_refused(self):
        ran = subprocess.run([*map(str, self.command), "run", "no.yaml"], capture_output=True, text=True, cwd=SOURCE)
        self.assertEqual(ran.returncode, 2)
        self.assertRegex(ran.stderr, re.escape("no.yaml"))


if QEMU is None:
    print("foreign_package_test: needs qemu-aarch64-static", file=sys.stderr)
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
