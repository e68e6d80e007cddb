#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "subjects.hpp"

// Minimal launch files of published steps, with the flags of each, against the rows of the ledger
// (scenarios/validation): the same keys, whoever says them.
namespace stepcast {
namespace {

using namespace import_tests;

struct LedgerRow {
  std::string row, file, cluster, sets, apart;
};

std::vector<LedgerRow> ledger_rows() {
  std::ifstream stream(data_path("rows/rows.csv"));
  std::string line;
  std::getline(stream, line);
  std::vector<LedgerRow> all;
  while (std::getline(stream, line)) {
    std::vector<std::string> fields{""};
    for (const char c : line) {
      if (c == '|')
        fields.emplace_back();
      else
        fields.back() += c;
    }
    fields.resize(5);
    all.push_back({fields[0], fields[1], fields[2], fields[3], fields[4]});
  }
  return all;
}

/// Keys of the step, without what names it.
std::map<std::string, std::string> keys_of_step(const Scenario& scenario) {
  std::map<std::string, std::string> keys;
  std::istringstream lines(scenario.content);
  for (std::string line; std::getline(lines, line);) {
    const std::string key = line.substr(0, line.find('='));
    if (key != "name" && key != "model.name" && key != "model.stepcast" && key != "stepcast")
      keys[key] = line.substr(std::min(key.size() + 1, line.size()));
  }
  return keys;
}

class LedgerImport : public ::testing::TestWithParam<LedgerRow> {};

TEST_P(LedgerImport, HasTheKeysOfItsRow) {
  const LedgerRow& row = GetParam();
  const SearchPath search = default_search_path({});
  const Scenario published = read_scenario(
      load_scenario(std::string(STEPCAST_SOURCE_DIR) + "/scenarios/validation/" + row.row, {},
                    search),
      search);
  ImportOptions options;
  options.cluster = row.cluster;
  options.devices = published.cluster.devices;
  std::istringstream sets(row.sets);
  for (std::string set; std::getline(sets, set, ';');) options.overrides.push_back(set);
  ImportedScenario imported;
  try {
    imported = import_launch(data_path("rows/" + row.file), options, search);
  } catch (const InputError& error) {
    FAIL() << error.what();
  }
  const auto wanted = keys_of_step(published);
  const auto found = keys_of_step(read_scenario(imported.document, search));
  std::string differ;
  for (const auto& [key, value] : wanted) {
    const auto other = found.find(key);
    const std::string there = other == found.end() ? "nothing" : other->second;
    // one chunk is cut in one way
    if (key == "parallel.layers_per_chunk" && wanted.at("parallel.pp") == "1") continue;
    // each key that differs has its reason beside it in the table
    if (there != value && row.apart.find(key) == std::string::npos)
      differ += key + ": " + value + ", imported " + there + "\n";
  }
  for (const auto& [key, value] : found)
    if (!wanted.contains(key)) differ += key + ": nothing, imported " + value + "\n";
  EXPECT_EQ(differ, "") << imported.text;
}

std::string name_of_row(const ::testing::TestParamInfo<LedgerRow>& row) {
  std::string name = row.param.file;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Rows, LedgerImport, ::testing::ValuesIn(ledger_rows()), name_of_row);

TEST(LedgerImports, AreTwentyFiveAtLeast) { EXPECT_GE(ledger_rows().size(), 25U); }

}  // namespace
}  // namespace stepcast
