#!/usr/bin/python3
"""Many clients of one `stepcast serve`, malformed requests among theirs: every answer is right, nothing grows or ends.

Usage: clients_test.py STEPCAST SCENARIOS [SECONDS [CLIENTS]], 5 seconds and 20 clients unless given.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time
import unittest

from served import FLAGSHIP, Served, workers_of

STEPCAST, SCENARIOS = sys.argv[1:3]
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 5
CLIENTS = int(sys.argv[4]) if len(sys.argv) > 4 else 20
# ThreadSanitizer keeps four shadows of each word, and what was freed for a while (scripts/check_threads).
MOST_GROWTH = (1000 if os.environ.get("TSAN_OPTIONS") else 200) * 2**20
QUESTIONS = [{}, {"training.micro_batch": "2"}, {"training.recompute": "full"}, {"parallel.tp": "4", "parallel.dp": "auto"},
             {"cluster.network.nic.bandwidth": "100Gbps"}, {"parallel.zero": "2"}]
# What is sent, and the answer to it: nothing of it may reach a forecast.
MALFORMED = [("", 400), ("{", 400), ("[]", 400), ("[" * 50000, 400), ('{"tab":"t","seq":1}', 400), ('{"seq":-1}', 400),
             (json.dumps({"tab": "t", "seq": 1, "scenario": {"preset": "../../etc/passwd"}, "set": {}}), 404),
             (json.dumps({"tab": "m", "seq": 1, "slot": "s", "scenario": {"text": "a: [" * 5000}, "set": {}}), 422),
             (json.dumps({"tab": "n", "seq": 1, "slot": "s", "scenario": {"preset": FLAGSHIP}, "set": {"parallel.tp": "7"}}), 422),
             (json.dumps({"tab": "o", "seq": 1, "scenario": {"preset": FLAGSHIP}, "set": {"--json": "x"}}), 400)]


def peak_memory(pid):
    line = next(line for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def alone(values):
    words = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    ran = subprocess.run([STEPCAST, "run", os.path.join(SCENARIOS, FLAGSHIP), *words, "--json", "-"], check=True, text=True,
                         capture_output=True)
    return json.loads(ran.stdout)


class Clients(unittest.TestCase):
    def setUp(self):
        self.served = Served(STEPCAST)
        self.expected = [alone(values) for values in QUESTIONS]
        self.wrong, self.right, self.refused, self.resets = [], 0, 0, 0
        self.lock = threading.Lock()

    def tearDown(self):
        self.served.stop()

    def ask(self, name, seq, draw):
        which = draw.randrange(len(QUESTIONS))
        status, answer = self.served.question("forecast", seq, tab=name, set=QUESTIONS[which])
        if status != 200 or answer["answer"] != self.expected[which]:
            return f"{QUESTIONS[which]}: {status} {str(answer)[:200]}"
        return None

    def disturb(self, name, seq, draw):
        text, expected = draw.choice(MALFORMED)
        if expected == 422:
            text = text.replace('"slot": "s"', f'"slot": "{name}{seq}"')
        status, answer = self.served.ask("POST", "/api/forecast", text)
        return None if status == expected else f"{text[:60]}: {status} {str(answer)[:200]}"

    def client(self, name, until):
        draw, seq = random.Random(name), 0
        while time.monotonic() < until:
            seq += 1
            well = draw.random() < 0.7
            try:
                found = (self.ask if well else self.disturb)(name, seq, draw)
            except ConnectionResetError:   # the queue of the port was full: a client asks again
                with self.lock:
                    self.resets += 1
                continue
            except (OSError, ValueError, KeyError) as error:
                found = f"{'question' if well else 'disturbance'}: {error!r}"
            with self.lock:
                self.right += well and not found
                self.refused += not well and not found
                if found:
                    self.wrong.append(found)

    def test_every_answer_is_right(self):
        self.assertEqual(self.served.question("forecast", 1, tab="first")[0], 200)
        front = self.served.process.pid
        (worker,) = workers_of(front)
        before = {pid: peak_memory(pid) for pid in (front, worker)}
        until = time.monotonic() + SECONDS
        threads = [threading.Thread(target=self.client, args=(f"client{n}", until)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.wrong[:3], [], f"{len(self.wrong)} in all")
        self.assertGreater(self.right, CLIENTS)
        self.assertGreater(self.refused, 0)
        self.assertIsNone(self.served.process.poll(), "the front lives")
        self.assertEqual(workers_of(front), [worker], "the worker is the same")
        growth = {pid: peak_memory(pid) - before[pid] for pid in before}
        self.assertLess(max(growth.values()), MOST_GROWTH)
        print(f"{CLIENTS} clients, {SECONDS:.0f} s: {self.right} right answers, {self.refused} refusals, {self.resets} connections reset, front grew by "
              f"{growth[front] / 2**20:.1f} MiB, worker by {growth[worker] / 2**20:.1f} MiB", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
