"""One ``stepcast worker`` per process of Python, started when it is first needed.

Any thread may ask. A child of os.fork() starts a worker of its own. Ctrl-C ends the forecast that is
waited for, and leaves the worker usable.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence

from ._errors import (EngineError, ForecastTimeout, ScenarioError, StepcastError, WorkerDied,
                      Problem, problem_of)
from ._program import find_program
from ._version import __version__

_BAD_INPUT, _INTERNAL_ERROR = 2, 3  # exit codes of the program


@dataclass(frozen=True)
class Request:
    """A command line and what it reads."""

    arguments: Sequence[str]
    input: str = ""
    input_name: str = "-"  #: what errors call the input
    timeout: Optional[float] = None
    allowed_codes: Sequence[int] = field(default=(0,))


class Worker:
    """A running ``stepcast worker``."""

    def __init__(self) -> None:
        program = find_program()
        # Ctrl-C of a terminal goes to the whole group: the worker is not meant.
        self._process = subprocess.Popen([program, "worker"], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                         start_new_session=True)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        greeting = self._out.readline()
        try:
            hello = json.loads(greeting)["stepcast"]
            protocol, version = hello["worker"], hello["version"]
        except (ValueError, KeyError, TypeError):
            self.close()
            raise StepcastError(f"{program} does not answer as a stepcast worker") from None
        if protocol != 1 or version != __version__:
            self.close()
            raise StepcastError(f"{program} is version {version}, but this package is version "
                                f"{__version__}: install both from one release")
        self._lock = threading.Lock()
        self._waiting: Dict[int, Future[Dict[str, Any]]] = {}
        self._next = 0
        self._ended = False
        threading.Thread(target=self._read, name="stepcast", daemon=True).start()

    def submit(self, request: Request) -> Future[Dict[str, Any]]:
        """Sends a request; the future holds the message that answers it."""
        future: Future[Dict[str, Any]] = Future()
        message: Dict[str, Any] = {"arguments": list(request.arguments), "input": request.input,
                                   "directory": os.getcwd()}
        if request.timeout is not None:
            message["seconds"] = request.timeout
        with self._lock:
            if self._ended:
                raise WorkerDied("the worker has ended")
            message["id"] = self._next
            future.stepcast_id = self._next  # type: ignore[attr-defined]
            self._waiting[self._next] = future
            self._next += 1
            self._send(message)
        return future

    def cancel(self, future: Future[Dict[str, Any]]) -> None:
        """Ends a request; its future is answered with state cancelled."""
        with self._lock:
            if not self._ended and not future.done():
                self._send({"cancel": future.stepcast_id})  # type: ignore[attr-defined]

    @property
    def ended(self) -> bool:
        return self._ended

    def _send(self, message: Dict[str, Any]) -> None:
        try:
            self._in.write(json.dumps(message).encode() + b"\n")
            self._in.flush()
        except (OSError, ValueError):
            pass  # the reader sees the end of the worker and answers everybody

    def _read(self) -> None:
        try:
            for line in self._out:
                message = json.loads(line)
                with self._lock:
                    future = self._waiting.pop(message["id"], None)
                if future is not None:
                    future.set_result(message)
        except ValueError:
            pass  # closed meanwhile
        with self._lock:
            self._ended = True
            left, self._waiting = list(self._waiting.values()), {}
        self._process.wait()
        self._out.close()
        for future in left:
            future.set_exception(WorkerDied("the worker ended before it answered"))

    def close(self) -> None:
        """Ends the worker and all that is under way."""
        self._process.kill()
        self._process.wait()

    def forget(self) -> None:
        """After a fork, in the child: the worker is the parent's."""
        for pipe in (self._in, self._out):
            try:
                os.close(pipe.fileno())
            except (OSError, ValueError):
                pass
        self._process.returncode = 0  # it is not ours to wait for


_worker: Optional[Worker] = None
_lock = threading.Lock()
_forgotten: List[Worker] = []  # their destructors would close numbers that are others' by now


def _after_fork() -> None:
    global _worker, _lock
    if _worker is not None:
        _worker.forget()
        _forgotten.append(_worker)
    _worker, _lock = None, threading.Lock()


def _at_exit() -> None:
    if _worker is not None and not _worker.ended:
        _worker.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)


def current_worker() -> Worker:
    """The worker of this process; a new one where the last has ended."""
    global _worker
    with _lock:
        if _worker is None or _worker.ended:
            _worker = Worker()
        return _worker


def checked(answer: Dict[str, Any], request: Request) -> str:
    """The output of an answer. Raises what the command reported."""
    state = answer["state"]
    if state == "timeout":
        raise ForecastTimeout(f"it took longer than {request.timeout} s")
    if state != "done":
        raise WorkerDied(answer.get("message", state))
    if answer["code"] in request.allowed_codes:
        return str(answer["output"])
    complaint = answer["complaint"].rstrip("\n")
    if answer["code"] == _INTERNAL_ERROR:
        raise EngineError(complaint)
    if answer["code"] == _BAD_INPUT:
        raise ScenarioError([problem_of(error, request.input_name) for error in answer["errors"]]
                            if "errors" in answer else [Problem("", 0, 0, "", complaint, complaint)])
    raise StepcastError(complaint or answer["output"])


def ask(request: Request) -> str:
    """Sends a request and waits: the output of the command. Ctrl-C ends it."""
    worker = current_worker()
    future = worker.submit(request)
    try:
        return checked(future.result(), request)
    except BaseException:
        worker.cancel(future)
        raise
