#!/usr/bin/env python3
"""The same bytes wherever it runs: `environments_test.py STEPCAST SCENARIOS [SCENARIOS_TRIED [ENVIRONMENTS]]`.

Forecasts of random scenarios are compared over locale, time zone, folder, environment, memory layout, niceness, limits,
descriptors, threads of the libraries and load. 4 scenarios and all 10 environments unless given.
"""
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

STEPCAST, SCENARIOS = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 4
MOST = int(sys.argv[4]) if len(sys.argv) > 4 else 10


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def small_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))


# name, words before the program, variables, folder, what the child does first
ENVIRONMENTS = [
    ("plain", [], {}, "/", None),
    ("locale", [], {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}, None, None),
    ("C locale", [], {"LC_ALL": "C", "LANGUAGE": "tr"}, None, None),
    ("time zone", [], {"TZ": "Pacific/Chatham"}, None, None),
    ("no layout randomisation", ["setarch", "-R"], {}, None, None),
    ("nice", ["nice", "-n", "19"], {}, None, None),
    ("one processor", ["taskset", "-c", "0"], {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}, None, None),
    ("many threads", [], {"OMP_NUM_THREADS": "16", "OPENBLAS_NUM_THREADS": "16", "MALLOC_ARENA_MAX": "1"}, None, None),
    ("filled memory", [], {"MALLOC_PERTURB_": "165"}, None, few_descriptors),
    ("small stack, empty environment", ["env", "-i", "PATH=/usr/bin:/bin"], {}, None, small_stack),
][:MOST]


def main():
    names = sorted(str(path) for folder in ("", "what-if", "regression") for path in (SCENARIOS / folder).glob("*.yaml"))
    chosen = random.Random(20261122).sample(names, COUNT)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            seen = {}
            for label, words, variables, where, first in ENVIRONMENTS:
                ran = subprocess.run([*words, STEPCAST, "run", name, "--json", "-"], cwd=where or folder,
                                     env={**os.environ, **variables}, capture_output=True, preexec_fn=first)
                seen.setdefault((ran.returncode, ran.stdout), []).append(label)
            good = len(seen) == 1 and next(iter(seen))[0] == 0
            failed += not good
            if not good:
                print(f"{name}: {[(code, labels) for (code, _), labels in seen.items()]}")
    print(f"environments: {len(chosen) - failed} of {len(chosen)} scenarios have the same bytes in {len(ENVIRONMENTS)}")
    return failed > 0


sys.exit(main())
