"""Results of commands: dicts with the fields of ``--json``, and properties for what is asked of them most."""

from __future__ import annotations

import html
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ._tables import Rows, frame, series


class Result(Dict[str, Any]):
    """The fields of a command's ``--json``."""

    def _summary(self) -> str:
        raise NotImplementedError

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return []

    @property
    def table(self) -> Any:
        """The rows of the result: a DataFrame, or a list of dicts."""
        return frame(self._rows())

    def to_dict(self) -> Dict[str, Any]:
        return dict(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._summary()}>"

    def _repr_html_(self) -> str:
        table = Rows(dict(row) for row in self._rows())._repr_html_()
        return f"<div><div>{html.escape(self._summary())}</div>{table}</div>"


def _days(seconds: float) -> str:
    return f"{seconds / 86400:.4g} days"


class Plan(Result):
    """The answer of :func:`stepcast.plan`."""

    @property
    def proven(self) -> bool:
        return bool(self["proven"])

    @property
    def settings(self) -> Dict[str, str]:
        """The keys of the best point."""
        return dict(self["best"][0]["settings"])

    @property
    def step_time_s(self) -> float:
        """Of the best point."""
        return float(self["best"][0]["simulated_s"])

    def _rows(self) -> List[Dict[str, Any]]:
        rows = []
        for point in self["best"]:
            numbers = {key: value for key, value in point.items() if not isinstance(value, (dict, list))}
            rows.append({**point["settings"], **numbers})
        return rows

    def _summary(self) -> str:
        if not self["best"]:
            return "nothing runs"
        return f"{self.step_time_s:.4g} s per step{', proven' if self.proven else ''}"


class Campaign(Result):
    """The answer of :func:`stepcast.campaign`."""

    @property
    def _campaign(self) -> Dict[str, Any]:
        return dict(self["campaign"])

    @property
    def wall_s(self) -> float:
        """Of the whole training: the mean of the runs; ``campaign.wall_s`` has quantiles."""
        return float(self._campaign["wall_s"]["mean"])

    @property
    def step_time_s(self) -> float:
        return float(self._campaign["step_time_s"])

    @property
    def failures(self) -> float:
        return float(self._campaign["failures"])

    @property
    def within(self) -> Optional[float]:
        """How probable it is to end by the time that was asked for."""
        value = self._campaign.get("within")
        return None if value is None else float(value)

    @property
    def parts(self) -> Any:
        """Seconds of a mean run by part, which add up to it: a Series, or a dict."""
        return series(self._campaign["mean"], "seconds")

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return list(self._campaign["reached"])

    def _summary(self) -> str:
        wall = self._campaign["wall_s"]
        return f"{_days(wall['mean'])} ({_days(wall['p10'])} to {_days(wall['p90'])}), {self.failures:.4g} failures"


class Choices(Result):
    """The answer of :func:`stepcast.choices`: a row per value, with ``runs`` and the ``reason`` where it does not."""

    def _rows(self) -> List[Dict[str, Any]]:
        return [{"key": key["path"], **value, "now": value["value"] == key["now"]}
                for key in self["keys"] for value in key["values"]]

    def runs(self, key: str) -> List[str]:
        """The values of a key that may run."""
        return [row["value"] for row in self._rows() if row["key"] == key and row["runs"]]

    def _summary(self) -> str:
        rows = self._rows()
        return f"{sum(row['runs'] for row in rows)} of {len(rows)} values may run"


class Topology(Result):
    """The answer of :func:`stepcast.topology`: a row per kind of link."""

    @property
    def devices(self) -> int:
        return int(self["devices"])

    @property
    def bisection_bytes_per_s(self) -> float:
        return float(self["bisection_bytes_per_s"])

    @property
    def routes(self) -> Any:
        """One route for each distance: a DataFrame, or a list of dicts."""
        return frame(self["routes"])

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return list(self["links"])

    def _summary(self) -> str:
        return f"{self['cluster']}, {self.devices} devices, {self['nodes']} nodes"


class Verdict(Result):
    """The answer of :func:`stepcast.judge`: a row per job."""

    @property
    def agree(self) -> bool:
        return bool(self["judge"]["agree"])

    @property
    def apart(self) -> float:
        """The most that any part differs by, of its step."""
        return float(self["judge"]["apart"])

    def _rows(self) -> List[Dict[str, Any]]:
        return [{key: value for key, value in job.items() if key != "parts"} for job in self["judge"]["jobs"]]

    def _summary(self) -> str:
        return f"{'agree' if self.agree else 'differ'}, {self.apart:.2g} of a step apart"


class Comparison(Result):
    """The answer of :func:`stepcast.compare`: a row per part of the step."""

    @property
    def change_s(self) -> float:
        """Of the step."""
        return float(self["after"]["step_time_s"] - self["before"]["step_time_s"])

    def _rows(self) -> List[Dict[str, Any]]:
        return [{"part": part, "change_s": seconds} for part, seconds in self["change_s"].items()]

    def _summary(self) -> str:
        before, after = self["before"], self["after"]
        return f"{before['name']} {before['step_time_s']:.4g} s, {after['name']} {after['step_time_s']:.4g} s"


class CollectiveTime(Result):
    """The answer of :func:`stepcast.collective`: a row per algorithm."""

    @property
    def time_s(self) -> float:
        """Of the algorithm that runs."""
        return float(self["algorithms"][0]["time_s"])

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return list(self["algorithms"])

    def _summary(self) -> str:
        return f"{self['collective']} of {self['bytes']:.4g} bytes among {self['ranks']} ranks: {self.time_s:.4g} s"


class OperatorTime(Result):
    """The answer of :func:`stepcast.operator`."""

    @property
    def time_s(self) -> float:
        return float(self["time_s"])

    @property
    def bound(self) -> str:
        return str(self["bound"])

    def _summary(self) -> str:
        return f"{self['operator']} on {self['cluster']}: {self.time_s:.4g} s, bound by {self.bound}"


class ScheduleOrder(Result):
    """The answer of :func:`stepcast.schedule`: a row per stage."""

    @property
    def makespan(self) -> float:
        return float(self["makespan"])

    @property
    def bubble_ratio(self) -> float:
        return float(self["bubble_ratio"])

    def _rows(self) -> List[Dict[str, Any]]:
        return [{key: value for key, value in stage.items() if key != "units"} for stage in self["stages"]]

    def _summary(self) -> str:
        return f"{self['schedule']}, {self['pp']} stages: makespan {self.makespan:.4g}, bubble {100 * self.bubble_ratio:.1f} %"


class ModelSize(Result):
    """The answer of :func:`stepcast.model`."""

    @property
    def parameters(self) -> float:
        return float(self["parameters"]["total"])

    @property
    def training_flops_per_token(self) -> float:
        return float(self["training_flops_per_token"])

    def _rows(self) -> List[Dict[str, Any]]:
        return [{"part": part, "parameters": count} for part, count in self["parameters"].items()]

    def _summary(self) -> str:
        return f"{self['model']}: {self.parameters:.4g} parameters, {self.training_flops_per_token:.4g} FLOPs per token"


class Imported(str):
    """The YAML text of a scenario, as :func:`stepcast.forecast` takes it, the flag behind each key beside it."""

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"
