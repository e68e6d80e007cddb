"""Follows the steps of CONTRIBUTING.md for adding a schedule, in a copy of the tree.

Usage: contributing_test.py [--build]. Without --build it only holds that every step finds its place; with it the copy is
configured, the scheduler and its tests are built and run (a minute or two).
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = "--build" in sys.argv
TESTS = "test_scheduler"
BLOCK = re.compile(r"^```\w+\n(?://|#) ([\w./]+)(?:, (below|above) ([^\n]*))?\n(.*?)^```", re.MULTILINE | re.DOTALL)


def steps():
    """(file, below or above or nothing, line there, text) of each block under "Adding a schedule"."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.split("## Adding a schedule\n")[1].split("\n## ")[0]
    return BLOCK.findall(section)


def apply(root, file, side, there, text):
    path = root / file
    if not side:
        assert not path.exists(), f"{file}: is there already"
        path.write_text(text, encoding="utf-8")
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if there in line]
    assert places, f"{file}: no line has '{there}'"
    at = places[0] + (side == "below")
    lines[at:at] = [text]
    path.write_text("".join(lines), encoding="utf-8")


class Contributing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = pathlib.Path(folder.name) / "tree"
        shutil.copytree(ROOT, self.copy, ignore=shutil.ignore_patterns("build", ".git", "validation"))

    def run_in_copy(self, *command):
        done = subprocess.run(command, cwd=self.copy, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, "\n".join(done.stdout.splitlines()[-60:]))
        return done.stdout

    def test_a_schedule(self):
        found = steps()
        self.assertEqual(len(found), 6)
        for step in found:
            apply(self.copy, *step)
        self.run_in_copy("scripts/check_layers")
        if not BUILD:
            return
        self.run_in_copy("cmake", "--preset", "release", "-DSTEPCAST_TESTS=ON", "-DSTEPCAST_MPI=OFF")
        self.run_in_copy("cmake", "--build", "build/release", "--target", TESTS)
        program = f"build/release/tests/scheduler/{TESTS}"
        self.run_in_copy(program, "--gtest_brief=1")
        self.assertIn("EagerWarmUpHasTwiceTheForwards", self.run_in_copy(program, "--gtest_list_tests"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
