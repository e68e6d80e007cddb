#!/usr/bin/env python3
"""Six changes of every shipped scenario (tp 4, half and double the devices, another cluster, micro-batch 2, `plan`) run, or are
refused with a remedy that, taken literally, runs.

Usage: six_changes_test.py STEPCAST SCENARIOS [FOLDER...], of SCENARIOS those at its top and the what-ifs unless folders in it are named;
plans are of the first of them. It takes minutes: scripts/nightly runs it.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

STEPCAST, SCENARIOS = sys.argv[1], pathlib.Path(sys.argv[2])
FOLDERS = sys.argv[3:] or [".", "what-if"]
DEPTH = 3  # a remedy may meet another refusal
CLUSTERS = ("dgx-a100", "dgx-h100", "atlas-900-a2-pod", "gb200-nvl72")


def asked(command, file, settings):
    words = [word for setting in settings for word in ("--set", setting)]
    return subprocess.run([STEPCAST, command, str(file), *words], text=True, capture_output=True)


def remedies(complaint):
    """For each line what it says to do: settings of its key, or a command that it quotes."""
    for line in complaint.splitlines():
        quoted = re.findall(r"--set '([^']+)'", line) or re.findall(r" --set ([^\s']+)", line)
        command = re.search(r"'(stepcast [^']+)'", line)
        found = re.match(r".*?:\d+:\d+: ([\w.]+): .*allowed: (.*)", line) or re.match(r"(?:--set [^:]*: )?(--?[\w.-]+|[\w.]+): .*allowed: (.*)", line)
        if quoted:
            yield "set", quoted
        elif command:
            yield "command", [command.group(1)]
        elif found:
            example = re.search(r"such as (\[.*?\])", found.group(2))
            last = example.group(1) if example else found.group(2).split(", ")[-1].split(" to ")[0]  # of a range its first
            yield "set", [f"{found.group(1)}={last}"]


def changes(file):
    ran = subprocess.run([STEPCAST, "run", str(file), "--json", "-"], text=True, capture_output=True, check=True)
    scenario = json.loads(ran.stdout)["scenario"]
    devices, own = scenario["devices"], scenario["presets"].get("cluster", "")
    yield from (["parallel.tp=4"], [f"cluster.devices={devices // 2}"], [f"cluster.devices={2 * devices}"], ["training.micro_batch=2"])
    yield from ([f"cluster.extends=clusters/{name}.yaml"] for name in CLUSTERS if pathlib.Path(own).stem != name)


class Changes(unittest.TestCase):
    def answered(self, command, file, settings, depth, said):
        ran = asked(command, file, settings)
        if ran.returncode == 0:
            if command == "plan":
                self.assertIn("fits", ran.stdout)
            return True
        self.assertEqual(ran.returncode, 2, ran.stderr)
        said.append(ran.stderr)
        steps = list(remedies(ran.stderr))
        if depth == 0 or not steps:
            return False
        for kind, values in steps:
            if kind == "command":
                return self.of_command(command, values[0], depth - 1, said)
        # All lines at once, each by what it names last: the widest value.
        return self.answered(command, file, settings + [value for _, values in steps for value in values], depth - 1, said)

    def of_command(self, command, made_by, depth, said):
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([STEPCAST, *made_by.split()[1:]], text=True, capture_output=True, check=True)
            file = pathlib.Path(folder, "first.yaml")
            file.write_text(made.stdout)
            return self.answered(command, file, [], depth, said)

    def files(self, folders):
        files = [file for folder in folders for file in sorted((SCENARIOS / folder).glob("*.yaml"))]
        self.assertGreaterEqual(len(files), 14 * len(folders))
        return files

    def of(self, command, file, settings):
        with self.subTest(file=file.name, settings=settings):
            said = []
            found = self.answered(command, file, settings, DEPTH, said)
            print(f"{command} {file.name} {' '.join(settings)}: {'an answer' if found else 'none'} after {len(said)} refusals", file=sys.stderr)
            self.assertTrue(found, "\n".join(said))

    def test_changes(self):
        for file in self.files(FOLDERS):
            for settings in changes(file):
                self.of("run", file, settings)

    def test_plans(self):
        for file in self.files(FOLDERS[:1]):
            self.of("plan", file, [])


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    unittest.main(argv=sys.argv[:1])
