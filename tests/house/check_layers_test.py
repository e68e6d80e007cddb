"""Each rule of scripts/check_layers lets a clean tree pass and finds one planted mistake."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_layers"
CLEAN = {
    "include/stepcast/base/units.hpp": "#pragma once\n#include <string>\n",
    "include/stepcast/sim/engine/engine.hpp": '#pragma once\n#include "stepcast/base/units.hpp"\n',
    "base/parse_document.cpp": "#include <yaml-cpp/yaml.h>\n",
    "sim/engine/simgrid_network.cpp": '#include <simgrid/s4u.hpp>\n#include "stepcast/sim/engine/engine.hpp"\n',
    "tests/base/a_test.cpp": "TEST(A, B) { EXPECT_TRUE(\n      rc::check([] {})); }\n",
}


def problems(changes):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**CLEAN, **changes}.items():
            file = pathlib.Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True)
        lines = done.stdout.splitlines()[:-1]
        assert done.returncode == (1 if lines else 0), done
        return lines


class CheckLayers(unittest.TestCase):
    def expect_problem(self, changes, part):
        found = problems(changes)
        self.assertEqual(len(found), 1, found)
        self.assertIn(part, found[0])

    def test_clean_tree_passes(self):
        self.assertEqual(problems({}), [])

    def test_include_of_a_higher_layer(self):
        self.expect_problem({"topology/a.cpp": '#include "stepcast/sim/engine/engine.hpp"\n'},
                            "topology is not above sim")

    def test_private_header_of_another_layer(self):
        self.expect_problem({"topology/a.cpp": '#include "../sim/replay/replayer.hpp"\n'},
                            "not of this layer")

    def test_private_header_of_the_same_layer(self):
        self.assertEqual(problems({"sim/explain/diff/a.cpp": '#include "../rows.hpp"\n',
                                   "sim/explain/rows.hpp": "#pragma once\n"}), [])

    def test_scheduler_stands_beside_workloads(self):
        self.expect_problem({"scheduler/a.cpp": '#include "stepcast/workloads/program.hpp"\n'},
                            "scheduler is not above workloads")

    def test_loose_file_in_sim(self):
        self.expect_problem({"sim/loose.cpp": "int a;\n"}, "lies in no room of sim")

    def test_room_that_does_not_exist(self):
        self.expect_problem({"sim/attic/a.cpp": "int a;\n"}, "lies in no room of sim")

    def test_include_of_a_later_room(self):
        changes = {"include/stepcast/sim/plan/plan.hpp": "#pragma once\n",
                   "sim/scenario/a.cpp": '#include "stepcast/sim/plan/plan.hpp"\n'}
        self.expect_problem(changes, "scenario is not above plan")

    def test_plan_and_calibrate_do_not_see_each_other(self):
        changes = {"include/stepcast/sim/plan/plan.hpp": "#pragma once\n",
                   "sim/calibrate/a.cpp": '#include "stepcast/sim/plan/plan.hpp"\n'}
        self.expect_problem(changes, "calibrate is not above plan")

    def test_private_header_of_an_earlier_room(self):
        changes = {"sim/engine/table.hpp": "#pragma once\n",
                   "sim/network/a.cpp": '#include "../engine/table.hpp"\n'}
        self.expect_problem(changes, "a private header of engine")

    def test_private_headers_of_one_name(self):
        changes = {"sim/engine/table.hpp": "#pragma once\n", "sim/plan/table.hpp": "#pragma once\n"}
        self.expect_problem(changes, "table.hpp: stands in several places")

    def test_simgrid_outside_the_engine(self):
        self.expect_problem({"sim/replay/replay.cpp": "#include <simgrid/s4u.hpp>\n"}, "includes simgrid")

    def test_simgrid_in_the_engine_outside_its_module(self):
        self.expect_problem({"sim/engine/fair_sharing.cpp": "#include <simgrid/s4u.hpp>\n"}, "includes simgrid")

    def test_simgrid_in_a_test(self):
        self.expect_problem({"tests/sim/engine_test.cpp": "#include <simgrid/s4u.hpp>\n"},
                            "includes simgrid")

    def test_simgrid_in_another_benchmark(self):
        self.expect_problem({"tests/bench/engine_bench.cpp": "#include <simgrid/s4u.hpp>\n"},
                            "includes simgrid")

    def test_simgrid_in_the_benchmark_that_runs_it_alone(self):
        self.assertEqual(problems({"tests/bench/simgrid_loop_bench.cpp":
                                   "#include <simgrid/s4u.hpp>\n"}), [])

    def test_yaml_outside_the_parser(self):
        self.expect_problem({"sim/scenario/scenario.cpp": "#include <yaml-cpp/yaml.h>\n"}, "yaml-cpp")

    def test_reader_that_asks_the_file_system_itself(self):
        for line in ("std::ifstream in{path};", "if (fs::exists(path)) return;", "for (auto& e : fs::directory_iterator(path)) {}",
                     "gzopen(path, mode);", "std::filesystem::is_directory(path);"):
            self.expect_problem({"sim/scenario/a.cpp": line + "\n"}, "asks the file system")

    def test_base_and_tests_ask_the_file_system(self):
        self.assertEqual(problems({"base/confined_files.cpp": "fs::exists(path);\n",
                                   "tests/base/b_test.cpp": "std::ifstream in{path};\n"}), [])

    def test_long_file(self):
        self.expect_problem({"base/long.cpp": "\n" * 601}, "has 601 lines")

    def test_header_without_guard(self):
        self.expect_problem({"base/a.hpp": "int a;\n"}, "#pragma once")

    def test_property_whose_verdict_is_lost(self):
        self.expect_problem({"tests/a_test.cpp": "TEST(A, B) { rc::check([] {}); }\n"}, "rc::check")

    def test_heavy_header_reached_through_our_own(self):
        changes = {f"sim/report/a{i}.cpp": '#include "stepcast/sim/report/json.hpp"\n'
                   for i in range(31)}
        changes["include/stepcast/sim/report/json.hpp"] = "#pragma once\n#include <nlohmann/json.hpp>\n"
        self.expect_problem(changes, "nlohmann/ headers reach 31 translation units")


if __name__ == "__main__":
    unittest.main()
