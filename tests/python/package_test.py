#!/usr/bin/python3
"""The Python package against the command line. Usage: package_test.py STEPCAST SOURCE_DIR"""
import json
import os
import pathlib
import pickle
import re
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

STEPCAST, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
os.environ["STEPCAST"] = STEPCAST
sys.path.insert(0, str(SOURCE / "python"))

import stepcast  # noqa: E402
from stepcast import _worker  # noqa: E402

SCENARIOS = SOURCE / "scenarios"
FLAGSHIP = SCENARIOS / "telechat3-36b-2048.yaml"
IDEAL = SCENARIOS / "ideal-pipeline.yaml"
SLOW = SCENARIOS / "deepseek-v3-2048.yaml"


def command_line(scenario, **values):
    words = [word for key, value in values.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]
    return subprocess.run([STEPCAST, "run", scenario, *words, "--json", "-"], check=True, text=True,
                          capture_output=True).stdout


def script(code, **environment):
    """A Python of its own with the package."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], text=True, capture_output=True,
                          env={**os.environ, "PYTHONPATH": str(SOURCE / "python"), **environment}, timeout=120)


class Forecasts(unittest.TestCase):
    def test_equal_the_command_line_bit_by_bit(self):
        for values in ({}, {"parallel__tp": 4, "parallel__dp": "auto"}, {"training__micro_batch": 2}):
            self.assertEqual(stepcast.forecast(FLAGSHIP, **values).to_json(), command_line(FLAGSHIP, **values))

    def test_overrides_have_three_ways(self):
        one = stepcast.forecast(FLAGSHIP, parallel__tp=4, parallel__dp="auto")
        self.assertEqual(one, stepcast.forecast(str(FLAGSHIP), set={"parallel.tp": 4, "parallel.dp": "auto"}))
        self.assertEqual(one, stepcast.forecast(FLAGSHIP, parallel={"tp": 4, "dp": "auto"}))
        self.assertNotEqual(one, stepcast.forecast(FLAGSHIP))
        with self.assertRaisesRegex(TypeError, "parallel.tp is given twice"):
            stepcast.forecast(FLAGSHIP, set={"parallel.tp": 4}, parallel__tp=4)
        with self.assertRaisesRegex(TypeError, "cannot stand in a scenario"):
            stepcast.forecast(FLAGSHIP, parallel__tp=object())

    def test_attributes(self):
        found = stepcast.forecast(FLAGSHIP)
        result = found.to_dict()["result"]
        self.assertEqual(found.step_time_s, result["step_time_s"])
        self.assertEqual(found.mfu, result["mfu"])
        self.assertIs(found.fits_memory, True)
        self.assertEqual(found.peak_memory_bytes, max(s["memory_bytes"]["peak"] for s in result["stages"]))
        self.assertAlmostEqual(sum(found.breakdown.values if hasattr(found.breakdown, "values") and
                                   not isinstance(found.breakdown, dict) else found.breakdown.values()),
                               found.step_time_s, places=9)
        self.assertEqual(len(found.stages), len(result["stages"]))
        self.assertEqual(found.version, stepcast.__version__)
        self.assertIn("telechat3-36b-2048", repr(found))
        self.assertIn("<svg", found._repr_html_())
        self.assertNotIn("<script", found._repr_html_())
        result["step_time_s"] = 0
        self.assertGreater(found.step_time_s, 0, "it does not change")

    def test_text_and_mapping(self):
        text = FLAGSHIP.read_text(encoding="utf-8")
        self.assertEqual(stepcast.forecast(text).step_time_s, stepcast.forecast(FLAGSHIP).step_time_s)
        import yaml
        self.assertEqual(stepcast.forecast(yaml.safe_load(text)).sha256, stepcast.forecast(FLAGSHIP).sha256)

    def test_relative_paths_follow_the_directory(self):
        before = os.getcwd()
        try:
            os.chdir(SCENARIOS)
            self.assertEqual(stepcast.forecast("ideal-pipeline.yaml"), stepcast.forecast(IDEAL))
        finally:
            os.chdir(before)

    def test_operators_lie_on_the_critical_path(self):
        found = stepcast.forecast(IDEAL)
        path = found.explain()["critical_path"]
        self.assertEqual(len(found.operators), len(path["operators"]))

    def test_report_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.html"
            stepcast.forecast(IDEAL).report(page)
            self.assertIn("<!doctype html>", page.read_text(encoding="utf-8")[:20])


class Errors(unittest.TestCase):
    def test_have_places(self):
        with self.assertRaises(ValueError) as caught:
            stepcast.forecast("stepcast: 1\nname: A B\n")
        self.assertIsInstance(caught.exception, stepcast.ScenarioError)
        problem = next(p for p in caught.exception.problems if p.path == "name")
        self.assertEqual((problem.file, problem.line, problem.column), ("<text>", 2, 7))
        self.assertTrue(problem.text.startswith("<text>:2:7: name: "), problem.text)
        self.assertIn(problem.text, str(caught.exception))
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual(again.problems, caught.exception.problems)
        with self.assertRaises(stepcast.ScenarioError) as caught:
            stepcast.forecast("telechat3-36b")
        self.assertIn("stepcast new --model telechat3-36b", str(caught.exception))

    def test_are_those_of_the_terminal(self):
        with self.assertRaises(stepcast.ScenarioError) as caught:
            stepcast.forecast(FLAGSHIP, parallel__tp=7)
        ran = subprocess.run([STEPCAST, "run", FLAGSHIP, "--set", "parallel.tp=7"], text=True, capture_output=True)
        self.assertEqual(ran.returncode, 2)
        self.assertEqual("--set parallel.tp=7: " + str(caught.exception) + "\n", ran.stderr)
        for name, meant in (("parallel_tp", "parallel.tp"), ("micro_batch", "training.micro_batch"),
                            ("cluster_node_devices", "cluster.node.devices")):
            with self.assertRaisesRegex(stepcast.ScenarioError, f"^{name}: .*did you mean {meant}[?]"):
                stepcast.forecast(FLAGSHIP, **{name: 4})
        with self.assertRaises(stepcast.ScenarioError) as caught:
            stepcast.forecast(FLAGSHIP, framework={"name": "x"})
        self.assertNotIn("--", str(caught.exception), "no options, which Python does not have")
        with self.assertRaisesRegex(stepcast.ScenarioError, "no-such-file.yaml"):
            stepcast.forecast("no-such-file.yaml")
        with self.assertRaisesRegex(stepcast.ScenarioError, "<dict>"):
            stepcast.forecast({"name": "x"})
        with self.assertRaisesRegex(stepcast.ScenarioError, "nosuch"):
            stepcast.operator("nosuch", cluster="clusters/ideal.yaml")

    def test_time_limit(self):
        with self.assertRaises(TimeoutError):
            stepcast.forecast(SLOW, timeout=0.001)
        self.assertGreater(stepcast.forecast(IDEAL).step_time_s, 0)

    def test_a_killed_worker_is_said_and_replaced(self):
        stepcast.forecast(IDEAL)
        process = _worker.current_worker()._process
        worker = _worker.current_worker()
        future = worker.submit(_worker.Request(["explain", str(SLOW)]))
        process.kill()
        with self.assertRaises(stepcast.WorkerDied):
            future.result(timeout=60)
        self.assertGreater(stepcast.forecast(IDEAL).step_time_s, 0)

    def test_another_version_is_refused_by_name(self):
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder) / "stepcast"
            other.write_text('#!/bin/sh\necho \'{"stepcast":{"worker":1,"version":"9.9.9"}}\'\nsleep 5\n')
            other.chmod(other.stat().st_mode | stat.S_IXUSR)
            ran = script("import stepcast; stepcast.forecast('a.yaml')", STEPCAST=str(other))
            self.assertIn(f"{other} is version 9.9.9, but this package is version {stepcast.__version__}", ran.stderr)
            ran = script("import stepcast; stepcast.forecast('a.yaml')", STEPCAST=folder)
            self.assertIn("which is no program", ran.stderr)
            ran = script("import stepcast; stepcast.forecast('a.yaml')", STEPCAST="", PATH=folder)
            self.assertIn("is version 9.9.9", ran.stderr)


class Processes(unittest.TestCase):
    def test_first_forecast_in_a_thread_that_ends(self):
        ran = script(f"""
            import threading, stepcast
            found = []
            def one(): found.append(stepcast.forecast({str(IDEAL)!r}).step_time_s)
            for _ in range(11):
                thread = threading.Thread(target=one); thread.start(); thread.join()
            assert len(found) == 11 and len(set(found)) == 1, found
            """)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_thread_pool(self):
        sizes = [1, 2] * 6
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(lambda n: stepcast.forecast(FLAGSHIP, training__micro_batch=n).to_json(), sizes))
        wanted = {n: command_line(FLAGSHIP, training__micro_batch=n) for n in set(sizes)}
        self.assertEqual(found, [wanted[n] for n in sizes])

    def test_after_fork(self):
        ran = script(f"""
            import os, stepcast
            from stepcast import _worker
            before = stepcast.forecast({str(IDEAL)!r}).step_time_s
            child = os.fork()
            if child == 0:
                same = stepcast.forecast({str(IDEAL)!r}).step_time_s == before
                other = _worker.current_worker()._process.pid
                os._exit(0 if same and other != 0 else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert stepcast.forecast({str(IDEAL)!r}).step_time_s == before
            """)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_interrupt(self):
        ran = script(f"""
            import os, signal, threading, time, stepcast
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
            stepcast.forecast({str(IDEAL)!r})
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            begin = time.monotonic()
            try:
                stepcast.forecast({str(SLOW)!r}).explain()
                raise SystemExit("not interrupted")
            except KeyboardInterrupt:
                pass
            assert stepcast.forecast({str(IDEAL)!r}).step_time_s > 0
            """)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_nothing_outlives_python(self):
        ran = script(f"""
            import os, stepcast
            from stepcast import _worker
            stepcast.forecast({str(IDEAL)!r})
            worker = _worker.current_worker()
            worker.submit(_worker.Request(["explain", {str(SLOW)!r}]))
            print(worker._process.pid, flush=True)
            os.kill(os.getpid(), 9)
            """)
        worker = pathlib.Path("/proc", ran.stdout.strip())
        for _ in range(600):
            try:
                if (worker / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                    return
            except (FileNotFoundError, ProcessLookupError):
                return
            time.sleep(0.1)
        self.fail("the worker lives on")


class Studies(unittest.TestCase):
    def rows(self, table):
        return table if isinstance(table, list) else table.to_dict("records")

    def test_sweep_is_the_command_line(self):
        seen = []
        grid = {"parallel.tp": [4, 7, 8], "training.micro_batch": [1, 2]}
        base = {"schedule.pipeline": ["1f1b"], "parallel.vpp": [1], "parallel.dp": ["auto"]}
        rows = self.rows(stepcast.sweep(FLAGSHIP, {**grid, **base},
                                        progress=lambda done, total: seen.append((done, total))))
        self.assertEqual([(r["parallel.tp"], r["training.micro_batch"]) for r in rows],
                         [(4, 1), (4, 2), (7, 1), (7, 2), (8, 1), (8, 2)])
        self.assertEqual(seen, [(n, 6) for n in range(1, 7)])
        for row in rows:
            if row["parallel.tp"] == 7:
                self.assertIn("parallel.tp", row["error"])
                continue
            alone = stepcast.forecast(FLAGSHIP, set={key: row[key] for key in (*grid, *base)})
            self.assertEqual((row["step_time_s"], row["error"]), (alone.step_time_s, ""))
        kept = self.rows(stepcast.sweep(FLAGSHIP, {"parallel.tp": [4, 8], "training.micro_batch": [1, 2],
                                        "parallel.dp": ["auto", "auto"]}, zip=True, keep=lambda found: found.scenario["parallel"]["tp"] == 8))
        self.assertEqual([r["training.micro_batch"] for r in kept], [2])
        with self.assertRaises(ValueError):
            stepcast.sweep(FLAGSHIP, {"parallel.tp": [4], "parallel.pp": [1, 2]}, zip=True)

    def test_tables_without_pandas(self):
        ran = script(f"""
            import sys
            sys.modules["pandas"] = None
            import stepcast
            found = stepcast.forecast({str(FLAGSHIP)!r})
            assert isinstance(found.breakdown, dict) and isinstance(found.stages, list)
            rows = stepcast.sweep({str(IDEAL)!r}, {{"parallel.pp": [4]}})
            assert isinstance(rows, list) and "<th>step_time_s</th>" in rows._repr_html_()
            """)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_tables_with_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("needs Debian's python3-pandas")
        found = stepcast.forecast(FLAGSHIP)
        self.assertIsInstance(found.stages, pandas.DataFrame)
        self.assertEqual(found.breakdown["bubble"], found.result["breakdown_s"]["bubble"])

    def test_scale(self):
        rows = self.rows(stepcast.scale(FLAGSHIP, [1024, 2048]))
        self.assertEqual([row["devices"] for row in rows], [1024, 2048])
        self.assertEqual(rows[0]["scaling_efficiency"], 1)
        self.assertEqual(rows, self.rows(stepcast.scale(FLAGSHIP, "1024..2048", set={})))
        published = stepcast.scale("gpt3-175b.yaml", [128, 256]).attrs["published"]
        self.assertEqual([point["devices"] for point in published[0]["points"]], [128, 256])

    def test_compare(self):
        before, after = stepcast.forecast(FLAGSHIP), stepcast.forecast(FLAGSHIP, training__micro_batch=2)
        found = stepcast.compare(before, after)
        self.assertEqual(found["before"]["step_time_s"], before.step_time_s)
        self.assertEqual(found["after"]["step_time_s"], after.step_time_s)

    def test_single_things(self):
        found = stepcast.collective("all_reduce", cluster="clusters/ideal.yaml", ranks=4, size="64MiB")
        self.assertEqual(found["bytes"], 64 * 2 ** 20)
        same = stepcast.collective("all_reduce", cluster="clusters/ideal.yaml", ranks=4, size=64 * 2 ** 20)
        self.assertEqual(found, same)
        product = stepcast.operator("matmul", cluster="clusters/dgx-h100.yaml", m=4096, k=4096, n=4096)
        self.assertEqual(product["flops"], 2 * 4096 ** 3)
        self.assertEqual(stepcast.schedule("1f1b", pp=2, micro_batches=4)["micro_batches"], 4)
        self.assertIn("parameters", stepcast.model("models/telechat3-36b.yaml"))
        searched = stepcast.plan(FLAGSHIP, top=1, parallel={"vpp": [2, 4], "dp": "auto"})
        self.assertEqual(searched["counts"]["points"], 2)

    def test_campaign(self):
        scenario = SCENARIOS / "what-if/telechat3-105b-campaign.yaml"
        found = stepcast.campaign(scenario, steps=20000, within="1d")
        self.assertIsInstance(found, stepcast.Campaign)
        self.assertAlmostEqual(sum(dict(found.parts).values()), found.wall_s, delta=1e-6 * found.wall_s)
        self.assertGreater(found.wall_s, 20000 * found.step_time_s * (1 - 1e-9))
        self.assertEqual(found.within, found["campaign"]["within"])
        self.assertEqual(self.rows(found.table), found["campaign"]["reached"])

    def test_choices(self):
        found = stepcast.choices(FLAGSHIP, {"parallel.tp": [4, 7], "schedule.pipeline": ["1f1b"]}, parallel__dp="auto")
        self.assertEqual(found.runs("parallel.tp"), ["4"])
        other_way = stepcast.choices(FLAGSHIP, {"parallel.tp": [4, 7], "schedule.pipeline": ["1f1b"]}, set={"parallel.dp": "auto"})
        self.assertEqual(found.to_dict(), other_way.to_dict())
        rows = self.rows(found.table)
        self.assertEqual([row["key"] for row in rows], ["parallel.tp", "parallel.tp", "schedule.pipeline"])
        self.assertIn("parallel.tp", rows[1]["reason"])

    def test_topology(self):
        found = stepcast.topology("clusters/atlas-800t-a2.yaml", devices=64)
        self.assertEqual((found.devices, found["nodes"]), (64, 8))
        self.assertEqual({row["link"] for row in self.rows(found.table)}, {row["link"] for row in found["links"]})
        self.assertEqual([row["locality"] for row in self.rows(found.routes)], ["node", "leaf", "spine"])

    def test_judge(self):
        found = stepcast.judge(FLAGSHIP, devices=16)
        self.assertTrue(found.agree)
        self.assertLess(found.apart, 1e-9)
        self.assertEqual(self.rows(found.table)[0]["ranks"], 16)

    def test_engine(self):
        small = {"cluster.fleet": "flawless", "cluster.devices": 16, "parallel.pp": 2, "parallel.dp": 1, "training.global_batch": 2}
        judged = stepcast.forecast(FLAGSHIP, set=small, engine="simgrid")
        self.assertEqual(judged.to_dict()["engine"]["solver"], "simgrid_reference")
        self.assertAlmostEqual(judged.step_time_s, stepcast.forecast(FLAGSHIP, set=small).step_time_s, delta=1e-8)

    def test_imports_are_scenarios(self):
        file, cluster = SOURCE / "tests/sim/import/data/msl_qwen3_32b.sh", "clusters/atlas-800t-a2.yaml"
        found = stepcast.import_launch(file, cluster=cluster, devices=1024)
        words = [STEPCAST, "import", file, "--cluster", cluster, "--devices", "1024"]
        self.assertEqual(found, subprocess.run(words, text=True, capture_output=True, check=True).stdout)
        self.assertGreater(stepcast.forecast(found).step_time_s, 0)
        with self.assertRaises(stepcast.ScenarioError):
            stepcast.import_launch(file, devices=7, cluster=cluster)

    def test_presets_and_frameworks(self):
        rows = self.rows(stepcast.frameworks())
        self.assertEqual({row["kind"] for row in rows}, {"frameworks"})
        self.assertIn("frameworks/mindspeed-2.3.yaml", [row["preset"] for row in rows])
        self.assertEqual(len(rows), len(list((SCENARIOS / "frameworks").glob("*.yaml"))))
        self.assertEqual({row["kind"] for row in self.rows(stepcast.presets())},
                         {"clusters", "models", "frameworks", "scenarios", "what-if", "plans"})
        named = stepcast.forecast(FLAGSHIP, framework="mindspeed-2.3")
        self.assertIn("communication.gradient.overlap", [row["key"] for row in self.rows(named.framework)])
        self.assertEqual(self.rows(stepcast.forecast(FLAGSHIP, framework="none").framework), [])

    def test_results_are_dicts_and_tables_of_notebooks(self):
        shown = [stepcast.topology("clusters/ideal.yaml"), stepcast.schedule("1f1b", pp=2, micro_batches=4),
                 stepcast.collective("all_reduce", cluster="clusters/ideal.yaml", ranks=4, size="64MiB"),
                 stepcast.operator("matmul", cluster="clusters/dgx-h100.yaml", m=64, k=64, n=64),
                 stepcast.model("models/telechat3-36b.yaml"), stepcast.compare(FLAGSHIP, stepcast.forecast(FLAGSHIP, training__micro_batch=2)),
                 stepcast.plan(FLAGSHIP, top=1, parallel={"vpp": [2, 4], "dp": "auto"}),
                 stepcast.choices(FLAGSHIP, {"parallel.tp": [4, 7]})]
        for found in shown:
            with self.subTest(type(found).__name__):
                self.assertIsInstance(found, stepcast.Result)
                self.assertEqual(found.to_dict(), json.loads(json.dumps(found)))
                page = ElementTree.fromstring(found._repr_html_())
                self.assertEqual(len(page.findall(".//tbody/tr")), len(self.rows(found.table)))
                self.assertIn(type(found).__name__, repr(found))
        self.assertEqual(shown[2].time_s, shown[2]["algorithms"][0]["time_s"])
        self.assertEqual(shown[4].parameters, shown[4]["parameters"]["total"])
        self.assertEqual(shown[6].settings["parallel.vpp"], shown[6]["best"][0]["settings"]["parallel.vpp"])


class House(unittest.TestCase):
    def test_version_is_that_of_the_program(self):
        shown = subprocess.run([STEPCAST, "--version"], text=True, capture_output=True, check=True).stdout
        self.assertEqual(shown.split()[1], stepcast.__version__)

    def test_everything_public_is_documented(self):
        page = (SOURCE / "docs" / "python.md").read_text(encoding="utf-8")
        for name in stepcast.__all__:
            if not name.startswith("__"):
                self.assertRegex(page, rf"\b{re.escape(name)}\b")
                self.assertTrue(getattr(stepcast, name).__doc__, name)

    def test_types(self):
        try:
            ran = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-incremental", str(SOURCE / "python" / "stepcast")],
                                 text=True, capture_output=True, timeout=120)
        except FileNotFoundError:
            self.skipTest("needs mypy")
        if "No module named mypy" in ran.stderr:
            self.skipTest("needs Debian's mypy")
        self.assertEqual(ran.returncode, 0, ran.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
