#!/usr/bin/env python3
"""Winners of the shipped plans as launch files and back: `exports_test.py PROGRAM`. The table of what frameworks lack goes to stdout."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
WINNERS = ROOT / "tests/house/winners"
KINDS = {"megatron": "train.sh", "mindspeed": "train.sh", "mindformers": "train.yaml"}
# The hardware that --cluster gives: that of the plan's scenario, with what the plan chose of it.
CLUSTERS = {"cheapest-fabric": "{extends: clusters/atlas-800t-a2.yaml, network: {nic: {bandwidth: 400Gbps}, topology: {oversubscription: 1}}}",
            "telechat3-105b-4096": "{extends: clusters/atlas-800t-a2.yaml}",
            "deepseek-v3-2048": "{extends: clusters/atlas-900-a2-pod.yaml}",
            "gpt3-175b-512": "{extends: clusters/atlas-900-a2-pod.yaml}",
            "moe-718b-6144": "{extends: clusters/atlas-800t-a2.yaml}",
            "moe-1t-8192-a3": "{extends: clusters/atlas-900-a3.yaml, super_node: {nodes: 8}}",
            "pangu-ultra-moe-6144": "{extends: clusters/atlas-800t-a2.yaml}"}


def stepcast(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False)


def forecast(*arguments):
    done = stepcast("run", *arguments, "--json", "-")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def numbers(value, path=""):
    """Every number below the result, by its path."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from numbers(below, f"{path}.{key}")
    elif isinstance(value, list):
        for i, below in enumerate(value):
            yield from numbers(below, f"{path}.{i}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def said_keys(inputs):
    """Keys of the step, without names and the cut, which auto leaves to be computed."""
    apart = ("cluster.", "name", "model.name", "model.stepcast", "stepcast", "parallel.layers_per_chunk", "parallel.dp")
    return {key: value for key, value in inputs.items() if not key.startswith(apart)}


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.said = {}
        for name in CLUSTERS:
            for kind in KINDS:
                cls.said[name, kind] = stepcast("export", WINNERS / f"{name}.yaml", "--to", kind)

    def test_what_can_be_said_comes_back(self):
        for (name, kind), done in self.said.items():
            if done.returncode != 0:
                continue
            with self.subTest(plan=name, kind=kind), tempfile.TemporaryDirectory() as folder:
                text = re.sub(r"(?m)(^|\s)#(?!!).*$", "", done.stdout)  # every comment goes
                launch = pathlib.Path(folder) / KINDS[kind]
                launch.write_text(text, encoding="utf-8")
                cluster = pathlib.Path(folder) / "cluster.yaml"
                cluster.write_text(CLUSTERS[name] + "\n", encoding="utf-8")
                first = forecast(WINNERS / f"{name}.yaml")
                runs = first["scenario"].get("framework") or {}
                # another framework's rules say nothing of this one's flags
                own = runs.get("name", "").startswith({"megatron": "megatron-core-"}.get(kind, kind + "-"))
                again = forecast(launch, "--cluster", cluster, "--framework", runs["name"] if own else "none")
                here, there = said_keys(first["scenario"]["inputs"]), said_keys(again["scenario"]["inputs"])
                self.assertEqual(here.keys(), there.keys())
                for key in here:
                    self.assertEqual(here[key], there[key], key)
                wanted, found = dict(numbers(first["result"])), dict(numbers(again["result"]))
                self.assertEqual(wanted.keys(), found.keys())
                step = wanted[".step_time_s"]
                for path, value in wanted.items():
                    self.assertAlmostEqual(found[path], value, delta=1e-9 * max(abs(value), step), msg=path)

    def test_most_plans_have_a_launch_file(self):
        able = {name for (name, kind), done in self.said.items() if done.returncode == 0}
        self.assertGreaterEqual(len(able), 5, sorted(able))

    def test_the_rest_is_refused_by_key(self):
        for (name, kind), done in sorted(self.said.items()):
            keys = re.findall(r"has no way to say ([\w.-]+)", done.stderr)
            print(f"{name:22} {kind:12} {'yes' if done.returncode == 0 else 'lacks ' + ', '.join(keys)}")
            with self.subTest(plan=name, kind=kind):
                self.assertEqual(done.returncode == 0, not keys, done.stderr)
                self.assertIn(done.returncode, (0, 2))

    def test_without_a_kind_all_are_compared(self):
        table = stepcast("export", WINNERS / "gpt3-175b-512.yaml").stdout
        for kind in KINDS:
            self.assertIn(f"  {kind} ", table)


# Launch file, hardware, devices; the row of the ledger of the same job; keys in which the two differ.
ROWS = [("msl_qwen3_30b.sh", "atlas-900-a2-pod", [], "mindspeed-llm/master-qwen3-30b-a2.yaml",
         # The row's loss and sums are those of the repository's script for pretraining, which the
         # file's table does not name, and its loads are as a router gives them.
         {"moe.router.aux_loss", "communication.gradient.accumulation",
          "moe.routing.distribution", "moe.routing.exponent", "moe.routing.lifetime", "moe.routing.seed"}),
        ("mf_telechat3_36b.yaml", "atlas-800t-a2", ["--devices", "2048"], "mindformers/telechat3-36b-2048.yaml",
         # Slices of the report's schedule, not of the file's; kernels of MindFormers' code, which the file does not name.
         {"training.recompute", "schedule.slices", "runtime.dispatch", "runtime.fusion", "runtime.optimizer",
          "training.rebuild"})]


class Rows(unittest.TestCase):
    def test_a_launch_file_says_what_its_row_says(self):
        for file, cluster, devices, row, different in ROWS:
            with self.subTest(file=file):
                launch = forecast(ROOT / "tests/sim/import/data" / file, "--cluster", cluster, *devices)
                published = forecast(ROOT / "scenarios/validation" / row)
                here, there = said_keys(launch["scenario"]["inputs"]), said_keys(published["scenario"]["inputs"])
                found = {key for key in here.keys() | there.keys() if here.get(key) != there.get(key)}
                self.assertEqual(found, different)


if __name__ == "__main__":
    unittest.main()
