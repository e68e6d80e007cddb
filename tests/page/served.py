"""A running `stepcast serve`, for tests of it."""
import http.client
import json
import os
import pathlib
import socket
import subprocess
import tempfile

FLAGSHIP = "telechat3-36b-2048.yaml"


class Served:
    """A running `stepcast serve`."""

    def __init__(self, program, *options):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([program, "serve", "--port", "0", *options], stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "XDG_RUNTIME_DIR": self.folder.name})
        self.address = self.process.stdout.readline().strip()
        self.port = int(self.address.split(":")[2].split("/")[0])
        self.token = self.address.split("=")[1]

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()

    def ask(self, method, path, body=None, **headers):
        given = {"X-Stepcast-Token": self.token, "Content-Type": "application/json"}
        given.update({key.replace("_", "-"): value for key, value in headers.items()})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body if body is None or isinstance(body, (str, bytes)) else json.dumps(body),
                           {key: value for key, value in given.items() if value is not None})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, json.loads(text) if text.startswith("{") else text

    def question(self, what, seq=1, **more):
        body = {"tab": "t", "seq": seq, "scenario": {"preset": FLAGSHIP}, "set": {}, **more}
        return self.ask("POST", "/api/" + what, body)

    def raw(self, text):
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(text.encode())
            return connection.recv(4096).decode()


def workers_of(process):
    path = pathlib.Path(f"/proc/{process}/task")
    return [int(pid) for task in path.iterdir() for pid in (task / "children").read_text().split()]


def processor(process):
    """Seconds of processor of it and of its children that have ended."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
