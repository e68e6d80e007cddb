"""Tables are pandas objects where there is pandas, lists of dicts and dicts where there is not."""

from __future__ import annotations

import html
import importlib
from typing import Any, Dict, Iterable, List, Mapping, Sequence


def _pandas() -> Any:
    try:
        return importlib.import_module("pandas")
    except ImportError:
        return None


class Rows(List[Dict[str, Any]]):
    """A list of dicts that a notebook shows as a table. ``attrs`` has what is no row, as that of a DataFrame."""

    def __init__(self, rows: Iterable[Dict[str, Any]] = ()) -> None:
        super().__init__(rows)
        self.attrs: Dict[str, Any] = {}

    def _repr_html_(self) -> str:
        columns = list(dict.fromkeys(key for row in self for key in row))
        head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(_shown(row.get(column)))}</td>" for column in columns) + "</tr>"
                       for row in self)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if self else ""


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A DataFrame, or a list of dicts."""
    pandas = _pandas()
    plain = Rows(dict(row) for row in rows)
    return plain if pandas is None else pandas.DataFrame(plain)


def series(values: Mapping[str, float], name: str) -> Any:
    """A Series, or a dict."""
    pandas = _pandas()
    return dict(values) if pandas is None else pandas.Series(dict(values), name=name, dtype=float)
