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
    def test_is_position_independent_and_read_only_once_loaded(self):
        self.assertIn("DYN (Position-Independent Executable file)", output("readelf", "-lW", PROGRAM))
        self.assertIn("GNU_RELRO", output("readelf", "-lW", PROGRAM))
        self.assertRegex(output("readelf", "-dW", PROGRAM), "FLAGS_1.*NOW")

    def test_has_no_stack_that_runs(self):
        stack = [line for line in output("readelf", "-lW", PROGRAM).splitlines() if "GNU_STACK" in line]
        self.assertEqual(len(stack), 1)
        self.assertNotIn("E", stack[0].split()[6])


    @unittest.skipUnless(HARDENED, "built without STEPCAST_HARDEN")
    def test_checks_stacks_and_buffers_and_names_no_folder(self):
        symbols = output("readelf", "--dyn-syms", "-W", PROGRAM)
        self.assertIn("__stack_chk_fail", symbols)
        self.assertRegex(symbols, r"__(mem|str|sn|vsn|f|v|re|s)\w+_chk")
        self.assertNotIn(bytes(ROOT), PROGRAM.read_bytes())


class Sbom(unittest.TestCase):
    def sbom(self):
        return output(ROOT / "scripts/write_sbom", PROGRAM, SOURCE_DATE_EPOCH="1700000000")

    def test_names_every_library_that_is_loaded(self):
        document = json.loads(self.sbom())
        names = {package["name"] for package in document["packages"]}
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        self.assertEqual(document["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        for needed in ("stepcast", "libc6", "libsqlite3-0", "libyaml-cpp0.7", "zlib1g", "libboost-dev"):
            self.assertIn(needed, names)
        ids = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual({r["relatedSpdxElement"] for r in document["relationships"]}, set(ids))

    def test_is_the_same_each_time(self):
        self.assertEqual(self.sbom(), self.sbom())


unittest.main()
