"""What goes wrong, as exceptions. Each is also the built-in exception that a caller may expect."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Mapping, Sequence


class StepcastError(Exception):
    """Anything that keeps a forecast from being made."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with the input; line and column count from 1, 0 is unknown."""

    file: str
    line: int
    column: int
    path: str  #: the key, such as ``parallel.tp``; empty for the file as a whole
    message: str  #: what is wrong, what is allowed
    text: str  #: the line that a terminal shows

    def __str__(self) -> str:
        return self.text


class ScenarioError(StepcastError, ValueError):
    """The input is wrong; ``problems`` has every finding of it, with places."""

    def __init__(self, problems: Sequence[Problem]):
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = list(problems)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.problems,))


class EngineError(StepcastError, RuntimeError):
    """The simulation did not finish what was asked of it."""


class WorkerDied(StepcastError, RuntimeError):
    """The process of a forecast, or the worker itself, ended without an answer."""


class ForecastTimeout(StepcastError, TimeoutError):
    """A forecast took longer than its ``timeout``."""


def without_options(text: str) -> str:
    """``--set parallel.tp=4`` is ``parallel.tp=4`` in Python, ``--devices N`` is ``devices N``; commands stay."""
    return re.sub(r"(stepcast [a-z]+ [^;,()']*)|(^|\s)--(?:set )?(?=\w)", lambda found: found[1] or found[2], text)


def problem_of(error: Mapping[str, Any], name: str) -> Problem:
    """A finding of the worker; ``name`` stands for its standard input."""
    error = {**error, "message": without_options(error["message"]), "text": without_options(error["text"])}
    if error["file"].startswith("--set "):
        error.update(file="", text=f"{error['path']}: {error['message']}")
    if error["file"] != "-":
        return Problem(**error)
    text = error["text"]
    return Problem(**{**error, "file": name, "text": name + text[1:] if text[:1] == "-" else text})
