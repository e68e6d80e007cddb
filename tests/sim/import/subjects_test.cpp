#include "subjects.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

// Launch files of frameworks against the values that stand in them.
namespace stepcast {
namespace {

using namespace import_tests;

/// What the published table says in words, as the product says it; empty: not said by the file.
std::string expected_value(const Subject& subject, const std::string& column) {
  const std::string& value = subject.values.at(column);
  if (value.starts_with("tokenizer") || value.starts_with("outside") || value.starts_with("-1 ="))
    return {};
  if (value == "dropped at tp 1") return "false";
  if (column == "recompute") {
    if (value.starts_with("full uniform") || value == "full" || value == "full block 8")
      return "full";
    if (value.starts_with("full block") || value.starts_with("table")) return "table";
    if (value == "op" || value.starts_with("selective")) return "selective";
  }
  if (column == "first_dense" && value.find(',') != std::string::npos)
    return value.substr(0, value.find(','));
  return value;
}

class LaunchFile : public ::testing::TestWithParam<Subject> {};

std::string label(const ::testing::TestParamInfo<Subject>& info) {
  std::string name = info.param.id;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

TEST_P(LaunchFile, HasTheValuesOfItsFramework) {
  const Subject& subject = GetParam();
  const SearchPath search = default_search_path({});
  ImportedScenario imported;
  try {
    imported = import_launch(data_path(subject.file), subject.options, search);
  } catch (const InputError& error) {
    FAIL() << error.what();
  }
  const Scenario scenario = read_scenario(imported.document, search);
  for (const auto& [column, said] : subject.values) {
    // what is given beside the file is not the file's
    if (column == "devices" && subject.options.devices) continue;
    if ((column == "dp" || column == "micro_batches") && subject.options.devices) continue;
    // latent attention has other widths than the flag of a head
    if (column == "head_dim" && subject.values.at("kv_heads") == "mla") continue;
    const std::string expected = expected_value(subject, column);
    if (expected.empty()) continue;
    EXPECT_EQ(imported_value(scenario, column), expected) << column << "\n" << imported.text;
  }
  // never balanced by time: the file's own cut, or what the framework does without one
  EXPECT_EQ(scenario.content.find("parallel.layers_per_chunk=auto"), std::string::npos)
      << imported.text;
}

INSTANTIATE_TEST_SUITE_P(Subjects, LaunchFile, ::testing::ValuesIn(subjects()), label);

TEST(LaunchFiles, TextAndDocumentSayTheSame) {
  const SearchPath search = default_search_path({});
  for (const Subject& subject : subjects()) {
    const ImportedScenario imported =
        import_launch(data_path(subject.file), subject.options, search);
    const Node parsed = load_document_text(imported.text, "written.yaml", search);
    EXPECT_EQ(read_scenario(ScenarioDocument{parsed, "written.yaml", {}}, search).sha256,
              read_scenario(imported.document, search).sha256)
        << subject.id;
  }
}

TEST(LaunchFiles, ThePageListsTheFlagsThatAreRead) {
  std::ifstream stream(std::string(STEPCAST_SOURCE_DIR) + "/docs/formats/launch_files.md");
  std::ostringstream page;
  page << stream.rdbuf();
  EXPECT_NE(page.str().find(launch_flags_page().substr(0, launch_flags_page().size() - 1)),
            std::string::npos)
      << "docs/formats/launch_files.md is older than the tables; stepcast import --flags writes:\n"
      << launch_flags_page();
}

}  // namespace
}  // namespace stepcast
