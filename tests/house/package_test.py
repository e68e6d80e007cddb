#!/usr/bin/env python3
"""What scripts/package made. Usage: package_test.py PROGRAM DIST [SUITE...]

PROGRAM is the one that it was made of. For each SUITE of Debian the archive and the wheel are also tried in a bare root
of it (scripts/bare_root), and the times that docs/install.md promises are held.
"""
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/page"))
from served import FLAGSHIP, Served  # noqa: E402

PROGRAM, DIST, SUITES = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
ARCHIVE, WHEEL = next(DIST.glob("*.tar.gz")), next(DIST.glob("*.whl"))
MOST_BYTES = 60e6
ARCHIVE_S, WHEEL_S, START_S = 5, 20, 3e-3
ROOT = os.geteuid() == 0


def output(*command, **options):
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if ran.returncode != 0:
        raise AssertionError(f"{command}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def built(*words):
    """What the built program prints. A hardened one knows nothing of the tree that it was built in."""
    return output(PROGRAM, *words, env={**os.environ, "STEPCAST_PRESETS": str(SOURCE / "scenarios")})


def spent():
    """Seconds of processor of what was started and has ended; a clock would time whatever else runs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def unpack(folder):
    folder.mkdir(parents=True, exist_ok=True)
    output("tar", "-xzf", ARCHIVE, "--strip-components=1", "-C", folder)


class Made(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.folder.name) / "prefix"
        unpack(cls.prefix)
        cls.stepcast = cls.prefix / "bin/stepcast"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


class Archive(Made):
    def test_checksums(self):
        output("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=DIST)
        listed = {line.split("  ")[1] for line in (DIST / "SHA256SUMS").read_text().splitlines()}
        self.assertEqual(listed, {file.name for file in DIST.iterdir()} - {"SHA256SUMS"})

    def test_size_and_owners(self):
        with tarfile.open(ARCHIVE) as archive:
            members = archive.getmembers()
        self.assertLess(sum(member.size for member in members), MOST_BYTES)
        self.assertEqual({(member.uid, member.gid, member.mtime) for member in members}, {(0, 0, members[0].mtime)})
        self.assertEqual({member.mode for member in members if not member.issym()}, {0o755, 0o644})

    def test_holds(self):
        for name in ("share/man/man1/stepcast-run.1", "share/bash-completion/completions/stepcast",
                     "share/zsh/vendor-completions/_stepcast", "share/fish/vendor_completions.d/stepcast.fish",
                     "share/stepcast/schemas/scenario.json", "share/stepcast/clusters/atlas-800t-a2.yaml",
                     "share/doc/stepcast/copyright", "share/doc/stepcast/licenses/glibc", "lib/stepcast/simgrid.so", "lib/stepcast/cbc.so"):
            self.assertTrue((self.prefix / name).is_file(), name)

    def test_parts_are_named(self):
        """Each library stands in its package's list of files, and that package in the SBOM."""
        document = json.loads(next(DIST.glob("*.spdx.json")).read_text())
        packages = [package["name"] for package in document["packages"] if package["name"] != "stepcast"]
        files = {pathlib.Path(line).name for package in packages for line in output("dpkg-query", "-L", package).splitlines()}
        for file in (self.prefix / "lib/stepcast/libraries").iterdir():
            if not file.name.startswith(("libns3-", "ld")):
                self.assertTrue(any(name == file.name or name.startswith(file.name + ".") for name in files), file.name)
        self.assertFalse([name for name in packages if "ns3" in name])

    def test_no_folder_of_the_build_is_named(self):
        # Builds of developers name it in their contracts.
        if "STEPCAST_HARDEN:BOOL=ON" in (pathlib.Path(PROGRAM).parent / "CMakeCache.txt").read_text():
            for file in self.prefix.rglob("*"):
                if file.is_file():
                    self.assertNotIn(os.fsencode(SOURCE), file.read_bytes(), file)

    def test_forecasts_as_the_program_does(self):
        link = self.prefix.parent / "link"
        link.symlink_to(self.stepcast)
        for program, more in ((self.stepcast, []), (link, []), (self.stepcast, ["--set", "simulate.sharing=simgrid"])):
            words = ["run", FLAGSHIP, "--json", "-", *more]
            self.assertEqual(output(program, *words), built(*words))

    def test_solves(self):
        """CBC, a module, places layers."""
        plan = self.prefix.parent / "plan.yaml"
        plan.write_text(f"extends: {FLAGSHIP}\nname: placed\nparallel: {{tp: 8, pp: [2, 4]}}\n"
                        "plan: {placements: 1, simulations: 4, top: 2}\n")
        words = ["plan", plan, "--json", "-"]
        self.assertEqual(output(self.stepcast, *words), built(*words))

    def test_the_page_starts_its_worker(self):
        served = Served(str(self.stepcast))
        try:
            status, answer = served.question("forecast")
        finally:
            served.stop()
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["answer"], json.loads(built("run", FLAGSHIP, "--json", "-")))

    @unittest.skipUnless(ROOT, "needs root")
    def test_runs_where_there_is_nothing(self):
        """A root of these files alone: no C library, no shell, no /proc."""
        words = ["run", FLAGSHIP, "--set", "simulate.sharing=simgrid", "--json", "-"]
        self.assertEqual(output("chroot", self.prefix, "/bin/stepcast", *words), built(*words))

    def test_says_what_is_missing(self):
        moved = self.prefix.parent / "alone"
        shutil.copy(self.stepcast, moved)
        ran = subprocess.run([moved, "--version"], text=True, capture_output=True)
        self.assertEqual(ran.returncode, 3)
        self.assertIn("/lib/stepcast/libraries/ld.so: No such file", ran.stderr)

    @unittest.skipUnless(SUITES, "no clock among quick tests")
    def test_start(self):
        spent = {PROGRAM: [], str(self.stepcast): []}
        for _ in range(100):
            for program, times in spent.items():
                ran = subprocess.Popen([program, "--version"], stdout=subprocess.DEVNULL)
                used = os.wait4(ran.pid, 0)[2]
                ran.returncode = 0
                times.append(used.ru_utime + used.ru_stime)
        built, packaged = map(statistics.median, spent.values())
        print(f"start: {1e3 * built:.1f} ms of processor built, {1e3 * packaged:.1f} ms packaged")
        self.assertLess(packaged - built, START_S)


