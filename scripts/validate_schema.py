#!/usr/bin/python3
"""Holds files against a JSON Schema that `stepcast schema` prints.

usage: validate_schema.py SCHEMA.json FILE...      (`-` reads the schema from standard input)
       validate_schema.py --modelines FILE...      (each file against the schema that it names to editors)

Needs python3-jsonschema and python3-yaml. Exit code 1 when a file does not fit, 2 when a schema is none.
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


MODELINE = re.compile(r"^# yaml-language-server: \$schema=(\S+)$", re.MULTILINE)
validators = {}


def validator(schema_file, shipped):
    """Each schema is read once; that shipped ones are schemas themselves is checked, which takes seconds."""
    if schema_file not in validators:
        text = sys.stdin.read() if schema_file == "-" else pathlib.Path(schema_file).read_text(encoding="utf-8")
        schema = json.loads(text)
        if shipped:
            jsonschema.Draft202012Validator.check_schema(schema)
        validators[schema_file] = jsonschema.Draft202012Validator(schema)
    return validators[schema_file]


def named_schema(name, text):
    """The schema that the file names, seen from its folder as editors do."""
    named = MODELINE.search(text)
    if named is None:
        raise FileNotFoundError(f"{name}: names no schema")
    return str((pathlib.Path(name).parent / named[1]).resolve())


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    wrong = 0
    for name in arguments[1:]:
        text = pathlib.Path(name).read_text(encoding="utf-8")
        try:
            schema = named_schema(name, text) if arguments[0] == "--modelines" else arguments[0]
            errors = validator(schema, arguments[0] == "--modelines").iter_errors(yaml.load(text, Loader))
        except jsonschema.SchemaError as error:
            print(f"not a schema: {error.message}", file=sys.stderr)
            return 2
        except FileNotFoundError as error:
            print(error)
            wrong = 1
            continue
        for error in errors:
            where = ".".join(str(part) for part in error.absolute_path)
            print(f"{name}: {where}: {error.message}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
