#!/usr/bin/python3
"""Writes the tables of keys of docs/scenario.md from the JSON Schema that `stepcast schema` prints.

usage: write_scenario_keys.py [--check] SCHEMA.json docs/scenario.md

The page keeps what stands outside the two marker lines. With --check nothing is written, and the exit code is 1
when the page is not up to date.
"""
import json
import pathlib
import sys

BEGIN = "<!-- keys: written by scripts/write_scenario_keys.py -->"
END = "<!-- end of keys -->"


def cell(text):
    return str(text).replace("|", "\\|")


def mapping_of(schema):
    """The mapping that a value may be, or nothing for a plain value."""
    if "$comment" in schema:  # what a plain value may be
        return None
    for part in [schema, *schema.get("anyOf", [])]:
        for found in (part, part.get("items", {})):
            if "properties" in found:
                return found
    return None


def is_list(schema):
    return any(part.get("type") == "array" for part in [schema, *schema.get("anyOf", [])])


def default_of(value):
    if "(required)" in value.get("description", ""):
        return "required"
    if "default" not in value:
        return ""
    default = value["default"]
    if isinstance(default, list):
        return "`[" + ", ".join(default) + "]`"
    if isinstance(default, (bool, int, float)):
        return "`" + json.dumps(default) + "`"
    return f"`{default}`"


def rows(schema, prefix):
    """One row per plain key, the keys of inner mappings after their path."""
    for key, value in schema["properties"].items():
        if key == "extends":
            continue
        path = f"{prefix}{key}"
        inner = mapping_of(value)
        doc = value.get("description", "").replace(" (required)", "")
        if inner is None:
            yield path, value.get("$comment", ""), default_of(value), doc
            continue
        kind = "list of mappings" if is_list(value) else "mapping"
        yield path, kind + (", none" if "anyOf" in value else ""), default_of(value), doc
        yield from rows(inner, f"{path}.")


def tables(schema):
    """A section of its own for each mapping of the top level."""
    lines = []

    def table(title, entries):
        lines.extend(["", f"### {title}", "", "| key | allowed | default | meaning |", "|---|---|---|---|"])
        lines.extend(f"| `{cell(p)}` | {cell(a)} | {cell(d)} | {cell(m)} |" for p, a, d, m in entries)

    top = {key: value for key, value in schema["properties"].items() if key != "extends"}
    table("Top level", [(key, "mapping" if mapping_of(value) else value.get("$comment", ""), default_of(value),
                         value.get("description", "").replace(" (required)", "")) for key, value in top.items()])
    for key, value in top.items():
        inner = mapping_of(value)
        if inner is not None and list(rows(inner, "")):  # `plan` has keys in plans alone
            table(f"`{key}`", rows(inner, ""))
    return lines[1:]


def main(arguments):
    check = arguments[:1] == ["--check"]
    arguments = arguments[1:] if check else arguments
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    schema = json.loads(pathlib.Path(arguments[0]).read_text(encoding="utf-8"))
    page = pathlib.Path(arguments[1])
    old = page.read_text(encoding="utf-8")
    head, rest = old.split(BEGIN)
    tail = rest.split(END)[1]
    new = head + BEGIN + "\n" + "\n".join(tables(schema)) + "\n\n" + END + tail
    if check:
        if new != old:
            print(f"{page}: the tables of keys are not up to date; run scripts/write_scenario_keys.py")
        return int(new != old)
    page.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
