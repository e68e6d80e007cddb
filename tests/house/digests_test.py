#!/usr/bin/env python3
"""What `scripts/digests` looks at, and what it refuses: `digests_test.py`."""
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "digests"
loader = importlib.machinery.SourceFileLoader("digests", str(SCRIPT))
digests = importlib.util.module_from_spec(importlib.util.spec_from_loader("digests", loader))
sys.dont_write_bytecode = True
loader.exec_module(digests)


def answer(inputs=(), step=2.0, exposed=0.5, tokens=10.0):
    whole = {"scenario": {"sha256": repr(inputs), "inputs": dict(inputs)}, "assumptions": list(inputs),
             "result": {"step_time_s": step, "tokens_per_s": tokens, "breakdown_s": {"computing": 1.5, "communication_exposed": exposed},
                        "stages": [{"memory_bytes": {"peak": 7.0}}, {"memory_bytes": {"peak": 9.0}}]},
             "engine": {"tasks": len(inputs)}}
    return {"state": "done", "code": 0, "output": json.dumps(whole), "complaint": ""}


class Outcome(unittest.TestCase):
    def test_a_new_key_with_a_neutral_default_changes_no_row(self):
        self.assertEqual(digests.outcome(answer()), digests.outcome(answer({"runtime.new": 0}.items())))

    def test_each_figure_has_its_column(self):
        self.assertEqual(digests.outcome(answer())[:7], ["0", "2", "1.5", "0.5", "", "", "9"])

    def test_what_has_no_column_is_in_the_rest(self):
        was, now = digests.outcome(answer()), digests.outcome(answer(tokens=11.0))
        self.assertEqual(was[:-1], now[:-1])
        self.assertNotEqual(was[-1], now[-1])

    def test_the_tenth_digit_changes_nothing_and_the_eighth_does(self):
        self.assertEqual(digests.outcome(answer()), digests.outcome(answer(tokens=10.00000000001)))
        self.assertNotEqual(digests.outcome(answer()), digests.outcome(answer(step=2.0000001)))

    def test_places_in_refusals_are_left_out(self):
        def refused(text):
            return digests.outcome({"state": "done", "code": 2, "output": "", "complaint": text})
        self.assertEqual(refused("a/b.yaml:3:4: key: is wrong"), refused("c.yaml:9:1: key: is wrong"))
        self.assertNotEqual(refused("c.yaml:9:1: key: is wrong"), refused("c.yaml:9:1: key: is worse"))


class Moves(unittest.TestCase):
    def test_are_told_by_cause(self):
        old = [["a", "moe.overlap=x", *digests.outcome(answer())], ["b", "", *digests.outcome(answer())]]
        new = [["a", "moe.overlap=x", *digests.outcome(answer(step=3.0))], ["b", "", *digests.outcome(answer(tokens=1.0))]]
        lines = digests.table_of_moves(old, new)
        self.assertRegex(lines[1], r"^moe\.overlap +1 +1 +0  1\.5000, 1\.5000$")
        self.assertRegex(lines[2], r"^scenarios +1 +0 +1")
        self.assertEqual(lines[-1], "2 rows, 1 moved, 1 in the rest only, 0 new, 0 gone")


class Refusals(unittest.TestCase):
    def test_a_missing_tree_is_a_sentence(self):
        done = subprocess.run([SCRIPT, "--binary", "nowhere/stepcast"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        self.assertIn("there is no nowhere/stepcast; scripts/build release stepcast makes it", done.stderr)


if __name__ == "__main__":
    unittest.main()
