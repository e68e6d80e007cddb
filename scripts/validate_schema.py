#!/usr/bin/python3
"""Holds scenario, cluster and model files against the JSON Schema that `stepcast schema` prints.

usage: validate_schema.py SCHEMA.json FILE...     (`-` reads the schema from standard input)

A file below clusters/ or models/ is held against that part of the schema. Needs python3-jsonschema and
python3-yaml. Exit code 1 when a file does not fit, 2 when the schema itself is none.
"""
import json
import pathlib
import re
import sys

import jsonschema
import yaml


class Loader(yaml.SafeLoader):
    """YAML 1.2 words: only true and false are booleans, dates are text, 1e9 is a number."""


Loader.yaml_implicit_resolvers = {}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|false)$"), list("tf"))
Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(~|null|)$"), ["~", "n", ""])
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^-?[0-9]+$"), list("-0123456789"))
Loader.add_implicit_resolver("tag:yaml.org,2002:float",
                             re.compile(r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"),
                             list("-.0123456789"))


def part_for(path, schema):
    """The sub-schema of a preset file, the whole schema of a scenario."""
    folders = pathlib.Path(path).parts
    if "clusters" in folders:
        return schema["properties"]["cluster"]
    if "models" in folders:
        return schema["properties"]["model"]
    return schema


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    text = sys.stdin.read() if arguments[0] == "-" else pathlib.Path(arguments[0]).read_text(encoding="utf-8")
    schema = json.loads(text)
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        print(f"not a schema: {error.message}", file=sys.stderr)
        return 2
    wrong = 0
    for name in arguments[1:]:
        with open(name, encoding="utf-8") as stream:
            document = yaml.load(stream, Loader)
        for error in jsonschema.Draft202012Validator(part_for(name, schema)).iter_errors(document):
            where = ".".join(str(part) for part in error.absolute_path)
            print(f"{name}: {where}: {error.message}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
