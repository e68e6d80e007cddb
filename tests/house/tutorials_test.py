#!/usr/bin/env python3
"""Runs every block of commands of docs/tutorials as it stands, page by page. Usage: tutorials_test.py PROGRAM"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tutorials"
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()


def blocks(page):
    return re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


class Tutorials(unittest.TestCase):
    def follow(self, name):
        with tempfile.TemporaryDirectory() as folder:
            tools = pathlib.Path(folder) / "bin"
            tools.mkdir()
            (tools / "stepcast").symlink_to(PROGRAM)
            environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
            found = blocks(PAGES / name)
            self.assertGreater(len(found), 3)
            for block in found:
                ran = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, env=environment, text=True,
                                     capture_output=True)
                self.assertEqual(ran.returncode, 0, block + ran.stdout + ran.stderr)

    def test_what_if(self):
        self.follow("what-if.md")

    def test_fabric(self):
        self.follow("fabric.md")

    def test_ci(self):
        self.follow("ci.md")

    def test_plan(self):
        self.follow("plan.md")

    def test_trust(self):
        self.follow("trust.md")

    def test_what_ifs_of_the_page_of_checks_are_accepted(self):
        """Each is `stepcast compare S` with one change."""
        found = re.findall(r"`stepcast compare S --set (?:'([^`]*)'|(\S+))`", (PAGES.parent / "check.md").read_text(encoding="utf-8"))
        self.assertGreater(len(found), 10)
        for quoted, plain in found:
            settings = [word for one in (quoted or plain).split("; ") for word in ("--set", one)]
            ran = subprocess.run([PROGRAM, "validate", "telechat3-105b-4096.yaml", *settings], text=True, capture_output=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_these_are_all(self):
        self.assertEqual(sorted(p.name for p in PAGES.iterdir()), ["ci.md", "fabric.md", "plan.md", "trust.md", "what-if.md"])


unittest.main()
