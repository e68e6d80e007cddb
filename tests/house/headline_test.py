#!/usr/bin/env python3
"""The headline names the largest of computing, communication, bubble and host first, on random scenarios.

Usage: headline_test.py STEPCAST SCENARIOS [COUNT] [SEED]. 1000 take minutes: scripts/nightly runs them.
"""
import json
import pathlib
import random
import subprocess
import sys
import unittest

STEPCAST, SCENARIOS = sys.argv[1], pathlib.Path(sys.argv[2])
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 40
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 20261128
# What moves each part: links, the plan, the batch, the host.
CHOICES = {
    "parallel.tp": ["1", "2", "4", "8"], "parallel.pp": ["1", "2", "4", "8", "16"], "parallel.vpp": ["1", "2"], "parallel.ep": ["1", "4", "8", "16", "32"],
    "training.micro_batch": ["1", "2", "4"], "training.global_batch": ["64", "256", "1024", "4096"], "training.sequence": ["1024", "4096", "8192"],
    "training.recompute": ["none", "full"], "schedule.pipeline": ["1f1b", "gpipe", "interleaved_1f1b", "zb_h1"],
    "runtime.host_speed": ["0.05", "0.2", "1", "4"], "runtime.dispatch": ["eager", "task_queue", "graph_sink"],
    "cluster.network.nic.bandwidth": ["10Gbps", "100Gbps", "400Gbps", "1600Gbps"], "cluster.device.matmul_peak": ["*=0.2", "*=1", "*=5"],
    "communication.gradient.overlap": ["true", "false"], "framework": ["none"],
}
NAMES = {"computing": "computing", "exposed communication": "communication", "pipeline bubble": "bubble", "waiting for the host": "host", "other idle time": "idle"}


class Headline(unittest.TestCase):
    def setUp(self):
        self.worker = subprocess.Popen([STEPCAST, "worker", "--seconds", "60"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.worker.stdout.readline()

    def tearDown(self):
        self.worker.stdin.close()
        self.worker.stdout.read()
        self.worker.wait()
        self.worker.stdout.close()

    def ask(self, arguments):
        self.worker.stdin.write(json.dumps({"id": 0, "arguments": arguments}) + "\n")
        self.worker.stdin.flush()
        answer = json.loads(self.worker.stdout.readline())
        return json.loads(answer["output"])["result"] if answer["state"] == "done" and answer["code"] == 0 else None

    def test_names_the_largest(self):
        draw, files = random.Random(SEED), sorted(SCENARIOS.glob("*.yaml"))
        held, asked, named = 0, 0, {}
        while held < COUNT:
            asked += 1
            self.assertLess(asked, 40 * COUNT + 100, "too few random scenarios run")
            keys = draw.sample(sorted(CHOICES), draw.randrange(1, 7))
            settings = {key: draw.choice(CHOICES[key]) for key in keys}
            if draw.random() < 0.2:  # few scenarios wait for the host first by themselves
                settings |= {"runtime.host_speed": draw.choice(["0.002", "0.01", "0.05"]), "runtime.dispatch": "eager", "framework": "none"}
            settings["parallel.dp"] = "auto"
            file = draw.choice(files)
            words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
            result = self.ask(["run", str(file), *words, "--json", "-"])
            if result is None:
                continue
            held += 1
            parts = result["breakdown_s"]
            times = {"computing": parts["computing"], "communication": parts["communication_exposed"], "bubble": parts["bubble"],
                     "host": parts["host_stall"] + parts["compile_stall"], "idle": parts["other_idle"]}
            first = result["headline"].split(" of the step is ")[1].split(" (")[0]
            self.assertIn(first, NAMES, result["headline"])
            # Equal ones but for rounding may stand in either order.
            self.assertGreaterEqual(times[NAMES[first]], max(times.values()) * (1 - 1e-9), f"{file.name} {settings}: {result['headline']}, {times}")
            named[NAMES[first]] = named.get(NAMES[first], 0) + 1
        print(f"{held} random scenarios of {asked} asked, seed {SEED}: {named}", file=sys.stderr)
        if COUNT >= 400:
            self.assertGreaterEqual({part for part, count in named.items() if count >= 10}, {"computing", "communication", "bubble", "host"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
