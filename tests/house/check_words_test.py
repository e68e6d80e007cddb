"""scripts/check_words counts long sentences and idioms in prose alone, and its limits can only fall."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_words"
LOADER = importlib.machinery.SourceFileLoader("check_words", str(SCRIPT))
WORDS = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_words", LOADER))
LOADER.exec_module(WORDS)
LONG = "A page says " + "more " * 44 + "words.\n"
SHORT = "A page says few words. The `key` is read. See [another one](of-it.md) for more.\n"
LIMITS = "page,long,idioms\n"


def checked(page, limits=LIMITS, *options):
    """Exit code, lines but the last, and the limits afterwards, with `page` as the one page."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {"docs/a.md": page, "tests/house/words.csv": limits}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = WORDS.main([*options, "--root", folder])
        return code, said.getvalue().splitlines()[:-1], (root / "tests/house/words.csv").read_text(encoding="utf-8")


class CheckWords(unittest.TestCase):
    def test_short_sentences_pass(self):
        self.assertEqual(checked(SHORT)[:2], (0, []))

    def test_long_sentences_and_idioms_are_found(self):
        found = "docs/a.md: has 1 sentences above 45 words, allowed: 0; scripts/check_words --show docs/a.md"
        self.assertEqual(checked(SHORT + LONG)[:2], (1, [found]))
        found = "docs/a.md: has 2 idioms of the house, allowed: 0; scripts/check_words --show docs/a.md"
        self.assertEqual(checked("It is told by the\nscript. No row is due.\n")[:2], (1, [found]))

    def test_tables_code_headings_and_comments_are_not_counted(self):
        for page in (f"```\n{LONG}```\n", f"\n    {LONG}", f"| {LONG.strip()} |\n", f"# {LONG}", f"<!-- {LONG.strip()} -->\n", "`told by`\n", "`a`, " * 50 + "and `b`.\n",
                     "".join(f"- {word}\n" for word in LONG.split())):
            self.assertEqual(checked(page)[:2], (0, []), page)

    def test_sentences_end_where_readers_see_an_end(self):
        half = "It takes " + "more " * 21 + "words"
        for end in (". `key` says: ", "! ", "?) (", ".\n\n", ".** "):
            self.assertEqual(checked(half + end + half + ".\n")[:2], (0, []), end)
        for go_on in ("; ", ", 1.5 times ", ", e.g. A ", ": "):
            self.assertEqual(len(checked(half + go_on + half + ".\n")[1]), 1, go_on)

    def test_an_average_is_that_of_a_page(self):
        many = ("A page says " + "more " * 20 + "words.\n") * 5
        self.assertEqual(checked(many)[:2], (1, ["docs/a.md: has 24.0 words a sentence, allowed: 20"]))
        self.assertEqual(checked(many + SHORT * 5)[0], 0)

    def test_limits_can_only_fall(self):
        page, high = LONG + "None of it.\n", LIMITS + "docs/a.md,3,1\n"
        self.assertEqual(checked(page, high)[:2], (0, []))
        self.assertEqual(checked(page, high, "--lower"), (0, [], LIMITS + "docs/a.md,1,1\n"))
        self.assertEqual(checked(SHORT, high, "--lower"), (0, [], LIMITS))
        code, found, limits = checked(page, LIMITS + "docs/a.md,0,1\n", "--lower")
        self.assertEqual((code, len(found), limits), (1, 1, LIMITS + "docs/a.md,0,1\n"))

    def test_messages_of_the_program_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "sim/a.cpp"
            source.parent.mkdir()
            source.write_text('// "is told by the file"\nfail("is told "\n     "by the file");\nf("model.a model.b model.of_it " + key);\n', encoding="utf-8")
            self.assertEqual(WORDS.messages(source.parents[1]), "is told by the file.")
            self.assertEqual(WORDS.counted(WORDS.messages(source.parents[1]))["idioms"], 1)

    def test_pages_that_are_gone_are_found(self):
        gone = LIMITS + "docs/b.md,1,0\n"
        self.assertEqual(checked(SHORT, gone)[:2], (1, ["tests/house/words.csv: docs/b.md is no page"]))
        self.assertEqual(checked(SHORT, gone, "--lower"), (0, [], LIMITS))


if __name__ == "__main__":
    unittest.main()
