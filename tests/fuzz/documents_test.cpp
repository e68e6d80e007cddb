#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "entries.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "watch.hpp"

// Documents that are nothing in particular, given to whatever takes a document or a file: a value
// or an InputError.
namespace stepcast::fuzz {
namespace {

std::vector<std::string> shapes() {
  return {
      "",           "~",      "1",       "text",   "[]",    "{}",    "[1]",          "[[[]]]",
      "{a: {}}",    "{~: 1}", "{'': 1}", "{1: 2}", "-.inf", "'\\0'", "{a: [{}, ~]}", "{? [1] : 2}",
      "!!binary x", "&a [*a]"};
}

/// As the value of keys that some kind of file has.
std::vector<std::string> with_keys() {
  const std::vector<std::string> keys{
      "stepcast", "extends",   "cluster",  "cluster.device", "cluster.extends",
      "model",    "model.moe", "workload", "parallel",       "training",
      "schedule", "simulate",  "stalls",   "expect",         "plan",
      "vary",     "base",      "campaign", "communication",  "moe",
      "runtime"};
  std::vector<std::string> all;
  for (const std::string& key : keys) {
    const std::size_t dot = key.find('.');
    for (const std::string& shape : shapes())
      all.push_back("stepcast: 1\n" +
                    (dot == std::string::npos
                         ? key + ": " + shape
                         : key.substr(0, dot) + ": {" + key.substr(dot + 1) + ": " + shape + "}") +
                    "\n");
  }
  return all;
}

/// Runs it; anything but an InputError fails the test.
template <class Body>
void answer(const Body& body, const std::string& text) {
  try {
    body();
  } catch (const InputError& error) {
    EXPECT_FALSE(error.diagnostics().empty()) << text;
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << " of\n" << text;
  }
}

/// Gives a document to all that takes one in memory.
void read_as_anything(const std::string& text, const SearchPath& search) {
  Node root = load_document_text(text, "f.yaml", search);
  answer([&] { file_kind(root); }, text);
  answer([&] { wrong_scenario_value("parallel.tp", root); }, text);
  answer([&] { wrong_scenario_value("", root); }, text);
  answer([&] { read_scenario(ScenarioDocument{root, "f.yaml", {}}, search); }, text);
  for (const char* assignment : {"", "=", "a", "a=", "a.b=1", "parallel.tp=[", ".=1"})
    answer([&] { apply_override(root, assignment, search); }, text);
  answer([&] { prepare_scenario(ScenarioDocument{root, "f.yaml", {}}, search); }, text);
}

TEST(Documents, OfAnyShapeAreAnsweredByAllThatReadFiles) {
  Watch watch;
  for (const std::string& text : shapes()) {
    watch.begin(text);
    for (const NamedEntry& entry : entries()) answer([&] { entry.run(text); }, text);
  }
}

TEST(Documents, OfAnyShapeAreAnsweredByAllThatTakeThem) {
  const SearchPath search{{std::string(STEPCAST_SOURCE_DIR) + "/scenarios"}};
  Watch watch;
  std::vector<std::string> all = shapes();
  std::ranges::copy(with_keys(), std::back_inserter(all));
  for (const std::string& text : all) {
    watch.begin(text);
    answer([&] { read_as_anything(text, search); }, text);
  }
}

// Found by scripts/fuzz: the checks of a document that is no mapping divided by no micro-batches.
TEST(Documents, ThatAreNoMappingAreNoScenario) {
  for (const char* text : {"1e24FLOPS   []:1% 1B\n    []:0B .inf", "[]", "~"}) {
    try {
      read_scenario(ScenarioDocument{parse_document(text, "f.yaml"), "f.yaml", {}}, {});
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("allowed: a mapping"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace stepcast::fuzz
