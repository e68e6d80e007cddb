"""scripts/check_fitted lets four numbers pass, two of few rows, and finds one more wherever it stands."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_fitted"
FITTED = "scenarios/clusters/fitted/"
NUMBER = "{}: {{value: 1, source: fitted, note: \"{}\"}}\n"


def of(rows, *names):
    return f"# 200 measured steps, {rows} of them fitted.\n" + "".join(NUMBER.format(n, "seen") for n in names)


def problems(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            file = pathlib.Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True)
        lines = done.stdout.splitlines()[:-1]
        assert done.returncode == (1 if lines else 0), done
        return lines


class CheckFitted(unittest.TestCase):
    def test_four_pass_and_a_dispatch_is_one(self):
        names = ["step_clock", "step_overhead", "blocking", "vector", "matmul", "communication"]
        self.assertEqual(problems({FITTED + "x.yaml": of(12, *names)}), [])

    def test_a_fifth_is_found(self):
        names = ["step_clock", "step_overhead", "blocking", "vector"]
        found = ["x: 5 numbers come from 12 steps, allowed: 4"]
        self.assertEqual(problems({FITTED + "x.yaml": of(12, *names, "peak")}), found)
        preset = "extends: fitted/x.yaml\n" + NUMBER.format("peak", "one") + NUMBER.format("other", "one")
        self.assertEqual(problems({FITTED + "x.yaml": of(12, *names), "scenarios/clusters/y.yaml": preset}), found)

    def test_few_rows_fit_two_and_software_counts_with_its_type(self):
        files = {FITTED + "x.yaml": of(7, "step_clock", "blocking"), FITTED + "x-old.yaml": of(4, "step_clock")}
        self.assertEqual(problems(files), ["x: 3 numbers come from 11 steps, allowed: 2"])

    def test_numbers_without_a_type_or_rows_are_found(self):
        files = {FITTED + "x.yaml": "step_clock: 1\n", "scenarios/clusters/y.yaml": NUMBER.format("peak", "one")}
        self.assertEqual(len(problems(files)), 2)


if __name__ == "__main__":
    unittest.main()
