#!/usr/bin/env python3
"""Runs the action and the template of ci/ as their runners would, in a throw-away repository, with an archive of scripts/package.

Usage: ci_examples_test.py DIST [SUITE]   here, or in a bare root of a suite of Debian (scripts/bare_root)
"""
import functools
import hashlib
import http.server
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ARCHIVE = next(pathlib.Path(sys.argv[1]).resolve().glob("*.tar.gz"))
SUITE = sys.argv[2] if len(sys.argv) > 2 else None
SCENARIO = """stepcast: 1
name: small
cluster: {extends: clusters/ideal.yaml, devices: 8}
workload: {chunks: [{forward: 1ms, backward_input: 1ms, backward_weight: 1ms}], boundary: 0B}
parallel: {tp: 1, pp: 4, dp: auto}
training: {global_batch: 16, micro_batch: 1}
schedule: {pipeline: 1f1b}
expect: {step_time: {value: %s, tolerance: 1%%}}
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.base = pathlib.Path(cls.temporary.name)
        if SUITE:
            cls.base /= "root"
            subprocess.run([SOURCE / "scripts/bare_root", "debian", cls.base, SUITE, "python3", "curl"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        self.folder = self.base / "srv/repository"
        for old in (self.folder, self.base / "srv/runner"):
            shutil.rmtree(old, ignore_errors=True)
        (self.folder / "recipes").mkdir(parents=True)
        (self.base / "srv/runner").mkdir()
        shutil.copy(ARCHIVE, self.folder / "stepcast.tar.gz")

    def inside(self, path):
        return "/" + str(path.relative_to(self.base)) if SUITE else str(path)

    def shell(self, script, values):
        """As both runners start it: a command that fails ends it."""
        words = [f"{key}={value}" for key, value in values.items()]
        script = f"set -eo pipefail\ncd {self.inside(self.folder)}\n{script}"
        prefix = [SOURCE / "scripts/bare_root", "run", self.base, "env"] if SUITE else ["env", "-i", "PATH=/usr/bin:/bin"]
        return subprocess.run([*prefix, *words, "bash", "-c", script], text=True, capture_output=True)

    def github(self, archive, checksum):
        action = yaml.safe_load((SOURCE / "ci/action.yml").read_text())
        inputs = {name: value.get("default") for name, value in action["inputs"].items()} | {"archive": archive, "sha256": checksum}
        runner, path = self.inside(self.base / "srv/runner"), self.base / "srv/runner/path"
        path.write_text("")
        for step in action["runs"]["steps"]:
            given = {key: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], text) for key, text in step["env"].items()}
            ran = self.shell(f"export PATH=$(paste -sd: {runner}/path):$PATH\n{step['run']}", given | {
                "RUNNER_TEMP": runner, "GITHUB_PATH": f"{runner}/path", "GITHUB_STEP_SUMMARY": f"{runner}/summary.md"})
            if ran.returncode != 0:
                break
        return ran

    def gitlab(self, archive, checksum):
        job = yaml.safe_load((SOURCE / "ci/gitlab.yml").read_text())["stepcast-check"]
        script = "\n".join(job["script"])
        (self.base / "tmp").mkdir(exist_ok=True)
        return self.shell(script, job["variables"] | {"STEPCAST_ARCHIVE": archive, "STEPCAST_SHA256": checksum})

    def each(self, value, archive="stepcast.tar.gz", checksum=None):
        checksum = checksum or hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()
        for service in (self.github, self.gitlab):
            with self.subTest(service.__name__):
                if value:
                    (self.folder / "recipes/small.yaml").write_text(SCENARIO % value)
                    for command in (["init", "--quiet"], ["add", "recipes"]):
                        subprocess.run(["git", *command], cwd=self.folder, check=True)
                yield service.__name__, service(archive, checksum)

    def test_a_check_that_holds(self):
        for service, ran in self.each("33ms"):
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            self.assertIn("1 checked: 1 ok, 0 failed", ran.stdout)
            self.assertIn('failures="0"', (self.folder / "check.xml").read_text())
            if service == "github":
                self.assertIn("1 ok, 0 failed", (self.base / "srv/runner/summary.md").read_text())

    def test_a_check_that_fails(self):
        for service, ran in self.each("30ms"):
            self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
            self.assertIn('failures="1"', (self.folder / "check.xml").read_text())
            if service == "github":
                self.assertIn("::error file=recipes/small.yaml,line=8,", ran.stdout)
                self.assertIn("**failed**", (self.base / "srv/runner/summary.md").read_text())

    def test_no_file(self):
        (self.folder / "recipes").rmdir()
        for _, ran in self.each(None):
            self.assertEqual(ran.returncode, 2, ran.stdout + ran.stderr)
            self.assertIn("recipes: does not exist", ran.stderr)

    def test_another_archive_is_not_run(self):
        for _, ran in self.each("33ms", checksum="0" * 64):
            self.assertNotEqual(ran.returncode, 0)
            self.assertIn("FAILED", ran.stdout)
            self.assertNotIn("checked", ran.stdout)

    @unittest.skipIf(SUITE, "a bare root has no network")
    def test_by_address(self):
        """From a server, as a release is; one that has no such file ends the job."""
        handler = functools.partial(Quiet, directory=ARCHIVE.parent)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}/"
            for _, ran in self.each("33ms", archive=address + ARCHIVE.name):
                self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            for _, ran in self.each("33ms", archive=address + "none.tar.gz"):
                self.assertNotIn(ran.returncode, (0, 1), ran.stdout + ran.stderr)
            server.shutdown()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
