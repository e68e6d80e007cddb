#!/usr/bin/env python3
"""What a release promises of its program: `release_test.py PROGRAM [hardened]`, `hardened` with STEPCAST_HARDEN."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
HARDENED = sys.argv[1:2] == ["hardened"]
if HARDENED:
    sys.argv.pop(1)


def output(*command, **environment):
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=True, capture_output=True,
                          text=True).stdout


class Elf(unittest.TestCase):
    def files(self):
        """The program and its modules."""
        modules = sorted((PROGRAM.parent / "lib/stepcast").glob("*.so"))
        self.assertEqual([module.name for module in modules], ["cbc.so", "http.so", "simgrid.so"])
        return [PROGRAM, *modules]

    def test_is_position_independent_and_read_only_once_loaded(self):
        self.assertIn("DYN (Position-Independent Executable file)", output("readelf", "-lW", PROGRAM))
        for file in self.files():
            with self.subTest(file.name):
                self.assertIn("GNU_RELRO", output("readelf", "-lW", file))
                self.assertRegex(output("readelf", "-dW", file), "FLAGS_1.*NOW")
                self.assertNotIn("TEXTREL", output("readelf", "-dW", file))

    def test_has_no_stack_that_runs(self):
        for file in self.files():
            with self.subTest(file.name):
                stack = [line for line in output("readelf", "-lW", file).splitlines() if "GNU_STACK" in line]
                self.assertEqual(len(stack), 1)
                self.assertNotIn("E", stack[0].split()[6])

    @unittest.skipUnless(HARDENED, "built without STEPCAST_HARDEN")
    def test_checks_stacks_and_buffers_and_names_no_folder(self):
        for file in self.files():
            with self.subTest(file.name):
                if file.name != "cbc.so":  # a table of the solver's functions: no array stands on a stack of it
                    self.assertIn("__stack_chk_fail", output("readelf", "--dyn-syms", "-W", file))
                self.assertNotIn(bytes(ROOT), file.read_bytes())
        self.assertRegex(output("readelf", "--dyn-syms", "-W", PROGRAM), r"__(mem|str|sn|vsn|f|v|re|s)\w+_chk")


class Sbom(unittest.TestCase):
    def sbom(self):
        return output(ROOT / "scripts/write_sbom", PROGRAM, SOURCE_DATE_EPOCH="1700000000")

    def test_names_every_library_that_is_loaded(self):
        document = json.loads(self.sbom())
        names = {package["name"] for package in document["packages"]}
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        self.assertEqual(document["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        for needed in ("stepcast", "libc6", "libsqlite3-dev", "libyaml-cpp0.7", "zlib1g", "libboost-dev"):
            self.assertIn(needed, names)
        ids = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual({r["relatedSpdxElement"] for r in document["relationships"]}, set(ids))

    def test_is_the_same_each_time(self):
        self.assertEqual(self.sbom(), self.sbom())


unittest.main()
