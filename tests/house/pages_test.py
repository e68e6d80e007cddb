"""The pages of the documentation: docs/README.md lists all of them, their links lead somewhere, files that they name exist,
the CHANGELOG is short,
and they use one word per thing, as the comments of the headers do: none of the last column of docs/glossary.md.
"""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHANGELOG = ROOT / "CHANGELOG.md"
MOST_OF_AN_ENTRY = 400  # characters: a user reads it, the log of the ledger has the rest
GLOSSARY = ROOT / "docs" / "glossary.md"
INDEX = ROOT / "docs" / "README.md"
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)|https?://\S+", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?:\]\(|src=\"|srcset=\")([^)\s\"]+)")
PATH = re.compile(r"`((?:base|cmake|docs|include|scenarios|scheduler|scripts|sim|tests|topology|workloads)/[\w./{},*-]*)`")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
COMMENT = re.compile(r"//+(.*)$", re.MULTILINE)


def rivals(text):
    """Word that is not used -> the one that is."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and cells[2] not in ("", "not", "---"):
            found.update({rival.strip(): cells[0] for rival in cells[2].split(",")})
    return found


def blanked(match):
    """The same number of lines without the text."""
    return "\n" * match[0].count("\n")


def prose(path, text):
    """Line number -> what is read as a sentence there."""
    if path.suffix == ".md":
        return enumerate(CODE.sub(blanked, text).splitlines(), 1)
    return ((i, " ".join(COMMENT.findall(line))) for i, line in enumerate(text.splitlines(), 1))


def findings(path, text, words):
    pattern = re.compile(r"\b(" + "|".join(sorted(map(re.escape, words), key=len, reverse=True)) + r")(?:s\b|\b)", re.IGNORECASE)
    for line, sentence in prose(path, text):
        for match in pattern.finditer(sentence):
            yield f"{path}:{line}: says '{match[1]}', the word is '{words[match[1].lower()]}'"


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def files():
    return [path for path in pages() if path != GLOSSARY] + sorted((ROOT / "include").rglob("*.hpp"))


def links(page):
    """Files, and anchors in them, that a page links to in this tree."""
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if "://" not in target:
            file, _, anchor = target.partition("#")
            yield target, (page.parent / file).resolve() if file else page, anchor


def anchors(page):
    """What GitHub makes of the headings of a page."""
    headings = HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def paths(page):
    """Files and folders of this tree that a page names, `{a,b}` once for each. Some sources have folders of the same
    names, such as MindSpeed-LLM's `tests/test_tools`."""
    def expanded(path):
        braces = re.search(r"\{([^{}]*)\}", path)
        if not braces:
            return [path]
        return [one for part in braces[1].split(",")
                for one in expanded(path[:braces.start()] + part + path[braces.end():])]

    for path in PATH.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if not path.startswith("tests/test_tools"):
            yield from expanded(path)


class Links(unittest.TestCase):
    def test_index_has_every_page(self):
        listed = {file for _, file, _ in links(INDEX)}
        missing = [page for page in pages() if page not in listed and page != INDEX]
        self.assertEqual(missing, [])

    def test_links_lead_somewhere(self):
        broken = [f"{page.relative_to(ROOT)}: {target}" for page in pages() for target, file, anchor in links(page)
                  if not file.exists() or anchor and anchor not in anchors(file)]
        self.assertEqual(broken, [])

    def test_files_that_pages_name_exist(self):
        gone = [f"{page.relative_to(ROOT)}: {path}" for page in pages() for path in paths(page) if not any(ROOT.glob(path))]
        self.assertEqual(gone, [])


class Readme(unittest.TestCase):
    def test_is_read_in_five_minutes(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()), 130)


class Changelog(unittest.TestCase):
    def test_entries_are_short(self):
        entries = re.findall(r"^- .*?(?=^- |^#|^$|\Z)", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        self.assertGreater(len(entries), 10)
        self.assertEqual([entry[:60] for entry in entries if len(" ".join(entry.split())) > MOST_OF_AN_ENTRY], [])

    def test_links_lead_somewhere(self):
        broken = [target for target, file, anchor in links(CHANGELOG) if not file.exists() or anchor and anchor not in anchors(file)]
        self.assertEqual(broken, [])


class Words(unittest.TestCase):
    def setUp(self):
        self.words = rivals(GLOSSARY.read_text(encoding="utf-8"))

    def test_glossary_is_read(self):
        self.assertGreater(len(self.words), 10)
        self.assertEqual(self.words["meeting"], "rendezvous")

    def test_rivals_are_found_in_prose_only(self):
        page = pathlib.Path("page.md")
        self.assertEqual(len(list(findings(page, "Every Meeting of two servers.", self.words))), 2)
        self.assertEqual(list(findings(page, "`meeting`, [x](meeting.md)\n```\nmeeting\n```\n", self.words)), [])
        header = pathlib.Path("a.hpp")
        self.assertEqual(list(findings(header, "int meeting = 0;", self.words)), [])
        self.assertEqual(len(list(findings(header, "int i;  ///< of the meeting", self.words))), 1)

    def test_one_word_per_thing(self):
        found = [finding for path in files()
                 for finding in findings(path.relative_to(ROOT), path.read_text(encoding="utf-8"), self.words)]
        self.assertEqual(found, [], "\n" + "\n".join(found))


if __name__ == "__main__":
    unittest.main()
