#!/usr/bin/env python3
"""`stepcast serve` under attack, without a browser: `attack_test.py STEPCAST SCENARIOS [CONNECTIONS]`.

CONNECTIONS idle ones are held by one client, 600 unless given.
"""
import contextlib
import http.client
import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import time
import unittest

STEPCAST, SCENARIOS = sys.argv[1:3]
CONNECTIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 600
QUESTION = {"tab": "t", "seq": 1, "scenario": {"preset": "llama2-7b-8.yaml"}, "set": {}}
HOST = "Host: 127.0.0.1\r\n"


def enough_files():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most if most != resource.RLIM_INFINITY else 65536, most))


class Attack(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.served = subprocess.Popen([STEPCAST, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True,
                                       env={**os.environ, "XDG_RUNTIME_DIR": self.folder.name})
        address = self.served.stdout.readline().strip()
        self.port = int(address.split(":")[2].split("/")[0])
        self.token = address.split("=")[1]
        self.held = []

    def tearDown(self):
        self.assertIsNone(self.served.poll(), "the front died")
        for connection in self.held:
            connection.close()
        self.served.kill()
        self.served.wait()
        self.served.stdout.close()
        self.folder.cleanup()

    def ask(self, method="GET", path="/api/hello", body=None, **headers):
        given = {"X-Stepcast-Token": self.token, "Content-Type": "application/json"}
        given.update({key.replace("_", "-"): value for key, value in headers.items()})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body if body is None else json.dumps(body), given)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def connect(self, sent=b""):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        self.held.append(connection)
        if sent:
            connection.sendall(sent)
        return connection

    def raw(self, sent):
        """All that the server answers until it closes; empty where it just closes."""
        connection = self.connect(sent)
        answer = b""
        try:
            while part := connection.recv(65536):
                answer += part
        except ConnectionResetError:
            pass
        return answer

    def answered_soon(self, seconds=10):
        """A client that tries again: the time it takes until the question is answered."""
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            try:
                status, _ = self.ask("POST", "/api/forecast", QUESTION)
            except (ConnectionError, http.client.HTTPException):
                status = 0
            if status == 200:
                return
            time.sleep(0.1)
        self.fail(f"no answer in {seconds} s")

    def used(self):
        """Memory in MiB, and seconds of processor, of the front."""
        process = pathlib.Path("/proc") / str(self.served.pid)
        memory = next(line for line in (process / "status").read_text().splitlines() if line.startswith("VmRSS:"))
        ticks = (process / "stat").read_text().rsplit(")", 1)[1].split()
        return int(memory.split()[1]) / 1024, (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")

    def hold(self, count, sent=b""):
        """Holds `count` connections that sent this; returns how many were answered 503."""
        made = [self.connect(sent) for _ in range(count)]
        time.sleep(1)
        refused = 0
        for connection in made:
            connection.setblocking(False)
            try:
                refused += b" 503 " in connection.recv(4096)
            except (BlockingIOError, ConnectionError):
                pass
        return refused

    def test_idle_connections_do_not_keep_others_out(self):
        memory, processor = self.used()
        begin = time.monotonic()
        refused = self.hold(CONNECTIONS)
        self.assertGreater(refused, 0)
        self.answered_soon()
        after, spent = self.used()
        seconds = time.monotonic() - begin
        print(f"{CONNECTIONS} idle: {refused} answered 503, {after - memory:.0f} MiB and {spent - processor:.2f} s of "
              f"processor in {seconds:.1f} s")
        self.assertLess(after - memory, 200)
        self.assertLess(spent - processor, max(1.0, seconds / 10))

    def test_half_requests_do_not_keep_others_out(self):
        half = b"POST /api/forecast HTTP/1.1\r\n" + HOST.encode() + b"Content-Length: 1000000\r\n\r\n" + b"x" * 1000
        self.hold(200, half)
        self.answered_soon()

    def test_slow_clients_do_not_keep_others_out(self):
        slow = [self.connect(b"GET / HT") for _ in range(100)]
        for _ in range(4):
            for connection in slow:
                with contextlib.suppress(OSError):  # the oldest of more than 32 were answered 503
                    connection.sendall(b"x")
            time.sleep(0.1)
        self.answered_soon()

    def test_slow_readers_do_not_keep_others_out(self):
        for _ in range(100):
            self.connect(b"GET /live.js HTTP/1.1\r\n" + HOST.encode() + b"\r\n")
        self.answered_soon()

    def test_large_bodies_that_never_end_cost_no_memory(self):
        memory, _ = self.used()
        head = b"POST /api/forecast HTTP/1.1\r\n" + HOST.encode() + b"Content-Length: 1048576\r\n\r\n"
        for _ in range(150):
            try:
                self.connect(head + b" " * 1000000)
            except ConnectionError:
                pass
        self.assertLess(self.used()[0] - memory, 200)
        self.answered_soon()

    def test_a_silent_connection_is_closed(self):
        self.assertEqual(self.raw(b""), b"")

    def test_paths_lead_nowhere(self):
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/live.js/../../etc/passwd",
                     "/api/preset?name=../../../etc/passwd", "/api/preset?name=%2fetc%2fpasswd", "/api/preset?name=",
                     "/api/hello%00", "/" + "a" * 4000, "/api/preset?name=" + "%ff" * 500):
            status, body = self.ask(path=path)
            self.assertIn(status, (400, 404), path)
            self.assertNotIn(b"root:", body)

    def test_scenarios_read_no_file_outside_their_folders(self):
        for name in ("/etc/passwd", "../../../../etc/passwd", "models/../../../../etc/passwd"):
            text = f"stepcast: 1\nextends: {name}\n"
            status, body = self.ask("POST", "/api/forecast", {**QUESTION, "scenario": {"text": text}})
            self.assertEqual(status, 422)
            self.assertNotIn(b"root:", body)

    def test_other_sites_and_strangers_are_refused(self):
        post = ("POST", "/api/forecast", QUESTION)
        self.assertEqual(self.ask(*post, X_Stepcast_Token="0" * 32)[0], 401)
        self.assertEqual(self.ask(*post, X_Stepcast_Token="")[0], 401)
        self.assertEqual(self.ask(*post, Origin="http://elsewhere.example")[0], 403)
        self.assertEqual(self.ask(*post, Sec_Fetch_Site="cross-site")[0], 403)
        self.assertEqual(self.ask(*post, Host="elsewhere.example")[0], 403)
        self.assertEqual(self.ask(*post, Content_Type="text/plain")[0], 415)
        self.assertEqual(self.ask(*post, Transfer_Encoding="chunked")[0], 411)
        self.assertEqual(self.ask("PUT", "/api/forecast", QUESTION)[0], 405)

    def test_what_is_no_request_is_refused(self):
        for sent in (b"\r\n\r\n", b"\0" * 200 + b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\xff" * 70000,
                     b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20000 + b"\r\n",
                     b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                     b"POST /api/forecast HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n"):
            answer = self.raw(sent)
            self.assertNotIn(b" 200 ", answer[:20], sent[:40])
        for body in (None, [], "x", {"seq": -1}, {**QUESTION, "set": {"a b": "1"}}, {**QUESTION, "tab": 7},
                     {**QUESTION, "scenario": {"text": "[" * 100000}}, {**QUESTION, "set": {"parallel.tp": "\0\x1b[2J"}}):
            status, answer = self.ask("POST", "/api/forecast", body)
            self.assertIn(status, (400, 411, 422), answer)
        self.answered_soon()


enough_files()
unittest.main(argv=sys.argv[:1])