class Wheel(Made):
    def test_installs_into_a_fresh_environment(self):
        folder = self.prefix.parent / "venv"
        output(sys.executable, "-m", "venv", folder)
        output(folder / "bin/pip", "install", "--no-index", WHEEL)
        code = f"import stepcast, sys; sys.stdout.write(stepcast.forecast({FLAGSHIP!r}).to_json())"
        alone = {"PATH": f"{folder}/bin:/usr/bin:/bin"}
        made = output(folder / "bin/python", "-c", code, env=alone, cwd="/")
        self.assertEqual(made, built("run", FLAGSHIP, "--json", "-"))
        self.assertEqual(output("stepcast", "run", FLAGSHIP, "--json", "-", env=alone, cwd="/"), made)
        shown = output(folder / "bin/pip", "show", "stepcast")
        self.assertRegex(shown, r"Version: \d+\.\d+\.\d+")
        self.assertIn("Summary: Predicts the time of one LLM training step", shown)
        output(folder / "bin/pip", "uninstall", "--yes", "stepcast")
        self.assertFalse([file for file in folder.rglob("*stepcast*") if file.is_file()])

    def test_a_target_folder(self):
        folder = self.prefix.parent / "target"
        shutil.unpack_archive(WHEEL, folder, "zip")
        data = next(folder.glob("*.data/data"))
        for part in data.iterdir():   # as pip --target lays them
            part.rename(folder / part.name)
        (folder / "bin/stepcast").chmod(0o755)
        found = output(sys.executable, "-c", "from stepcast import _program; print(_program.find_program())",
                       env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"}, cwd="/")
        self.assertEqual(pathlib.Path(found.strip()), (folder / "bin/stepcast").resolve())

    def test_is_as_its_record_says(self):
        with zipfile.ZipFile(WHEEL) as wheel:
            names = wheel.namelist()
            record = next(name for name in names if name.endswith("/RECORD"))
            listed = [line.rsplit(",", 2)[0] for line in wheel.read(record).decode().splitlines()]
            tags = re.findall(r"Tag: (\S+)", wheel.read(record.replace("RECORD", "WHEEL")).decode())
        self.assertEqual(listed, names)
        self.assertEqual({"-".join(WHEEL.stem.split("-")[2:4])}, {tag.rsplit("-", 1)[0] for tag in tags})


@unittest.skipUnless(SUITES, "no suites are given")
class BareRoots(unittest.TestCase):
    def run_in(self, root, script):
        return output(SOURCE / "scripts/bare_root", "run", root, "bash", "-euc", script)

    def test_archive_and_wheel(self):
        expected = built("run", FLAGSHIP, "--json", "-")
        for suite in SUITES:
            with self.subTest(suite), tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder) / "root"
                output(SOURCE / "scripts/bare_root", "debian", root, suite, "python3", "python3-venv")
                for file in (ARCHIVE, WHEEL):
                    shutil.copy(file, root / "srv")
                begun = spent()
                self.run_in(root, f"cd /srv; tar -xzf {ARCHIVE.name} --strip-components=1 --one-top-level=/opt/stepcast; "
                                  f"/opt/stepcast/bin/stepcast run {FLAGSHIP} --json archive.json")
                archive = spent() - begun
                self.run_in(root, "python3 -m venv /opt/venv")
                begun = spent()
                self.run_in(root, f"cd /srv; /opt/venv/bin/pip install --quiet --no-index {WHEEL.name}; "
                                  f"/opt/venv/bin/stepcast run {FLAGSHIP} --json wheel.json; "
                                  f"/opt/venv/bin/python -c 'import stepcast; stepcast.forecast(\"{FLAGSHIP}\")'")
                wheel = spent() - begun
                library = self.run_in(root, "ldd --version").splitlines()[0].split()[-1]
                python = self.run_in(root, "python3 --version").strip()
                print(f"{suite}, glibc {library}, {python}: archive to forecast {archive:.1f} s of processor, wheel to forecast {wheel:.1f} s")
                self.assertEqual((root / "srv/archive.json").read_text(), expected)
                self.assertEqual((root / "srv/wheel.json").read_text(), expected)
                self.assertLess(archive, ARCHIVE_S)
                self.assertLess(wheel, WHEEL_S)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
