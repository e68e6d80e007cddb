"""Tables are pandas objects where there is pandas, lists of dicts and dicts where there is not."""

from __future__ import annotations

import importlib
from typing import Any, Dict, List, Mapping, Sequence


def _pandas() -> Any:
    try:
        return importlib.import_module("pandas")
    except ImportError:
        return None


def frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A DataFrame, or a list of dicts."""
    pandas = _pandas()
    plain: List[Dict[str, Any]] = [dict(row) for row in rows]
    return plain if pandas is None else pandas.DataFrame(plain)


def series(values: Mapping[str, float], name: str) -> Any:
    """A Series, or a dict."""
    pandas = _pandas()
    return dict(values) if pandas is None else pandas.Series(dict(values), name=name, dtype=float)
