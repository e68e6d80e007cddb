"""scripts/mutate changes what it says, draws what the seed says, and leaves texts and promises alone."""
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
import mutations

loader = importlib.machinery.SourceFileLoader("mutate", str(ROOT / "scripts" / "mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
sys.modules["mutate"] = mutate
loader.exec_module(mutate)


def changed(code):
    """All lines that a line may become."""
    return {code[:start] + new + code[end:] for start, end, new, _ in mutations.line_changes(mutations.masked(code))}


class Mutate(unittest.TestCase):
    def test_kinds_of_changes(self):
        self.assertEqual(changed("return 2 * a;"), {"return 3 * a;", "return 1 * a;", "return 2 / a;", "return 2;"})
        self.assertEqual(changed("x = a - b;"), {"x = a + b;", "x = a;"})
        self.assertEqual(changed("if (a <= b) n += 0.5;"), {"if (a < b) n += 0.5;", "if (a <= b) n -= 0.5;",
                                                           "if (a <= b) n += 1.0;"})
        self.assertEqual(changed("std::min(a, std::max(b, c))"), {"std::max(a, std::max(b, c))",
                                                                 "std::min(a, std::min(b, c))"})
        self.assertEqual(changed("f(a + g.h(i)[j], k)"), {"f(a - g.h(i)[j], k)", "f(a, k)"})

    def test_texts_types_and_promises_stay(self):
        for code in ['log("a - b < 2");', "// 1 + 2", "vector<int>& v", "expects(n > 0, \"there is one\");",
                     "static_assert(size == 4);", "#define A 1", "x.reserve(2 * n);", "constexpr Range r = between(0, 1);",
                     '"a" + text', 'text + "b"', "c = '+';", "uint32_t n;"]:
            self.assertEqual(changed(code), set(), code)

    def test_descriptions_stay(self):
        code = mutations.without_descriptions(mutations.masked("v.field({\"k\", &k, f(1),\n  between(1, 9)});\nn = 2;"))
        self.assertEqual(code.count("\n"), 2)
        self.assertNotIn("9", code)
        self.assertIn("n = 2;", code)

    def test_draws_follow_the_seed_and_take_files_in_turns(self):
        def first(seed, count):
            draws = mutations.drawn("topology", seed)
            return [next(draws) for _ in range(count)]
        self.assertEqual(first(1, 20), first(1, 20))
        self.assertNotEqual(first(1, 20), first(2, 20))
        self.assertEqual(len({change.file for change in first(1, 6)}), 6)
        every = list(mutations.drawn("topology", 1))
        self.assertEqual(len({(c.file, c.line) for c in every}), len(every))

    def test_every_room_has_enough_and_its_own_tests(self):
        for room, (folder, programs) in mutations.ROOMS.items():
            self.assertGreaterEqual(len(list(zip(range(100), mutations.drawn(room, 1)))), 50, room)
            listed = (ROOT / "tests" / folder / "CMakeLists.txt").read_text(encoding="utf-8")
            self.assertIn(f"stepcast_test({programs[0]}\n", listed)

    def test_lists_are_of_this_tree(self):
        lists = json.loads(mutations.LISTS.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(list(mutations.known_changes(lists["known"]))), 4)
        self.assertLessEqual(len(lists["equivalent"]), mutate.MOST_EQUIVALENT)
        for entry in lists["equivalent"]:
            lines = [" ".join(line.split()) for line in (ROOT / entry["file"]).read_text(encoding="utf-8").split("\n")]
            self.assertIn(entry["before"], lines)
            self.assertTrue(entry["reason"])

    def test_an_unknown_room_is_refused(self):
        done = subprocess.run([sys.executable, ROOT / "scripts" / "mutate", "--rooms", "attic"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("allowed: base, topology", done.stderr)


if __name__ == "__main__":
    unittest.main()
