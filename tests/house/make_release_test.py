"""What scripts/release refuses, and what it leaves, in a throw-away repository whose scripts/package writes small files."""
import hashlib
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = """#!/bin/sh
[ ! -e "$(dirname "$0")/broken" ] || exit 3
mkdir -p "$1"
for name in linux-x86_64.tar.gz linux-x86_64.spdx.json py3-none-any.whl; do echo "$name" >"$1/stepcast-1.2.3-$name"; done
echo old >"$1/SHA256SUMS"
"""
FILES = {
    "CMakeLists.txt": "project(stepcast VERSION 1.2.3 LANGUAGES CXX)\n",
    "CHANGELOG.md": "# Changelog\n\n## 1.2.3 - 2026-01-02\n\nFaster.\n\n- New: all of it.\n\n## 1.2.2 - 2026-01-01\n\n- Old.\n",
    "python/stepcast/_version.py": '__version__ = "1.2.3"\n',
    "docs/install.md": "tar -xzf stepcast-1.2.3-linux-x86_64.tar.gz\n",
    "docs/check.md": "uses: OWNER/stepcast/ci@v1.2.3\n",
    "docs/worker.md": '{"stepcast":{"worker":1,"version":"1.2.3"}}\n',
    "scripts/package": PACKAGE,
    ".gitignore": "dist/\n",
}


class Release(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        for name, text in FILES.items():
            self.write(name, text)
        shutil.copy(ROOT / "scripts/release", self.root / "scripts/release")
        (self.root / "scripts/package").chmod(0o755)
        self.git("init", "-q")
        self.git("config", "user.name", "test")
        self.git("config", "user.email", "test")
        self.commit()

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def git(self, *words):
        return subprocess.run(["git", "-C", self.root, *words], check=True, capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "all")

    def release(self, *words):
        return subprocess.run([self.root / "scripts/release", *words], capture_output=True, text=True)

    def test_makes_files_notes_checksums_and_a_tag(self):
        done = self.release("1.2.3")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        folder = self.root / "dist/1.2.3"
        sums = dict(line.split("  ")[::-1] for line in (folder / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(sorted(sums), ["NOTES.md", "stepcast-1.2.3-linux-x86_64.spdx.json", "stepcast-1.2.3-linux-x86_64.tar.gz",
                                        "stepcast-1.2.3-py3-none-any.whl"])
        self.assertEqual(sums, {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir() if file.name != "SHA256SUMS"})
        self.assertEqual((folder / "NOTES.md").read_text(), "# Stepcast 1.2.3\n\nFaster.\n\n- New: all of it.\n")
        self.assertEqual(self.git("tag", "--points-at", "HEAD"), "v1.2.3\n")

    def test_a_check_makes_nothing(self):
        self.assertEqual(self.release("1.2.3", "--check").returncode, 0)
        self.assertEqual((self.git("tag"), (self.root / "dist").exists()), ("", False))

    def refused(self, *parts, version="1.2.3"):
        done = self.release(version)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(len(done.stderr.splitlines()), len(parts), done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertFalse((self.root / "dist").exists())

    def test_refuses_a_word_that_is_no_version(self):
        self.refused("VERSION: is 'v1.2.3', allowed: three numbers", version="v1.2.3")

    def test_refuses_a_tree_with_changes(self):
        self.write("new.txt", "")
        self.refused("the tree has changes, commit them first: new.txt")
        self.assertEqual(self.git("tag"), "")

    def test_refuses_a_tag_that_exists(self):
        self.git("tag", "v1.2.3")
        self.refused("the tag v1.2.3 exists")

    def test_refuses_a_changelog_without_the_version(self):
        self.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n- New.\n\n## 1.2.2 - 2026-01-01\n\n- Old.\n")
        self.commit()
        self.refused("CHANGELOG.md: has no entries under '## 1.2.3 - YYYY-MM-DD'", "'Unreleased' has entries")

    def test_refuses_a_version_that_is_not_the_newest(self):
        self.write("CHANGELOG.md", "# Changelog\n\n## 1.3.0 - 2026-02-01\n\n- Newer.\n\n## 1.2.3 - 2026-01-01\n\n- Old.\n")
        self.commit()
        self.refused("CHANGELOG.md: 1.2.3 is not its newest version")

    def test_names_each_file_of_another_version(self):
        self.write("CMakeLists.txt", "project(stepcast VERSION 1.2.2 LANGUAGES CXX)\n")
        self.write("docs/check.md", "no version\n")
        self.commit()
        self.refused("CMakeLists.txt: names version 1.2.2, the release is 1.2.3", "docs/check.md: names no version")

    def test_takes_the_tag_back_where_packaging_fails(self):
        self.write("scripts/broken", "")
        self.commit()
        done = self.release("1.2.3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the tag v1.2.3 is taken back", done.stderr)
        self.assertEqual(self.git("tag"), "")


if __name__ == "__main__":
    unittest.main()
