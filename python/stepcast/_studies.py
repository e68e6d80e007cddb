"""Many forecasts, and the commands that need no scenario."""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections import deque
from typing import (Any, Callable, Deque, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence,
                    Tuple, Union)

from ._errors import ScenarioError, StepcastError
from ._forecast import Forecast, Question, question_of
from ._results import (Campaign, Choices, CollectiveTime, Comparison, Imported, ModelSize,
                       OperatorTime, Plan, ScheduleOrder, Topology, Verdict)
from ._tables import frame
from ._values import Scenario, Value, overrides_of, set_arguments, source_of, text_of
from ._worker import Request, ask, checked, current_worker

Path = Union[str, "os.PathLike[str]"]
Progress = Callable[[int, int], None]

_METRICS = ("step_time_s", "tokens_per_s", "tokens_per_s_per_device", "mfu", "bubble_ratio",
            "peak_memory_bytes", "fits_memory")


def _ahead() -> int:
    """Requests that wait at the worker, so that it is never idle."""
    return 4 * (os.cpu_count() or 1)


def forecasts(jobs: Iterable[Tuple[Scenario, Mapping[str, Value]]], *,
              presets: Sequence[Path] = (), timeout: Optional[float] = None
              ) -> Iterator[Union[Forecast, StepcastError]]:
    """Forecasts of (scenario, overrides) pairs in their order, as many at a time as processors.

    What cannot be forecast gives its exception as a value.
    """
    worker = current_worker()
    waiting: Deque[Tuple[Question, Request, Any]] = deque()
    pairs = iter(jobs)
    try:
        while True:
            for scenario, settings in itertools.islice(pairs, _ahead() - len(waiting)):
                question = question_of(scenario, settings, presets, timeout, {})
                request = question.request("run", ["--json", "-"])
                waiting.append((question, request, worker.submit(request)))
            if not waiting:
                return
            question, request, future = waiting[0]
            message = future.result()
            waiting.popleft()
            try:
                yield Forecast(checked(message, request), question)
            except StepcastError as error:
                yield error
    finally:
        for _, _, future in waiting:
            worker.cancel(future)


def _points(grid: Mapping[str, Sequence[Value]], together: bool) -> List[Dict[str, Value]]:
    if not together:
        return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    lengths = {len(values) for values in grid.values()}
    if len(lengths) > 1:
        raise ValueError("zip=True takes lists of one length")
    return [dict(zip(grid, values)) for values in zip(*grid.values())]


def sweep(base: Scenario, grid: Mapping[str, Sequence[Value]], *, zip: bool = False,
          keep: Optional[Callable[[Forecast], bool]] = None, presets: Sequence[Path] = (),
          timeout: Optional[float] = None, progress: Optional[Progress] = None) -> Any:
    """Forecasts of all combinations of the values of ``grid`` (``zip=True``: of the n-th of each).

    Returns a DataFrame, or a list of dicts, with a row per point: its values, the metrics, and
    ``error``, which says why a point cannot run and is empty otherwise. ``keep`` chooses rows;
    ``progress(done, total)`` is called after each point.
    """
    points = _points(grid, zip)
    rows: List[Dict[str, Any]] = []
    answers = forecasts(((base, point) for point in points), presets=presets, timeout=timeout)
    for done, (point, answer) in enumerate(_pairs(points, answers), start=1):
        row: Dict[str, Any] = dict(point)
        if isinstance(answer, Forecast):
            row.update({name: getattr(answer, name) for name in _METRICS}, error="")
        elif isinstance(answer, ScenarioError):
            row.update(dict.fromkeys(_METRICS), error=str(answer))
        else:
            raise answer
        if keep is None or (isinstance(answer, Forecast) and keep(answer)):
            rows.append(row)
        if progress is not None:
            progress(done, len(points))
    return frame(rows)


_pairs = zip  # sweep() has an argument of that name


def _json(command: str, words: Sequence[str], source: Optional[Scenario] = None,
          options: Sequence[str] = (), timeout: Optional[float] = None) -> Dict[str, Any]:
    argument, text, name = ("", "", "-") if source is None else source_of(source)
    arguments = [command, *([argument] if argument else []), *words, *options, "--json", "-"]
    return dict(json.loads(ask(Request(arguments, text, name, timeout))))


def _options(values: Mapping[str, Value]) -> List[str]:
    """Options that are given: ``head_size=128`` is ``--head-size 128``."""
    words: List[str] = []
    for name, value in values.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if value is not True:
            words.append(os.fspath(value) if isinstance(value, os.PathLike) else str(value))
    return words


def scale(scenario: Scenario, devices: Union[str, Sequence[int]], *, strong: bool = False,
          timeout: Optional[float] = None, **overrides: Value) -> Any:
    """The scaling curve over numbers of devices, a list or ``"512..4096"``, weak (the batch grows) unless ``strong``: a
    DataFrame, or a list of dicts, with ``scaling_efficiency``. ``attrs["published"]`` has the
    published curves of that model and device, each with ``curve``, ``source``, ``same_plan`` and
    ``points``."""
    counts = devices if isinstance(devices, str) else ",".join(str(int(n)) for n in devices)
    options = ["--devices", counts, "--strong" if strong else "--weak"]
    options += set_arguments(overrides_of(None, overrides))
    answer = _json("scale", [], scenario, options, timeout)
    table = frame(answer["points"])
    table.attrs["published"] = answer.get("published", [])
    return table


def plan(scenario: Scenario, *, top: int = 10, timeout: Optional[float] = None,
         **overrides: Value) -> Plan:
    """The best strategies of a plan file (keys may hold lists or ``search``): ``plan --json``."""
    options = ["--top", str(top), *set_arguments(overrides_of(None, overrides))]
    return Plan(_json("plan", [], scenario, options, timeout))


