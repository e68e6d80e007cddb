#!/usr/bin/env python3
"""Runs the commands of the CI examples in docs/check.md, as their runners would.

Usage: ci_examples_test.py PROGRAM       with a stand-in for apt-get that installs PROGRAM
       ci_examples_test.py ROOT PACKAGE  in a bare Debian (scripts/bare_root), where apt-get installs PACKAGE
"""
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BARE = len(sys.argv) == 3
GIVEN = [pathlib.Path(word).resolve() for word in sys.argv[1:]]
SCENARIO = """stepcast: 1
name: small
cluster: {extends: clusters/ideal.yaml, devices: 8}
workload: {chunks: [{forward: 1ms, backward_input: 1ms, backward_weight: 1ms}], boundary: 0B}
parallel: {tp: 1, pp: 4, dp: auto}
training: {global_batch: 16, micro_batch: 1}
schedule: {pipeline: 1f1b}
expect: {step_time: {value: %s, tolerance: 1%%}}
"""


def scripts():
    """The shell texts of the examples by the name of their service."""
    blocks = re.findall(r"```yaml\n(.*?)```", (SOURCE / "docs/check.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    found = {}
    for document in map(yaml.safe_load, blocks):
        if "jobs" in document:
            lines = [step["run"] for step in document["jobs"]["check"]["steps"] if "run" in step]
            found["github"] = "\n".join(lines)
        elif "step-times" in document:
            found["gitlab"] = "\n".join(document["step-times"]["script"])
    return found


class Examples(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        base = GIVEN[0] if BARE else pathlib.Path(self.temporary.name)
        self.folder = base / "srv" / "repository"
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "recipes").mkdir(parents=True)
        self.package = self.folder / "stepcast.deb"
        if BARE:
            shutil.copy(GIVEN[1], self.package)
            return
        self.package.write_text("no package: the stand-in for apt-get takes any file\n")
        tools = base / "bin"
        tools.mkdir()
        (tools / "apt-get").write_text(f"""#!/bin/sh
case "$*" in *install*./installed.deb)
  ln -sf {GIVEN[0]} {tools}/stepcast ;;
esac
""")
        (tools / "apt-get").chmod(0o755)

    def tearDown(self):
        if BARE:
            subprocess.run([SOURCE / "scripts/bare_root", "run", GIVEN[0], "dpkg", "--purge", "stepcast"], capture_output=True)
        self.temporary.cleanup()

    def run_all(self, script, checksum=None):
        """Each runner ends at the first command that fails."""
        values = {"STEPCAST_DEB": "stepcast.deb", "GITHUB_STEP_SUMMARY": "summary.md",
                  "STEPCAST_SHA256": checksum or hashlib.sha256(self.package.read_bytes()).hexdigest()}
        words = [f"{key}={value}" for key, value in values.items()]
        script = f"set -eo pipefail\ncd {'/srv/repository' if BARE else self.folder}\n{script}"
        if BARE:
            command = [SOURCE / "scripts/bare_root", "run", GIVEN[0], "env", *words, "bash", "-c", script]
        else:
            command = ["env", f"PATH={self.temporary.name}/bin:/usr/bin:/bin", *words, "bash", "-c", script]
        return subprocess.run(command, text=True, capture_output=True)

    def each(self, value, **options):
        for service, script in scripts().items():
            with self.subTest(service):
                if value:
                    (self.folder / "recipes/small.yaml").write_text(SCENARIO % value)
                yield service, self.run_all(script, **options)

    def test_there_are_two(self):
        self.assertEqual(sorted(scripts()), ["github", "gitlab"])

    def test_a_check_that_holds(self):
        for service, ran in self.each("33ms"):
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            self.assertIn("1 checked: 1 ok, 0 failed", ran.stdout)
            self.assertIn('failures="0"', (self.folder / "check.xml").read_text())
            if service == "github":
                self.assertIn("1 ok, 0 failed", (self.folder / "summary.md").read_text())

    def test_a_check_that_fails(self):
        for service, ran in self.each("30ms"):
            self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
            self.assertIn('failures="1"', (self.folder / "check.xml").read_text())
            if service == "github":
                self.assertIn("::error file=recipes/small.yaml,line=8,", ran.stdout)
                self.assertIn("**failed**", (self.folder / "summary.md").read_text())

    def test_no_file(self):
        (self.folder / "recipes").rmdir()
        for _, ran in self.each(None):
            self.assertEqual(ran.returncode, 2, ran.stdout + ran.stderr)
            self.assertIn("recipes: does not exist", ran.stderr)

    def test_another_package_is_not_installed(self):
        for _, ran in self.each("33ms", checksum="0" * 64):
            self.assertNotEqual(ran.returncode, 0)
            self.assertIn("FAILED", ran.stdout)
            self.assertNotIn("checked", ran.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
