#!/usr/bin/python3
"""No shipped framework says something that a shipped model refuses: every pair as a plain question.

usage: frameworks_test.py STEPCAST SCENARIOS
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

QUESTION = """stepcast: 1
framework: {framework}
cluster: {{extends: clusters/{cluster}.yaml, devices: 64}}
model: {{extends: {model}}}
parallel: {{tp: 1, pp: 1, sequence_parallel: false}}
training: {{sequence: 2048, global_batch: 64, micro_batch: 1}}
"""

# Code of 2021 to 2023 has no sparse attention, so that it truly cannot run such a model.
TOO_NEW = "training.attention: is unfused, but an indexer"


def main(arguments):
    stepcast, scenarios = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve()
    frameworks = sorted(file.stem for file in (scenarios / "frameworks").glob("*.yaml"))
    models = sorted(file.relative_to(scenarios).as_posix() for file in (scenarios / "models").rglob("*.yaml"))
    assert len(frameworks) > 30 and len(models) > 50

    def refused(framework):
        cluster = "atlas-900-a2-pod" if framework.startswith("mind") else "dgx-h100"
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for model in models:
                file = pathlib.Path(folder) / f"{framework}--{pathlib.Path(model).stem}.yaml"
                file.write_text(QUESTION.format(framework=framework, cluster=cluster, model=model), encoding="utf-8")
                files.append(str(file))
            done = subprocess.run([stepcast, "validate", *files], cwd=scenarios, capture_output=True, text=True)
        return [line for line in done.stderr.splitlines() if "a rule of framework" in line and TOO_NEW not in line]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [line for lines in pool.map(refused, frameworks) for line in lines]
    print(*wrong, sep="\n")
    print(f"{len(frameworks)} frameworks on {len(models)} models, {len(wrong)} refused by a rule")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
