#!/usr/bin/env python3
"""`stepcast plan` on every shipped scenario finds a plan, or is refused with a remedy that, taken literally, finds one.

Usage: plans_test.py STEPCAST SCENARIOS [FOLDER...], of SCENARIOS those at its top unless folders in it are named. It takes minutes: scripts/nightly runs it.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

STEPCAST, SCENARIOS = sys.argv[1], pathlib.Path(sys.argv[2])
FOLDERS = sys.argv[3:] or ["."]
DEPTH = 3  # a remedy may meet another refusal


def plan(file, settings):
    words = [word for setting in settings for word in ("--set", setting)]
    return subprocess.run([STEPCAST, "plan", str(file), *words], text=True, capture_output=True)


def remedies(complaint):
    """For each line what it says to do: settings of its key, or a command that it quotes."""
    for line in complaint.splitlines():
        quoted = re.findall(r"--set '([^']+)'", line)
        command = re.search(r"'(stepcast [^']+)'", line)
        found = re.match(r".*?:\d+:\d+: ([\w.]+): .*allowed: (.*)", line) or re.match(r"(--?[\w.-]+|[\w.]+): .*allowed: (.*)", line)
        if quoted:
            yield "set", quoted
        elif command:
            yield "command", [command.group(1)]
        elif found:
            yield "set", [f"{found.group(1)}={found.group(2).split(', ')[-1]}"]


class Plans(unittest.TestCase):
    def answered(self, file, settings, depth, said):
        ran = plan(file, settings)
        if ran.returncode == 0:
            self.assertRegex(ran.stdout, r"fits with .* to spare|fits", ran.stdout)
            return True
        self.assertEqual(ran.returncode, 2, ran.stderr)
        said.append(ran.stderr)
        steps = list(remedies(ran.stderr))
        if depth == 0 or not steps:
            return False
        for kind, values in steps:
            if kind == "command":
                return self.of_command(values[0], depth - 1, said)
        # All lines at once, each by what it names last: the widest value.
        return self.answered(file, settings + [value for _, values in steps for value in values], depth - 1, said)

    def of_command(self, command, depth, said):
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([STEPCAST, *command.split()[1:]], text=True, capture_output=True, check=True)
            file = pathlib.Path(folder, "first.yaml")
            file.write_text(made.stdout)
            return self.answered(file, [], depth, said)

    def test_every_shipped_scenario(self):
        files = [file for folder in FOLDERS for file in sorted((SCENARIOS / folder).glob("*.yaml"))]
        self.assertGreaterEqual(len(files), 14 * len(FOLDERS))
        for file in files:
            with self.subTest(file=file.name):
                said = []
                found = self.answered(file, [], DEPTH, said)
                print(f"{file.name}: {'a plan' if found else 'no plan'} after {len(said)} refusals", file=sys.stderr)
                self.assertTrue(found, "\n".join(said))


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    unittest.main(argv=sys.argv[:1])
