#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/document_steps.hpp"
#include "stepcast/base/quantile.hpp"
#include "stepcast/base/section.hpp"
#include "temporary_files.hpp"

// Quantiles between two numbers, and how much of a file and of a wrong value is told.
namespace stepcast {
namespace {

TEST(Quantile, RanksWithTiesAsSpearmanDoes) {
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 40}), 1, 1e-12);
  EXPECT_NEAR(rank_correlation({1, 2, 3}, {3, 2, 1}), -1, 1e-12);
  EXPECT_NEAR(rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}), std::sqrt(0.9), 1e-12);
}

TEST(Quantile, LiesBetweenItsNeighbours) {
  EXPECT_DOUBLE_EQ(quantile({40, 10, 30, 20}, 0), 10);
  EXPECT_DOUBLE_EQ(quantile({40, 10, 30, 20}, 0.5), 25);
  EXPECT_DOUBLE_EQ(quantile({40, 10, 30, 20}, 0.75), 32.5);
  EXPECT_DOUBLE_EQ(quantile({40, 10, 30, 20}, 1), 40);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.3), 7);
}

std::string said_of(const std::string& text) {
  Reading reading;
  const Node root = parse_document("n: " + text, "f");
  Section section{root, {}, reading};
  std::int64_t number = 0;
  section.field({"n", &number, "a number"});
  section.finish();
  return reading.diagnostics.at(0).message;
}

TEST(WrongValues, AreToldUpTo60Letters) {
  EXPECT_TRUE(said_of(std::string(60, 'x')).starts_with("is '" + std::string(60, 'x') + "',"));
  EXPECT_TRUE(said_of(std::string(61, 'x')).starts_with("is '" + std::string(60, 'x') + "...',"));
}

TEST(FileHint, LooksBesideTheFileThatIsNamed) {
  const test::TemporaryFiles files;
  const std::filesystem::path folder = files.path("");
  std::filesystem::create_directories(folder / "clusters");
  files.write("clusters/atlas.yaml", "name: atlas\n");
  EXPECT_EQ(file_hint("clusters/atlsa.yaml", folder, {}), "; did you mean clusters/atlas.yaml?");
  EXPECT_EQ(file_hint("clusters/atlas.yml", folder, {}), "; did you mean clusters/atlas.yaml?");
  EXPECT_EQ(file_hint("atlsa.yaml", folder, {}), "");
}

}  // namespace
}  // namespace stepcast
