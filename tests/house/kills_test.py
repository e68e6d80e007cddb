#!/usr/bin/env python3
"""Sweeps, searches, updates and the page are killed and go on: `kills_test.py STEPCAST SCENARIOS [KILLS [SEED]]`.

KILLS SIGKILLs, 12 unless given, a quarter each for `sweep --store`, `plan --store`, `check --update` and `serve`, at moments
drawn from SEED. What a store held stays there, a file is the old or the new one, the resumed answer is that of an unbroken
run, and no process outlives its parent.
"""
import http.client
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

STEPCAST, SCENARIOS = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
KILLS = int(sys.argv[3]) if len(sys.argv) > 3 else 12
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 20261122
BASE = "llama2-7b-8.yaml"
SWEEP = """stepcast: 1
name: killed
sweep:
  base: {base}
  grid:
    cluster.devices: [8, 16, 32, 64]
    parallel.tp: [1, 2, 4]
    training.micro_batch: [1, 2]
    training.sequence: [2048, 4096]
"""
PLAN = """extends: {base}
name: killed
cluster: {{devices: 32}}
parallel: {{tp: search, pp: search, vpp: search, zero: search}}
training: {{micro_batch: search}}
plan: {{objective: step_time}}
"""


def run(*arguments):
    return subprocess.run([STEPCAST, *arguments], check=True, capture_output=True, text=True).stdout


def of_this_folder(folder):
    """Processes that still name a file of the folder."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if folder.encode() in (process / "cmdline").read_bytes() and int(process.name) != os.getpid():
                found.append(process.name)
        except OSError:
            pass
    return found


class Kills(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.folder = self.holder.name
        self.random = random.Random(SEED)
        self.count = KILLS // 4

    def tearDown(self):
        self.holder.cleanup()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        pathlib.Path(path).write_text(text.format(base=os.path.join(SCENARIOS, BASE)))
        return path

    def nobody_left(self):
        for _ in range(100):
            left = of_this_folder(self.folder)
            if not left:
                return
            time.sleep(0.1)
        self.fail(f"processes outlive their parent: {left}")

    def killed_until_done(self, command, store, rows):
        """Kills the command at random moments; done ones begin again with an empty store."""
        kills = done = 0
        begin = time.monotonic()
        subprocess.run([STEPCAST, *command, os.path.join(self.folder, "timed")], check=True, capture_output=True)
        seconds = time.monotonic() - begin
        held = 0
        while kills < self.count:
            process = subprocess.Popen([STEPCAST, *command, store], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(self.random.uniform(0, 0.7 * seconds))
                self.assertEqual(process.returncode, 0)
                done += 1
                for suffix in ("", "-wal", "-shm"):
                    pathlib.Path(store + suffix).unlink(missing_ok=True)
                held = 0
                continue
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
            now = rows(store)
            self.assertGreaterEqual(now, held, "rows were lost")  # a store that cannot be read has 0
            held = now
        self.nobody_left()
        return f"{kills} kills, {done} runs came to their end between them"

    def test_a_sweep_loses_no_row(self):
        sweep, store = self.write("sweep.yaml", SWEEP), os.path.join(self.folder, "s.sqlite")
        whole = run("sweep", sweep, "--csv", "-")

        def rows(path):
            shown = subprocess.run([STEPCAST, "results", path, "--csv", "-"], capture_output=True, text=True)
            return len(shown.stdout.splitlines()) - 1 if shown.returncode == 0 else 0  # 0: killed before it was made

        said = self.killed_until_done(["sweep", sweep, "--csv", os.path.join(self.folder, "k.csv"), "--store"], store, rows)
        self.assertEqual(run("sweep", sweep, "--store", store, "--csv", "-"), whole)
        print("sweep:", said)

    def test_a_search_goes_on_to_the_same_answer(self):
        plan, store = self.write("plan.yaml", PLAN), os.path.join(self.folder, "p.sqlite")
        whole = run("plan", plan, "--csv", "-")
        said = self.killed_until_done(["plan", plan, "--csv", os.path.join(self.folder, "k.csv"), "--store"], store,
                                      lambda _: 0)
        self.assertEqual(run("plan", plan, "--store", store, "--csv", "-"), whole)
        print("plan:", said)

    def test_an_update_leaves_whole_files(self):
        regression = pathlib.Path(SCENARIOS, "regression")
        names = sorted(path.name for path in regression.glob("*.yaml"))[:12]
        folder = pathlib.Path(self.folder, "checks")
        folder.mkdir()
        old = {}
        for name in names:
            text = (regression / name).read_text(encoding="utf-8")
            old[name] = re.sub(r"(step_time: {value: )[0-9.]+", r"\g<1>123", text)
        update = [STEPCAST, "check", "--update", "--presets", SCENARIOS, str(folder)]

        def begin_anew():
            for name, text in old.items():
                (folder / name).write_text(text, encoding="utf-8")
                (folder / name).chmod(0o640)

        begin_anew()
        begin = time.monotonic()
        subprocess.run(update, capture_output=True)
        seconds = time.monotonic() - begin
        new = {name: (folder / name).read_text(encoding="utf-8") for name in names}
        self.assertNotEqual(old, new)
        between = 0
        for _ in range(self.count):
            begin_anew()
            process = subprocess.Popen(update, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(self.random.uniform(0, seconds))
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.nobody_left()
            self.assertEqual(sorted(path.name for path in folder.iterdir()), names, "something was left")
            for name in names:
                self.assertIn((folder / name).read_text(encoding="utf-8"), (old[name], new[name]))
                self.assertEqual((folder / name).stat().st_mode & 0o777, 0o640)
            between += any((folder / name).read_text(encoding="utf-8") == new[name] != old[name] for name in names)
        subprocess.run(update, capture_output=True)
        self.assertEqual({name: (folder / name).read_text(encoding="utf-8") for name in names}, new)
        print(f"check --update: {self.count} kills, {between} when files were written")

    def test_a_page_that_is_served_again_answers_the_same(self):
        answers = set()
        environment = {**os.environ, "XDG_RUNTIME_DIR": self.folder}
        for kill in range(self.count + 1):
            served = subprocess.Popen([STEPCAST, "serve", "--port", "0", "--folder", self.folder], text=True,
                                      stdout=subprocess.PIPE, env=environment)
            address = served.stdout.readline().strip()
            connection = http.client.HTTPConnection("127.0.0.1", int(address.split(":")[2].split("/")[0]), timeout=60)
            body = {"tab": "t", "seq": 1, "scenario": {"preset": BASE}, "set": {}}
            connection.request("POST", "/api/forecast", json.dumps(body), {
                "X-Stepcast-Token": address.split("=")[1], "Content-Type": "application/json"})
            if kill == self.count or self.random.random() < 0.3:
                answers.add((address.split("=")[1], json.dumps(json.loads(connection.getresponse().read()))))
            else:
                time.sleep(self.random.uniform(0, 0.05))
            served.send_signal(signal.SIGKILL)
            served.wait()
            served.stdout.close()
            connection.close()
        self.nobody_left()
        self.assertEqual(len(answers), 1, "token or answer changed")
        print(f"serve: {self.count} kills")


unittest.main(argv=sys.argv[:1])
