#!/usr/bin/env python3
"""What `stepcast serve` answers and refuses, without a browser: `refusals_test.py STEPCAST SCENARIOS`."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from served import FLAGSHIP, Served, workers_of

STEPCAST, SCENARIOS = sys.argv[1:3]


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.served = Served(STEPCAST)

    @classmethod
    def tearDownClass(cls):
        cls.served.stop()

    def test_answers_are_those_of_the_command_line(self):
        status, answer = self.served.question("forecast", set={"training.micro_batch": "2"})
        self.assertEqual(status, 200)
        alone = subprocess.run([STEPCAST, "run", os.path.join(SCENARIOS, FLAGSHIP), "--set", "training.micro_batch=2",
                                "--json", "-"], check=True, text=True, capture_output=True).stdout
        self.assertEqual(answer["answer"], json.loads(alone))

    def test_who_may_ask(self):
        for path in ("/api/hello", "/api/preset?name=" + FLAGSHIP):
            self.assertEqual(self.served.ask("GET", path)[0], 200)
            self.assertEqual(self.served.ask("GET", path, X_Stepcast_Token=None)[0], 401)
            self.assertEqual(self.served.ask("GET", path, X_Stepcast_Token="0" * 32)[0], 401)
        for host in ("evil.example", "127.0.0.1.evil.example", f"evil.example:{self.served.port}", ""):
            self.assertEqual(self.served.ask("GET", "/", Host=host)[0], 403, host)
        self.assertEqual(self.served.ask("GET", "/", Host="localhost:9000")[0], 200, "a tunnel")
        self.assertEqual(self.served.ask("GET", "/api/hello", Origin="http://evil.example")[0], 403)
        self.assertEqual(self.served.ask("GET", "/api/hello", Sec_Fetch_Site="cross-site")[0], 403)
        self.assertEqual(self.served.ask("PUT", "/")[0], 405)
        self.assertEqual(self.served.ask("OPTIONS", "/api/forecast")[0], 405)

    def test_headers_that_stand_twice(self):
        head = f"GET /api/hello HTTP/1.1\r\nHost: localhost\r\nX-Stepcast-Token: {self.served.token}\r\n"
        self.assertIn(" 200 ", self.served.raw(head + "Origin: http://localhost\r\n\r\n"))
        for twice in ("Host: localhost", "Host: evil.example", "host: evil.example",
                      "Origin: http://localhost\r\nOrigin: http://evil.example", "X-Stepcast-Token: 0"):
            self.assertIn(" 400 ", self.served.raw(f"{head}{twice}\r\n\r\n"), twice)

    def test_names_that_are_remembered_are_short(self):
        self.assertEqual(self.served.question("edit", tab="t" * 64, set={"parallel.tp": "4"})[0], 200)
        self.assertEqual(self.served.question("edit", tab="t" * 65)[0], 400)
        self.assertEqual(self.served.question("edit", slot="t" * 65)[0], 400)

    def test_what_was_begun_is_bounded_by_peer(self):
        begun = [socket.create_connection(("127.0.0.1", self.served.port), timeout=30) for _ in range(40)]
        for connection in begun:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: local")
            time.sleep(0.01)  # each comes after the one before
        self.assertEqual(self.served.ask("GET", "/")[0], 200, "who asks wholly is answered")
        for connection in begun[:8]:
            self.assertIn(b" 503 ", connection.recv(4096))
        begun[-1].sendall(b"host\r\n\r\n")
        self.assertIn(b" 200 ", begun[-1].recv(4096))
        for connection in begun:
            connection.close()

    def test_links_of_a_folder_lead_nowhere_else(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as outside:
            text = pathlib.Path(SCENARIOS, "ideal-pipeline.yaml").read_text(encoding="utf-8")
            pathlib.Path(outside, "secret.yaml").write_text(text, encoding="utf-8")
            pathlib.Path(folder, "mine.yaml").write_text(text, encoding="utf-8")
            os.symlink(os.path.join(outside, "secret.yaml"), os.path.join(folder, "secret.yaml"))
            served = Served(STEPCAST, "--folder", folder)
            try:
                names = [preset["name"] for preset in served.ask("GET", "/api/hello")[1]["presets"]]
                self.assertIn("mine.yaml", names)
                self.assertNotIn("secret.yaml", names)
                self.assertEqual(served.ask("GET", "/api/preset?name=secret.yaml")[0], 404)
            finally:
                served.stop()

    def test_little_is_kept(self):
        """What large requests leave, in both processes, after two of each: of 100 by night 5 MB at most."""
        def kept():
            pids = [self.served.process.pid, *workers_of(self.served.process.pid)]
            fields = (pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8") for pid in pids)
            return sum(int(re.search(r"^Private_Dirty: +(\d+)", text, re.MULTILINE)[1]) for text in fields) * 1024
        def kept_at_rest():   # a process gives memory back after its answer has left
            readings = []
            for _ in range(10):
                readings.append(kept())
                time.sleep(0.1)
            return min(readings)
        texts = ["x: " + "y" * 1000000, "".join(f"k{i}: 1\n" for i in range(3000)), "#" + "z" * 1040000 + "\nstepcast: 1\n"]
        count = int(os.environ.get("STEPCAST_LARGE_REQUESTS", 12))
        def ask(i):
            what = ("import", "forecast", "edit", "pipeline")[i % 4]
            return self.served.question(what, tab=f"{i}".ljust(64, "t"), scenario={"text": texts[i % 3]}, set={"name": "x" * 4000})[0]
        for i in range(24):
            self.assertIn(ask(i), (200, 422, 503))
        before = kept_at_rest()
        for i in range(24, 24 + count):
            ask(i)
        self.assertLess(kept_at_rest() - before, 5e6)

    def test_sizes_and_forms(self):
        ask = lambda body, **headers: self.served.ask("POST", "/api/forecast", body, **headers)[0]
        self.assertEqual(ask("{}", Transfer_Encoding="chunked"), 411)
        self.assertEqual(ask("{}", Content_Encoding="gzip"), 415)
        self.assertEqual(ask("{}", Content_Type="text/plain"), 415)
        head = f"POST /api/forecast HTTP/1.1\r\nHost: localhost\r\nX-Stepcast-Token: {self.served.token}\r\n"
        self.assertIn(" 413 ", self.served.raw(head + "Content-Length: 99999999\r\n\r\n"))
        self.assertIn(" 411 ", self.served.raw(head + "\r\n"))
        for body in ("", "[]", "{", "{}", '{"seq":1}', '{"seq":-1,"scenario":{"preset":"x"}}', "[" * 100000):
            self.assertEqual(ask(body), 400, body[:40])
        self.assertEqual(self.served.question("forecast", scenario={"preset": "../../etc/passwd"})[0], 404)
        self.assertEqual(self.served.question("forecast", set={"--json": "x"})[0], 400)
        self.assertEqual(self.served.question("forecast", set={"parallel.tp": 4})[0], 400)
        self.assertEqual(self.served.question("scale", devices="128 --csv x")[0], 400)
        self.assertEqual(self.served.question("choices", keys={"parallel.tp": ["1,2"]})[0], 400)
        self.assertEqual(self.served.question("run")[0], 404)

    def test_answers_are_not_compressed(self):
        answer = self.served.raw("GET /api/hello HTTP/1.1\r\nHost: localhost\r\naccept-Encoding: gzip, deflate, br\r\n"
                                 f"X-Stepcast-Token: {self.served.token}\r\n\r\n")
        self.assertIn(" 200 ", answer)
        self.assertNotIn("content-encoding", answer.lower())

    def test_errors_name_their_key(self):
        status, answer = self.served.question("forecast", set={"parallel.tp": "7"})
        self.assertEqual((status, answer["errors"][0]["path"]), (422, "parallel.tp"))
        for text in ("cluster: {extends: /etc/passwd}\n", "model: {extends: ../../../../etc/passwd}\n", "a: [" * 10000, "\0"):
            status, answer = self.served.question("forecast", scenario={"text": text})
            self.assertEqual(status, 422, answer)
            self.assertNotIn("root:", json.dumps(answer))

    def test_an_older_question_gives_way(self):
        self.assertEqual(self.served.question("forecast", seq=5, tab="gives way")[0], 200)
        self.assertEqual(self.served.question("forecast", seq=4, tab="gives way")[0], 409)
        self.assertEqual(self.served.question("forecast", seq=4, tab="another")[0], 200)

    def test_a_killed_worker_is_replaced(self):
        self.served.question("forecast", seq=1, tab="k")
        for pid in workers_of(self.served.process.pid):
            os.kill(pid, signal.SIGKILL)
        answers = [self.served.question("forecast", seq=n, tab="k")[0] for n in (2, 3)]
        self.assertEqual(answers[-1], 200)

    def test_nothing_outlives_the_front(self):
        served = Served(STEPCAST)
        served.question("forecast")
        workers = workers_of(served.process.pid)
        self.assertEqual(len(workers), 1)
        served.stop()
        for _ in range(100):
            if not pathlib.Path(f"/proc/{workers[0]}/exe").exists():
                return
            time.sleep(0.1)
        self.fail("the worker lives on")

    def test_other_addresses_need_a_name(self):
        ran = subprocess.run([STEPCAST, "serve", "--host", "0.0.0.0"], text=True, capture_output=True)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("--allow-host", ran.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
