"""Scenarios and overrides as Python writes them, as arguments of the program."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

Value = Any  #: a number, a text as in YAML ("400Gbps"), True, None, a list or a mapping of these
Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def plain(value: Value) -> Any:
    """Numbers of numpy and paths as plain values, at any depth."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if hasattr(value, "item") and hasattr(value, "dtype"):
        return value.item()
    raise TypeError(f"{value!r} cannot stand in a scenario, allowed: numbers, texts, True and "
                    "False, lists and mappings")


def key_of(name: str) -> str:
    """``parallel__tp`` is ``parallel.tp``; a final underscore spares Python's own words, ``from_``."""
    return ".".join(part[:-1] if part.endswith("_") else part for part in name.split("__"))


def text_of(value: Value) -> str:
    """A value as ``--set`` takes it; texts are YAML."""
    value = plain(value)
    return value if isinstance(value, str) else json.dumps(value)


def overrides_of(settings: Optional[Mapping[str, Value]], names: Mapping[str, Value]) -> Dict[str, str]:
    """Keys and their texts. Mappings give a key each: ``parallel={"tp": 4}`` is ``parallel.tp``;
    that of ``set`` has whole paths.

    ``cluster="dgx-h100"`` and ``model="llama3-70b"`` are other presets, as ``--cluster`` and ``--model``;
    ``engine="simgrid"`` is ``--engine``.
    """
    found: Dict[str, str] = {}

    def add(key: str, value: Value) -> None:
        if isinstance(value, Mapping) and value:
            for name, inner in value.items():
                add(f"{key}.{name}", inner)
        elif key in ("cluster", "model") and isinstance(value, (str, os.PathLike)):
            add(f"{key}.extends", value)
        elif key == "engine" and isinstance(value, str):
            add("simulate.engine", value)
        elif key in found:
            raise TypeError(f"{key} is given twice")
        else:
            found[key] = text_of(value)

    for given in (settings or {}, names):
        for name, value in given.items():
            if name == "set" and isinstance(value, Mapping):
                for key, inner in value.items():
                    add(key_of(key), inner)
            else:
                add(key_of(name), value)
    return found


def set_arguments(overrides: Mapping[str, str]) -> List[str]:
    return [word for key, text in overrides.items() for word in ("--set", f"{key}={text}")]


def preset_arguments(presets: Sequence[Union[str, "os.PathLike[str]"]]) -> List[str]:
    return [word for folder in presets for word in ("--presets", os.fspath(folder))]


def source_of(scenario: Scenario) -> Tuple[str, str, str]:
    """The argument, the standard input and its name: a path, YAML (a text of several lines) or a mapping."""
    if isinstance(scenario, Mapping):
        return "-", json.dumps(plain(scenario), allow_nan=False), "<dict>"
    path = os.fspath(scenario)
    if "\n" in path:
        return "-", path, "<text>"
    return path, "", "-"
