"""What scripts/mutate changes: small mistakes in the code of a room, found by the shape of its text and drawn by a seed."""
import dataclasses
import hashlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LISTS = ROOT / "tests" / "house" / "mutants.json"

# What a forecast is computed with: the folder of a room's sources, and the programs of its tests. What folds a job is
# tested where the job is replayed, and a forecast where it is reported.
ROOMS = {
    "base": ("base", ["test_base"]),
    "topology": ("topology", ["test_topology"]),
    "workloads": ("workloads", ["test_workloads"]),
    "scheduler": ("scheduler", ["test_scheduler"]),
    "scenario": ("sim/scenario", ["test_scenario"]),
    "engine": ("sim/engine", ["test_engine"]),
    "network": ("sim/network", ["test_network", "test_replay", "test_judge"]),
    "replay": ("sim/replay", ["test_replay", "test_judge"]),
    "forecast": ("sim/forecast", ["test_forecast", "test_replay", "test_judge"]),
}


@dataclasses.dataclass(frozen=True)
class Change:
    file: str      # from the root
    line: int      # from 1
    start: int     # of what is replaced, in the line
    end: int
    new: str
    kind: str
    before: str    # the whole line
    room: str = ""

    @property
    def after(self):
        return self.before[:self.start] + self.new + self.before[self.end:]

    def told(self):
        old, new = self.before.strip(), self.after.strip()
        return f"{self.file}:{self.line} ({self.kind})\n    - {old}\n    + {new}"

    def key(self):
        return self.file, " ".join(self.before.split()), " ".join(self.after.split())


TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
                  re.DOTALL)


def masked(text):
    """The text with comments blanked and literals all backticks, as long as before."""
    return TEXT.sub(lambda m: re.sub(r"[^\n]", "`" if m[0][0] in "R\"'" else " ", m[0]), text)


def without_descriptions(code):
    """Masked code with the descriptions of keys blanked: a test holds them to the tables of docs/scenario.md."""
    for m in re.finditer(r"\bfield\(\s*\{", code):
        depth, end = 0, m.start() + len("field")
        while end < len(code):
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
            if depth == 0:
                break
        code = code[:m.start()] + re.sub(r"[^\n]", " ", code[m.start():end]) + code[end:]
    return code


# Promises between functions, hints and declarations change nothing that a user could see.
SKIPPED = re.compile(r"^\s*#|\bexpects\(|\bstatic_assert\b|\.reserve\(|\bRange\b|^\s*(using|namespace|template)\b")
NAME = r"[\w:]+(?:<[\w:]+>)?(?:\([^()]*\)|\[[^\[\]]*\])*"
OPERAND = rf"(?:{NAME}(?:\.|->))*{NAME}"
SWAPS = [
    ("sign", re.compile(r"(?<=[^` ] )[+\-*/%](?= [^`])"), {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/"}),
    ("sign", re.compile(r"(?<= )[+\-*/]=(?= )"), {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}),
    ("threshold", re.compile(r"(?<= )(?:<=|>=|<|>)(?= )"), {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}),
    ("extreme", re.compile(r"\b(?:min|max)(?=(?:_element)?[(<])"), {"min": "max", "max": "min"}),
    ("extreme", re.compile(r"\b(?:greater|less)(?=<>)"), {"greater": "less", "less": "greater"}),
]
NUMBER = re.compile(r"(?<![\w.'])(\d+)(\.\d+)?(e[+-]?\d+)?(?![\w.'])")
TERM = re.compile(r"(?<!`) [+\-*/] " + OPERAND + r"(?=[;,)]|$| [+\-*/<>=?:&|](?! `))")


def line_changes(code):
    """(start, end, new, kind) of every change of one masked line."""
    if SKIPPED.search(code):
        return
    for kind, pattern, swap in SWAPS:
        for m in pattern.finditer(code):
            yield m.start(), m.end(), swap[m[0]], kind
    for m in NUMBER.finditer(code):
        if m[2] or m[3]:
            value = float(m[0])
            yield m.start(), m.end(), repr(2 * value if value else 1.0), "factor"
        else:
            yield m.start(), m.end(), str(int(m[0]) + 1), "factor"
            if int(m[0]) > 0:
                yield m.start(), m.end(), str(int(m[0]) - 1), "factor"
    for m in TERM.finditer(code):
        yield m.start(), m.end(), "", "term"


def file_changes(path, room):
    """The changes of each line of a file that has some."""
    text = (ROOT / path).read_text(encoding="utf-8")
    lines, code = [], without_descriptions(masked(text))
    for number, (line, code) in enumerate(zip(text.split("\n"), code.split("\n")), 1):
        found = [Change(path, number, *change, line, room) for change in line_changes(code)]
        if found:
            lines.append(found)
    return lines


def drawn(room, seed):
    """All lines of a room with one change each, as the dice of their texts fall, the files in turns. What else
    changes in the code moves no draw."""
    def dice(*texts):
        return hashlib.sha256("\0".join((str(seed), *texts)).encode()).hexdigest()

    turns = []
    for path in sorted((ROOT / ROOMS[room][0]).rglob("*.cpp")):
        # A picture is no part of a forecast, and a changed module is refused by its fingerprint before any test.
        if path.name.startswith(("draw_", "simgrid_")):
            continue
        changes = [min(line, key=lambda c: dice(path.name, *c.key()[1:]))
                   for line in file_changes(str(path.relative_to(ROOT)), room)]
        changes.sort(key=lambda c: dice(path.name, c.before.strip()))
        turns += [(turn, dice(path.name), change) for turn, change in enumerate(changes)]
    yield from (change for *_, change in sorted(turns, key=lambda t: t[:2]))


def known_changes(entries):
    """The listed changes that are always made. Ends the program where the code has gone on."""
    for entry in entries:
        text = (ROOT / entry["file"]).read_text(encoding="utf-8").split("\n")
        at = [i for i, line in enumerate(text) if entry["old"] in line]
        if len(at) != 1:
            sys.exit(f"mutate: {LISTS.name}: '{entry['old']}' stands {len(at)} times in {entry['file']}, "
                     "allowed: once")
        start = text[at[0]].index(entry["old"])
        yield Change(entry["file"], at[0] + 1, start, start + len(entry["old"]), entry["new"], "known",
                     text[at[0]], entry["room"])