def campaign(scenario: Scenario, *, steps: Optional[int] = None, tokens: Optional[float] = None,
             within: Optional[str] = None, seeds: Optional[int] = None,
             timeout: Optional[float] = None, **overrides: Value) -> Campaign:
    """When a whole training ends, with its failures and checkpoints: ``campaign --json``. ``within``
    ("60d") asks how probable it is to end by then."""
    options = _options({"steps": steps, "tokens": tokens, "within": within, "seeds": seeds})
    options += set_arguments(overrides_of(None, overrides))
    return Campaign(_json("campaign", [], scenario, options, timeout))


def choices(scenario: Scenario, keys: Mapping[str, Sequence[Value]], *,
            timeout: Optional[float] = None, **overrides: Value) -> Choices:
    """Which values of keys may run, each by itself, and why the others may not:
    ``choices("s.yaml", {"parallel.tp": [4, 8]})``."""
    words = [f"{key}={','.join(text_of(value) for value in values)}" for key, values in keys.items()]
    options = set_arguments(overrides_of(None, overrides))
    return Choices(_json("choices", words, scenario, options, timeout))


def judge(scenario: Path, *more: Path, devices: Optional[int] = None,
          tolerance: Optional[float] = None, timeout: Optional[float] = None,
          **overrides: Value) -> Verdict:
    """Holds the fast engine to SimGrid alone, part by part; what is larger than ``devices`` is cut.
    A verdict that they differ is a result."""
    options = _options({"devices": devices, "tolerance": tolerance})
    options += set_arguments(overrides_of(None, overrides))
    arguments = ["judge", *(os.fspath(file) for file in (scenario, *more)), *options, "--json", "-"]
    return Verdict(json.loads(ask(Request(arguments, timeout=timeout, allowed_codes=(0, 1)))))


def compare(before: Union[Scenario, Forecast], after: Union[Scenario, Forecast]) -> Comparison:
    """What differs between two scenarios or forecasts, and what it costs: ``diff --json``."""
    with tempfile.TemporaryDirectory(prefix="stepcast-") as folder:
        return Comparison(_json("diff", [_side(side, folder, name)
                                         for side, name in ((before, "before"), (after, "after"))]))


def _side(side: Union[Scenario, Forecast], folder: str, name: str) -> str:
    if isinstance(side, Forecast):
        ending, text = "json", side.to_json()
    else:
        source, text, _ = source_of(side)
        if source != "-":
            return source
        ending = "yaml"
    path = os.path.join(folder, f"{name}.{ending}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def collective(kind: str, *, cluster: Path, ranks: int, size: Union[str, int], stride: int = 1,
               **options: Value) -> CollectiveTime:
    """The time of one collective among every ``stride``-th device; ``size`` is "64MiB" or bytes.
    ``devices``, ``algorithm`` and ``network`` are the options of ``stepcast collective``."""
    size = size if isinstance(size, str) else f"{size}B"
    return CollectiveTime(_json("collective", [kind, *_options({
        "cluster": cluster, "ranks": ranks, "size": size, "stride": stride, **options})]))


def operator(kind: str, *, cluster: Path, **shape: Value) -> OperatorTime:
    """Time, bound and efficiency of one kernel: ``operator("matmul", cluster=..., m=4096, k=4096,
    n=4096)``. The shape has the options of ``stepcast operator``."""
    return OperatorTime(_json("operator", [kind, *_options({"cluster": cluster, **shape})]))


def schedule(name: str, *, pp: int, micro_batches: int, **options: Value) -> ScheduleOrder:
    """The order, bubble and memory of a pipeline schedule: ``vpp``, ``costs`` and the other options
    of ``stepcast schedule``."""
    return ScheduleOrder(_json("schedule", [name, *_options({
        "pp": pp, "micro_batches": micro_batches, **options})]))


def model(name: Path, *, sequence: Optional[int] = None) -> ModelSize:
    """Parameters and FLOPs of a model file or a Hugging Face config.json."""
    return ModelSize(_json("model", [os.fspath(name), *_options({"sequence": sequence})]))


def topology(cluster: Path, *, devices: Optional[int] = None) -> Topology:
    """Links, routes and bisection bandwidth of a cluster."""
    return Topology(_json("topology", [os.fspath(cluster), *_options({"devices": devices})]))


def import_launch(file: Path, *, cluster: Optional[Path] = None, devices: Optional[int] = None,
                  model: Optional[Path] = None, ignore_unknown: bool = False,
                  deepspeed: Optional[Path] = None, kind: Optional[str] = None,
                  **overrides: Value) -> Imported:
    """The scenario of a launch script, recipe or config.json: ``forecast(import_launch("train.sh",
    cluster="dgx-h100", devices=64))``. ``kind`` is ``--from``."""
    options = _options({"cluster": cluster, "devices": devices, "model": model, "from": kind,
                        "ignore_unknown": ignore_unknown, "deepspeed": deepspeed})
    options += set_arguments(overrides_of(None, overrides))
    return Imported(ask(Request(["import", os.fspath(file), *options])))


def presets(kind: str = "") -> Any:
    """What is shipped and found: clusters, models, frameworks, scenarios, what-if or plans, or names
    that hold a word: a DataFrame, or a list of dicts, with kind, preset and question."""
    return frame(_json("list", [kind] if kind else [])["presets"])


def frameworks() -> Any:
    """The frameworks that a scenario may name: a DataFrame, or a list of dicts."""
    return presets("frameworks")
