"""The forecast of one step."""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._tables import frame, series
from ._values import Scenario, Value, overrides_of, preset_arguments, set_arguments, source_of
from ._worker import Request, ask

_PARTS = {"computing": "#2f6fb5", "communication_exposed": "#e69f00", "bubble": "#9aa7b6",
          "host_stall": "#d0461b", "compile_stall": "#7d0f2b", "other_idle": "#a97fb3",
          "fleet": "#5b8c5a"}


@dataclass(frozen=True)
class Question:
    """What a forecast answers."""

    source: str
    input: str
    input_name: str
    options: Sequence[str]
    timeout: Optional[float] = None

    def request(self, command: str, more: Sequence[str]) -> Request:
        return Request([command, self.source, *self.options, *more], self.input, self.input_name,
                       self.timeout)


def question_of(scenario: Scenario, settings: Optional[Mapping[str, Value]],
                presets: Sequence[Union[str, "os.PathLike[str]"]], timeout: Optional[float],
                names: Mapping[str, Value]) -> Question:
    source, text, name = source_of(scenario)
    options = set_arguments(overrides_of(settings, names)) + preset_arguments(presets)
    return Question(source, text, name, options, timeout)


class Forecast:
    """The result of :func:`forecast`. Fields are those of ``stepcast run --json``; times are seconds."""

    def __init__(self, text: str, question: Question):
        self._text, self._question = text, question
        self._all: Dict[str, Any] = json.loads(text)
        self._explanation: Optional[Dict[str, Any]] = None

    @property
    def result(self) -> Dict[str, Any]:
        """All metrics, ``result`` of the JSON."""
        return dict(self._all["result"])

    @property
    def scenario(self) -> Dict[str, Any]:
        """Name, sizes and schedule, ``scenario`` of the JSON."""
        return dict(self._all["scenario"])

    @property
    def name(self) -> str:
        return str(self._all["scenario"]["name"])

    @property
    def sha256(self) -> str:
        """The hash of everything that the forecast depends on."""
        return str(self._all["scenario"]["sha256"])

    @property
    def version(self) -> str:
        """The version of the program that made it."""
        return str(self._all["stepcast"]["version"])

    @property
    def step_time_s(self) -> float:
        return float(self._all["result"]["step_time_s"])

    def _number(self, key: str) -> Optional[float]:
        value = self._all["result"].get(key)
        return None if value is None else float(value)

    @property
    def step_time_s_low(self) -> Optional[float]:
        return self._number("step_time_s_low")

    @property
    def step_time_s_high(self) -> Optional[float]:
        return self._number("step_time_s_high")

    @property
    def tokens_per_s(self) -> Optional[float]:
        """None for a workload of given times, as for all metrics of a model."""
        return self._number("tokens_per_s")

    @property
    def tokens_per_s_per_device(self) -> Optional[float]:
        return self._number("tokens_per_s_per_device")

    @property
    def mfu(self) -> Optional[float]:
        return self._number("mfu")

    @property
    def headline(self) -> str:
        """What the step is made of, in words: the sentence of the table."""
        return str(self._all["result"]["headline"])

    @property
    def bubble_ratio(self) -> float:
        return float(self._all["result"]["bubble_ratio"])

    @property
    def fits_memory(self) -> Optional[bool]:
        value = self._all["result"]["fits_memory"]
        return None if value is None else bool(value)

    @property
    def peak_memory_bytes(self) -> Optional[float]:
        """Of the fullest stage."""
        peaks = [stage["memory_bytes"]["peak"] for stage in self._all["result"]["stages"]
                 if "memory_bytes" in stage]
        return max(peaks, default=None)

    @property
    def breakdown(self) -> Any:
        """Seconds of a mean rank by part, which add up to the step: a Series, or a dict."""
        return series(self._all["result"]["breakdown_s"], "seconds")

    @property
    def exposed(self) -> Any:
        """Seconds of exposed communication by kind: a Series, or a dict."""
        return series(self._all["result"]["exposed_by_kind_s"], "seconds")

    @property
    def stages(self) -> Any:
        """A row per pipeline stage, memory in bytes: a DataFrame, or a list of dicts."""
        rows: List[Dict[str, Any]] = []
        for stage in self._all["result"]["stages"]:
            row = {key: value for key, value in stage.items() if key != "memory_bytes"}
            row.update({f"memory_{kind}_bytes": value
                        for kind, value in stage.get("memory_bytes", {}).items()})
            rows.append(row)
        return frame(rows)

    @property
    def collectives(self) -> Any:
        """A row per collective of the program: a DataFrame, or a list of dicts."""
        return frame(self._all["result"]["collectives"])

    @property
    def framework(self) -> Any:
        """A row per key that the rules of the framework set, with its value, source and rule: a
        DataFrame, or a list of dicts; empty where the scenario names none."""
        named = self._all["scenario"].get("framework")
        return frame([{"key": key, **rule} for key, rule in (named or {"keys": {}})["keys"].items()])

    @property
    def operators(self) -> Any:
        """Operators and communications by their seconds on the critical path of the step, longest
        first: a DataFrame, or a list of dicts. Simulated when it is first read."""
        return frame(self.explain()["critical_path"]["operators"])

    def explain(self) -> Dict[str, Any]:
        """What bounds the step: the fields of ``stepcast explain --json``, simulated once."""
        if self._explanation is None:
            self._explanation = json.loads(ask(self._question.request("explain", ["--json", "-"])))
        return dict(self._explanation)

    def report(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page that shows the run (.html)."""
        ask(self._question.request("run", ["--report", os.fspath(path)]))

    def trace(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes what was executed as a Chrome trace (.json or .json.gz)."""
        ask(self._question.request("run", ["--trace", os.fspath(path)]))

    def to_dict(self) -> Dict[str, Any]:
        """Everything, as ``stepcast run --json`` has it."""
        return dict(json.loads(self._text))

    def to_json(self) -> str:
        """The text of ``stepcast run --json -``, byte by byte."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Forecast) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def _headline(self) -> List[str]:
        shown = [f"{self.step_time_s:.4g} s per step"]
        if self.tokens_per_s_per_device is not None:
            shown.append(f"{self.tokens_per_s_per_device:.4g} tokens/s per device")
        if self.mfu is not None:
            shown.append(f"MFU {100 * self.mfu:.1f} %")
        if self.fits_memory is False:
            shown.append("does not fit into memory")
        return shown

    def __repr__(self) -> str:
        return f"<Forecast {self.name}: {', '.join(self._headline())}>"

    def _repr_html_(self) -> str:
        step = self.step_time_s or 1.0
        bars, rows, at = [], [], 0.0
        for part, colour in _PARTS.items():
            seconds = self._all["result"]["breakdown_s"][part]
            share = 100 * seconds / step
            bars.append(f'<rect x="{at:.2f}%" y="0" width="{share:.2f}%" height="18" fill="{colour}">'
                        f"<title>{part}: {seconds:.4g} s</title></rect>")
            rows.append(f'<tr><td style="text-align:left"><span style="color:{colour}">&#9632;</span> '
                        f'{part.replace("_", " ")}</td><td>{seconds:.4g} s</td>'
                        f"<td>{share:.1f} %</td></tr>")
            at += share
        return (f"<div><b>{html.escape(self.name)}</b>: {html.escape(', '.join(self._headline()))}"
                f'<svg role="img" aria-label="breakdown of the step" width="100%" height="18">'
                f"{''.join(bars)}</svg><div>{html.escape(self.headline)}</div><table>{''.join(rows)}</table></div>")


def forecast(scenario: Scenario, /, *, set: Optional[Mapping[str, Value]] = None,
             presets: Sequence[Union[str, "os.PathLike[str]"]] = (),
             timeout: Optional[float] = None, **overrides: Value) -> Forecast:
    """Predicts one step of a scenario: a path, YAML text of several lines, or a mapping.

    Keys are overridden by ``set={"parallel.tp": 4}``, ``parallel__tp=4`` or ``parallel={"tp": 4}``.
    Raises ScenarioError with the place of each mistake, ForecastTimeout after ``timeout`` seconds.
    A step that does not fit into memory is a result, see ``fits_memory``.
    """
    question = question_of(scenario, set, presets, timeout, overrides)
    return Forecast(ask(question.request("run", ["--json", "-"])), replace(question))
