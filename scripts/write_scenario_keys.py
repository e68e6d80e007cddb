#!/usr/bin/python3
"""Writes the tables of keys of docs/scenario.md from the JSON Schema that `stepcast schema` prints: everyday keys, then all.

usage: write_scenario_keys.py [--check] SCHEMA.json docs/scenario.md

The page keeps what is outside the marker lines of the two parts. With --check nothing is written, and the exit code is 1
when the page is not up to date.
"""
import json
import pathlib
import sys

BEGIN = "<!-- {}: written by scripts/write_scenario_keys.py -->"
END = "<!-- end of {} -->"
# What most questions are made of comes first, long tables of hardware last.
EVERYDAY = {
    "What is trained, on what": ["framework", "cluster.extends", "cluster.devices", "model.extends", "model.hf_config"],
    "The plan": ["parallel.tp", "parallel.pp", "parallel.vpp", "parallel.cp", "parallel.ep", "parallel.etp", "parallel.dp",
                 "parallel.zero", "parallel.sequence_parallel", "parallel.layers_per_chunk", "schedule.pipeline"],
    "The step": ["training.sequence", "training.global_batch", "training.micro_batch", "training.precision", "training.recompute",
                 "training.attention", "training.offload.activations", "training.offload.optimizer"],
    "What overlaps": ["communication.tensor.overlap", "communication.gradient.overlap", "communication.parameter.overlap",
                      "moe.dispatcher", "moe.overlap"],
    "What if": ["cluster.network.nic.bandwidth", "cluster.device.matmul_peak", "cluster.device.memory.bandwidth",
                "cluster.device.memory.capacity", "stalls.throttling", "stalls.degraded_links", "moe.routing"],
    "What it should be": ["expect.step_time", "expect.peak_memory"],
}
ORDER = ["parallel", "training", "schedule", "moe", "communication", "runtime", "expect", "stalls", "simulate", "campaign", "plan", "launch",
         "workload", "model", "cluster"]


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
        yield path, kind + "".join(f", {o['const']}" for o in value.get("anyOf", []) if "const" in o), default_of(value), doc
        yield from rows(inner, f"{path}.")


def without_repeats(entries, schema):
    """The same rows, where a mapping that has the keys of an earlier one names that one instead."""
    seen, cut = {}, None
    for path, allowed, default, doc in entries:
        if cut is not None and path.startswith(f"{cut}."):
            continue
        cut, inner = None, inner_of(schema, path)
        if inner is not None and len(inner["properties"]) > 1:
            same = json.dumps(inner["properties"], sort_keys=True)
            if same in seen:
                cut = path
                doc = f"{doc}{'; ' if doc else ''}its keys are those of `{seen[same]}`"
            else:
                seen[same] = path
        yield path, allowed, default, doc


def inner_of(schema, path):
    """The mapping at a path, or nothing."""
    for key in path.split("."):
        schema = mapping_of(schema["properties"][key])
        if schema is None:
            return None
    return schema


def plain(path, value):
    """The row of a key by itself."""
    inner = mapping_of(value)
    kind = value.get("$comment", "a path or the name of a preset") if inner is None else "list of mappings" if is_list(value) else "mapping"
    return path, kind, default_of(value), value.get("description", "").replace(" (required)", "")


def schema_at(schema, path):
    *above, last = path.split(".")
    inner = inner_of(schema, ".".join(above)) if above else schema
    if inner is None or last not in inner["properties"]:
        raise SystemExit(f"write_scenario_keys: EVERYDAY has '{path}', which the schema lacks")
    return inner["properties"][last]


def row(path, allowed, default, doc):
    return f"| `{cell(path)}` | {cell(allowed)} | {cell(default)} | {cell(doc)} |"


def everyday(schema):
    """The keys that most questions set, by what they are about."""
    lines = ["", "| key | allowed | default | meaning |", "|---|---|---|---|"]
    for group, paths in EVERYDAY.items():
        lines.append(f"| **{group}** | | | |")
        lines.extend(row(*plain(path, schema_at(schema, path))) for path in paths)
    return lines


def tables(schema):
    """A section for each mapping of the top level."""
    lines = []

    def table(title, entries):
        lines.extend(["", f"### {title}", "", "| key | allowed | default | meaning |", "|---|---|---|---|"])
        lines.extend(row(*entry) for entry in entries)

    top = {key: value for key, value in schema["properties"].items() if key != "extends"}
    table("Top level", [(key, "mapping" if mapping_of(value) else value.get("$comment", ""), default_of(value),
                         value.get("description", "").replace(" (required)", "")) for key, value in top.items()])
    for key in sorted(top, key=lambda key: ORDER.index(key if key in ORDER else "workload")):
        inner = mapping_of(top[key])
        if inner is not None and list(rows(inner, "")):  # `plan` has keys in plans alone
            table(f"`{key}`", without_repeats(rows(inner, ""), inner))
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
    new = old
    for name, lines in (("everyday keys", everyday(schema)), ("keys", tables(schema))):
        head, rest = new.split(BEGIN.format(name))
        tail = rest.split(END.format(name))[1]
        new = head + BEGIN.format(name) + "\n" + "\n".join(lines) + "\n\n" + END.format(name) + tail
    if check:
        if new != old:
            print(f"{page}: the tables of keys are not up to date; run scripts/write_scenario_keys.py")
        return int(new != old)
    page.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
