#!/usr/bin/python3
"""Opens report pages in headless Chromium: no console error, charts hold the data, filters and keys work.

Usage: page_test.py STEPCAST SCENARIOS. Exits 77 (skipped) where Chromium or selenium is missing.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

STEPCAST, SCENARIOS = sys.argv[1:3]
MOST_BYTES = 3_000_000

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.keys import Keys
except ImportError:
    print("page_test: skipped, needs Debian's python3-selenium")
    sys.exit(77)
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not CHROMIUM or not DRIVER:
    print("page_test: skipped, needs Debian's chromium and chromium-driver")
    sys.exit(77)


def browser():
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1300,900", "--host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(argument)
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.driver = browser()

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.folder.cleanup()

    def report(self, arguments):
        page = os.path.join(self.folder.name, "page.html")
        subprocess.run([STEPCAST, *arguments, "--report", page], check=True, capture_output=True)
        self.assertLess(os.path.getsize(page), MOST_BYTES)
        self.driver.get("file://" + page)
        self.data = json.loads(self.js("return document.getElementById('data').textContent"))

    def js(self, code):
        return self.driver.execute_script(code)

    def count(self, selector):
        return self.js(f"return document.querySelectorAll('{selector}').length")

    def assert_no_complaints(self):
        self.assertEqual(self.driver.get_log("browser"), [])

    def test_run_of_4096_devices(self):
        self.report(["run", os.path.join(SCENARIOS, "telechat3-105b-4096.yaml")])
        data = self.data
        exposed = {kind for stage in data["stages"] for kind, time in stage["exposed"].items() if time > 0}
        other = {part for stage in data["stages"] for part, time in stage["parts"].items() if time > 0} - {"exposed"}
        self.assertIn("expert", exposed)
        self.assertEqual(self.count("rect.part"), len(exposed | other) * len(data["stages"]))
        widths = self.js("const w = {}; document.querySelectorAll('rect.part').forEach(r => {"
                         "w[r.getAttribute('y')] = (w[r.getAttribute('y')] || 0) + Number(r.getAttribute('width')); }); return Object.values(w)")
        self.assertLess(max(widths) - min(widths), 0.01 * max(widths), "the parts of each stage add up to the step")
        self.assertEqual(self.count("rect.memory"), 5 * (len(data["stages"]) - 1))
        self.assertEqual(self.count("rect.heat"), sum(len(l["share"]) for l in data["links"]))
        self.assertEqual(self.count("rect.path"), len(data["path"]["spans"]))
        self.assertEqual(self.count("path.moment"), len(data["memory_over_time"]))
        self.assertEqual(self.count("nav a"), self.count("section"))
        self.assertEqual({stage for link in data["links"] if link["kind"] == "nic_up" for stage in link["stages"]},
                         set(range(len(data["stages"]) - 1)), "each stage has its ports")
        for stage in data["stages"]:
            self.assertAlmostEqual(sum(stage["parts"].values()), data["step_time"], delta=1e-6)
        self.assertEqual(self.js("return document.querySelectorAll('[src], link[href^=http]').length"), 0)
        self.assert_no_complaints()

    def test_keys_zoom_the_timeline(self):
        self.report(["run", os.path.join(SCENARIOS, "ideal-pipeline.yaml")])
        canvas = self.driver.find_element("id", "gantt")
        pixels = "return document.getElementById('gantt').toDataURL()"
        whole = self.js(pixels)
        canvas.send_keys("+")
        self.driver.implicitly_wait(1)
        zoomed = self.js(pixels)
        self.assertNotEqual(whole, zoomed)
        canvas.send_keys(Keys.ARROW_RIGHT)
        self.assertNotEqual(zoomed, self.js(pixels))
        canvas.send_keys("0")
        self.assertEqual(whole, self.js(pixels))
        self.assert_no_complaints()

    def test_thousands_of_waits_that_no_pixel_shows_leave_units_their_colour(self):
        self.report(["run", os.path.join(SCENARIOS, "ideal-pipeline.yaml")])
        red = """const draw = waits => {
          const node = document.createElement('canvas');
          node.style = 'display: block; width: 600px';
          document.body.append(node);
          timelineOn(node, () => {}, () => {})({ end: 1, rows: [{ name: '', units: [0, 1, 0, 0, 0], waits }] });
          const row = node.getContext('2d').getImageData(node.width / 2, 26, node.width / 4, 20).data;
          return row.reduce((sum, value, i) => sum + (i % 4 ? 0 : value), 0) / (row.length / 4);
        };
        const tiny = [];
        for (let i = 0; i < 4000; ++i) tiny.push(i / 4000, i / 4000 + 1e-9, 2);
        return [draw([]), draw(tiny), draw([0, 1, 2])]"""
        plain, tiny, whole = self.js(red)
        self.assertGreater(abs(whole - plain), 20, "a long wait has its own colour")
        self.assertLess(abs(tiny - plain), abs(whole - plain) / 20)
        self.assert_no_complaints()

    def test_assumptions_filter(self):
        self.report(["run", os.path.join(SCENARIOS, "telechat3-36b-2048.yaml")])
        rows = lambda: self.count("#numbers tr") - 1
        sources = [a["source"] for a in self.data["assumptions"]]
        self.assertEqual(rows(), sources.count("assumed"))
        self.js("const s = document.getElementById('source'); s.value = 'all'; s.dispatchEvent(new Event('change'))")
        self.assertEqual(rows(), len(sources))
        self.assert_no_complaints()

    def test_points_of_a_sweep_filter_and_sort(self):
        self.report(["sweep", os.path.join(SCENARIOS, "scaling", "telechat3-105b.yaml")])
        shown = lambda: self.count("#points tbody tr")
        points = len(self.data["rows"])
        self.assertEqual(shown(), min(points, 50))
        column = self.data["columns"].index("step_time_s")
        times = sorted(row[column] for row in self.data["rows"])
        limit = (times[0] + times[-1]) / 2
        self.js(f"const f = document.getElementById('filter'); f.value = 'step_time_s < {limit}'; f.dispatchEvent(new Event('input'))")
        fast = [row for row in self.data["rows"] if row[column] < limit]
        self.assertTrue(0 < len(fast) < points)
        self.assertEqual(shown(), min(len(fast), 50))
        self.js("const f = document.getElementById('filter'); f.value = ''; f.dispatchEvent(new Event('input'))")
        head = f"document.querySelectorAll('#points th button')[{column}]"
        first = f"return document.querySelectorAll('#points tbody tr')[0].cells[{column}].textContent"
        self.assertRegex(self.js(first), r"^[0-9.]+ m?s$")
        self.js(f"{head}.click()")
        least = self.js(first)
        self.js(f"{head}.click()")
        self.assertNotEqual(least, self.js(first))
        self.assert_no_complaints()

    def test_frontier_of_a_plan(self):
        self.report(["plan", os.path.join(SCENARIOS, "plans", "telechat3-105b-4096.yaml"), "--top", "4",
                     "--set", "parallel.vpp=[2, 4]", "--set", "training.recompute=[none, full]"])
        points = self.data["points"]
        drawn = [p for p in points if p["time"] <= self.data["slowest_shown"]]
        best = [p for p in drawn if p["beaten_by"] < 0]
        self.assertTrue(1 < len(best) < len(drawn))
        self.assertEqual(self.count("circle.best"), len(best))
        self.assertEqual(self.count("circle.beaten"), len(drawn) - len(best))
        for p in points:
            if p["beaten_by"] >= 0:
                other = points[p["beaten_by"]]
                self.assertTrue(other["time"] <= p["time"] and other["memory"] <= p["memory"])
                self.assertIn("slower", p["because"])
        self.js("document.querySelector('circle.beaten').focus()")
        self.assertIn("loses to", self.driver.find_element("id", "said").text)
        self.js("document.querySelector('circle.best').focus()")
        self.assertIn("on the frontier", self.driver.find_element("id", "said").text)
        comparison = self.data["comparison"]
        seen = [v for v in comparison["parts"].values() if abs(v) >= 5e-4]
        self.assertEqual(self.count("rect.difference"), len(seen) + 1)
        self.assertAlmostEqual(sum(comparison["parts"].values()), comparison["difference"], delta=1e-9)
        self.assertEqual(self.count("#rows tbody tr"), min(len(points), 50))
        self.assertEqual(self.count("#reasons tr"), len(self.data["counts"]))
        self.assertEqual(self.count("nav a"), self.count("section"))
        self.assert_no_complaints()

    def test_finalists_of_a_plan(self):
        plan = os.path.join(self.folder.name, "plan.yaml")
        with open(plan, "w") as file:
            file.write("stepcast: 1\nname: jittered\ncluster: {extends: clusters/atlas-800t-a2.yaml, devices: 16}\n"
                       "model: {extends: models/llama2-7b.yaml, layers: 4}\n"
                       "parallel: {tp: [2, 8], pp: [1, 2], zero: [1], sequence_parallel: [true]}\n"
                       "training: {sequence: 2048, global_batch: 16, micro_batch: 1, recompute: full}\n"
                       "runtime: {dispatch: graph_sink}\nstalls: {compute_jitter: {sigma: 0.1, seed: 3}}\n"
                       "plan: {top: 4, placements: 0, seeds: 5, quantile: 0.8, finalists: 3}\n")
        self.report(["plan", plan, "--json", os.path.join(self.folder.name, "plan.json")])
        with open(os.path.join(self.folder.name, "plan.json")) as file:
            finalists = json.load(file)["finalists"]
        shown = self.data["finalists"]
        self.assertEqual([p["decides"] for p in shown["points"]], [p["quantile_s"] for p in finalists])
        self.assertEqual([p["p50"] for p in shown["points"]], [p["p50_s"] for p in finalists])
        self.assertEqual(shown["interval"], finalists[0]["interval_s"])
        inside = [shown["interval"][0] <= p["p50_s"] <= shown["interval"][1] for p in finalists[1:]]
        self.assertEqual(shown["within"], sum(inside))
        self.assertEqual(self.count("rect.finalist"), len(finalists))
        self.assertEqual(self.count("#finalist-table tr"), len(finalists) + 1)
        self.assertIn("under stalls", self.driver.find_element("tag name", "header").text)
        self.assert_no_complaints()

    def test_long_tables_have_pages(self):
        self.report(["sweep", os.path.join(SCENARIOS, "scaling", "telechat3-105b.yaml")])
        self.js("data.rows = Array.from({length: 260}, (_, i) => data.rows[i % data.rows.length].map((v, k) => data.columns[k] === 'step_time_s' ? (i * 7) % 260 : v));"
                "main.html(''); points()")
        column = self.data["columns"].index("step_time_s")
        times = f"return [...document.querySelectorAll('#rows tbody tr')].map(r => Number(r.cells[{column}].dataset.value))"
        self.assertEqual(self.js(times), list(range(50)), "the fastest come first")
        button = "[...document.querySelectorAll('#pager button')].find(b => b.textContent === '%s').click()"
        self.js(button % "Next")
        self.assertEqual(self.js(times), list(range(50, 100)))
        self.js(button % "Last")
        self.assertEqual(self.js(times), list(range(250, 260)))
        self.assertEqual(self.js("return whole.points().length"), 261, "a download has all rows")
        self.assert_no_complaints()

    def test_studies(self):
        flagship, check = os.path.join(SCENARIOS, "telechat3-36b-2048.yaml"), os.path.join(SCENARIOS, "regression", "1f1b.yaml")
        self.report(["compare", flagship, "--set", "parallel.tp=4; parallel.dp=auto", "--set", "training.recompute=full"])
        answer = self.data["answer"]
        self.assertEqual(self.count("#side-table tr"), 4)
        self.assertEqual(self.count("#sides svg"), 3)
        parts = {part for side in answer["sides"] for part, time in side["parts_s"].items() if time > 0}
        self.assertEqual(self.count("rect.part"), 3 * len(parts))
        self.assertEqual(self.count("#inputs tr"), len(answer["inputs_shown"]) + 1)
        self.assert_no_complaints()
        self.report(["check", check])
        self.assertEqual(self.count("#passed-values tr"), len(self.data["answer"]["checks"][0]["values"]) + 1)
        self.assert_no_complaints()
        self.report(["explain", os.path.join(SCENARIOS, "ideal-pipeline.yaml")])
        self.assertEqual(self.count("#elasticities tr"), len(self.data["answer"]["elasticities"]) + 1)
        self.assertEqual(self.count("#bounds svg"), 1)
        self.assert_no_complaints()

    def test_a_profile(self):
        flagship, profile = os.path.join(SCENARIOS, "telechat3-36b-2048.yaml"), os.path.join(self.folder.name, "kernel_details.csv")
        subprocess.run([STEPCAST, "run", flagship, "--kernel-details", profile], check=True, capture_output=True)
        self.report(["compare", flagship, profile])
        self.assertIn("No cause: the two are alike", self.driver.find_element("id", "causes").text)
        self.assertEqual(self.count("#causes table"), 0)
        self.report(["compare", flagship, profile, "--set", "cluster.device.matmul_peak=280TFLOPS"])
        answer = self.data["answer"]
        large = [c for c in answer["causes"] if abs(c["change_s"]) >= 1e-4 * answer["forecast"]["step_s"]]
        self.assertTrue(0 < len(large) < len(answer["causes"]))
        self.assertIn(self.count("#causes-table tr") - 1, (len(large), len(large) + 1))
        self.assert_no_complaints()

    def phone(self, look):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
        try:
            look()
        finally:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_phone_and_downloads(self):
        def look():
            for arguments in (["run", "telechat3-105b-4096.yaml"], ["compare", "telechat3-36b-2048.yaml", "--set", "parallel.vpp=1; schedule.pipeline=1f1b"]):
                self.report([arguments[0], os.path.join(SCENARIOS, arguments[1]), *arguments[2:]])
                self.assertLessEqual(self.js("return document.documentElement.scrollWidth"), 390)
                small = self.js("return [...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().height > 0 && t.getBoundingClientRect().height < 11)"
                                ".map(t => t.textContent)")
                self.assertEqual(small, [], "text keeps its size")
            self.assert_no_complaints()
        self.phone(look)
        self.report(["run", os.path.join(SCENARIOS, "telechat3-36b-2048.yaml")])
        charts = self.count("main svg.chart") + self.count("main canvas") + self.count("main table")
        self.assertEqual(self.count(".downloads button"), charts)
        self.js("window.saved = []; save = (name, blob) => saved.push([name, blob.size])")
        self.js("document.querySelectorAll('.downloads button').forEach(b => b.click())")
        for _ in range(100):
            if self.js("return saved.length") == charts:
                break
            time.sleep(0.1)
        self.assertEqual(self.js("return saved.filter(s => s[1] > 20).length"), charts)
        self.assert_no_complaints()

    def test_twelve_parts_have_twelve_colours(self):
        self.report(["run", os.path.join(SCENARIOS, "ideal-pipeline.yaml")])
        for _ in range(2):
            colours = self.js("return colouredParts.map(p => colour(p[0]))")
            self.assertEqual(len(set(colours)), 12)
            ratios = self.js("""const light = c => { const v = [1, 3, 5].map(i => parseInt(c.slice(i, i + 2), 16) / 255).map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
                return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; }; const paper = light(colour('paper'));
                return colouredParts.map(p => { const a = light(colour(p[0])); return (Math.max(a, paper) + 0.05) / (Math.min(a, paper) + 0.05); })""")
            self.assertGreaterEqual(min(ratios), 3)
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def test_resolved_scenario_runs(self):
        self.report(["run", os.path.join(SCENARIOS, "telechat3-36b-2048.yaml")])
        again = subprocess.run([STEPCAST, "run", "-", "--json", "-"], input=self.data["resolved"],
                               text=True, check=True, capture_output=True)
        self.assertEqual(json.loads(again.stdout)["result"]["step_time_s"] > 0, True)
        self.assertAlmostEqual(json.loads(again.stdout)["result"]["step_time_s"],
                               self.data["step_time"], delta=1e-9 * self.data["step_time"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
