"""scripts/pictures writes what a program says now, and --check finds each kind of stale or wrong figure."""
import json
import pathlib
import stat
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "pictures"
# Says `step` of its scenario in every form that the script reads.
PROGRAM = """#!/bin/sh
step=$(cat "$2")
case "$*" in *refused*) echo "nothing is feasible" >&2; exit 2;; *broken*) echo "cannot" >&2; exit 3;; esac
echo "step time $step s"
while [ $# -gt 0 ]; do
  case $1 in
  --json) printf '{"result": {"step_time_s": %s, "stages": [{"memory": 1610612736}]}}' "$step" >"$2";;
  --svg) echo "<svg>$step</svg>" >"$2";;
  --report) echo "<script type=\\"application/json\\" id=\\"data\\">$step</script>" >"$2";;
  esac
  shift
done
"""
SHOT = '#!/bin/sh\ncp "$1" "$2"\n'
FIGURES = """
page.md:
  runs: {one: run one.txt}
  let: {twice: "lambda run: 2 * run.result.step_time_s"}
  figures:
    step: one.result.step_time_s | time
    double: "twice(one) | {:.2f}"
    memory: "one.result.stages[0].memory | size"
  blocks:
    text: "lines(one.text, 'step', 1)"
    refused: one('refused=1').refusal
    typed: "one.command + '\\\\n' + one.printed"
  slow_figures: {late: "one('x=1').result.step_time_s | time"}
pictures:
  drawing.svg: explain one.txt --svg $out
  shot.png: {page: run one.txt --report $out, scheme: light}
"""
PAGE = """The step takes <!--=step-->?<!--/-->, twice <!--=double-->?<!--/-->, in <!--=memory-->?<!--/-->; late <!--=late-->never<!--/-->.
<!-- figures: text -->
<!-- end of figures -->
<!-- figures: refused -->
<!-- end of figures -->
<!-- figures: typed -->
<!-- end of figures -->
"""
WRITTEN = """The step takes <!--=step-->250 ms<!--/-->, twice <!--=double-->0.50<!--/-->, in <!--=memory-->1.50 GiB<!--/-->; late <!--=late-->never<!--/-->.
<!-- figures: text -->
```
step time 0.25 s
```
<!-- end of figures -->
<!-- figures: refused -->
```
nothing is feasible
```
<!-- end of figures -->
<!-- figures: typed -->
```
stepcast run one.txt
step time 0.25 s
```
<!-- end of figures -->
"""


class Pictures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in (("one.txt", "0.25"), ("page.md", PAGE), ("docs/figures.yaml", FIGURES), ("binary", PROGRAM),
                           ("scripts/picture_of_page", SHOT), ("docs/pictures/keep", "")):
            self.write(name, text)
        for name in ("binary", "scripts/picture_of_page"):
            (self.root / name).chmod(stat.S_IRWXU)

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def read(self, name):
        return (self.root / name).read_text(encoding="utf-8")

    def run_script(self, *options):
        done = subprocess.run([SCRIPT, "--root", self.root, "--binary", self.root / "binary", *options],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def expect_wrong(self, part, *options):
        code, text = self.run_script("--check", *options)
        self.assertEqual(code, 2, text)
        self.assertIn(part, text)

    def test_writes_and_then_agrees(self):
        self.assertEqual(self.run_script()[0], 0)
        self.assertEqual(self.read("page.md"), WRITTEN)
        self.assertEqual(self.read("drawing.svg"), "<svg>0.25</svg>\n")
        self.assertEqual(list(json.loads(self.read("docs/pictures/sources.json"))), ["shot.png"])
        self.assertEqual(self.run_script("--check"), (0, ""))

    def test_check_finds_everything_that_an_older_program_said(self):
        self.run_script()
        self.write("one.txt", "0.26")
        code, text = self.run_script("--check")
        self.assertEqual(code, 1)
        for part in ("<!--=step-->260 ms", "+step time 0.26 s", "drawing.svg: shows", "shot.png: shows", "3 files are stale"):
            self.assertIn(part, text)
        self.assertEqual(self.read("page.md"), WRITTEN)

    def test_slow_figures_are_left_alone_unless_asked_for(self):
        self.run_script()
        code, text = self.run_script("--check", "--slow")
        self.assertEqual(code, 1)
        self.assertIn("late <!--=late-->250 ms", text)

    def test_only_the_named_files(self):
        self.assertEqual(self.run_script("drawing.svg")[0], 0)
        self.assertEqual(self.read("page.md"), PAGE)
        self.expect_wrong("does not have other.md", "other.md")

    def test_a_mark_without_a_definition(self):
        self.write("page.md", PAGE + "<!--=unknown-->1<!--/-->\n")
        self.expect_wrong("the figure 'unknown' is not in docs/figures.yaml")

    def test_a_definition_without_a_mark(self):
        self.write("page.md", PAGE.replace("<!--=double-->?<!--/-->", ""))
        self.expect_wrong("has no figure 'double'")

    def test_a_page_with_marks_that_is_not_listed(self):
        self.write("docs/other.md", "<!--=step-->1<!--/-->\n")
        self.expect_wrong("docs/other.md: has marks")

    def test_a_field_that_is_not_there(self):
        self.write("docs/figures.yaml", FIGURES.replace("one.result.step_time_s | time\n    double", "one.result.mfu | time\n    double"))
        self.expect_wrong("step: has no field 'mfu'")

    def test_a_command_that_fails_leaves_the_other_pages_checked(self):
        self.write("docs/figures.yaml", FIGURES.replace("run one.txt}\n  let", "run one.txt broken}\n  let"))
        code, text = self.run_script("--check")
        self.assertEqual(code, 2)
        self.assertIn("exit code 3: cannot", text)
        self.assertIn("drawing.svg: shows", text)

    def test_a_run_that_is_not_refused(self):
        self.write("docs/figures.yaml", FIGURES.replace("refused=1", "accepted=1"))
        self.expect_wrong("should be refused with 2")


if __name__ == "__main__":
    unittest.main()
