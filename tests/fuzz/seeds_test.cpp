#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <sstream>

#include "entries.hpp"
#include "watch.hpp"

// The corpus of the fuzz targets, and a few edits of each text, without libFuzzer.
namespace stepcast::fuzz {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream stream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{}};
}

std::vector<std::string> corpus(const NamedEntry& entry) {
  if (entry.made != nullptr) return entry.made();
  std::istringstream words{entry.seeds};
  std::string folder, ending;
  words >> folder >> ending;
  std::vector<fs::path> files;
  for (const auto& file : fs::recursive_directory_iterator(fs::path(STEPCAST_SOURCE_DIR) / folder))
    if (file.path().extension() == ending) files.push_back(file.path());
  std::ranges::sort(files);
  std::vector<std::string> texts;
  for (const fs::path& path : files) texts.push_back(bytes_of(path));
  return texts;
}

/// STEPCAST_SEED_EDITS: of each entry.
std::size_t edits() {
  const char* given = std::getenv("STEPCAST_SEED_EDITS");
#ifdef __SANITIZE_ADDRESS__
  constexpr std::size_t few = 40;
#else
  constexpr std::size_t few = 150;
#endif
  return given == nullptr ? few : std::strtoull(given, nullptr, 10);
}

class Seeds : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Seeds, AndTheirEditsAreAnswered) {
  const NamedEntry& entry = entries()[GetParam()];
  const std::vector<std::string> texts = corpus(entry);
  ASSERT_FALSE(texts.empty()) << entry.name;
  std::mt19937 random{20261122};
  const auto draw = [&](std::size_t n) { return random() % std::max<std::size_t>(n, 1); };
  Watch watch;
  std::size_t parsed = 0, accepted = 0;
  for (std::size_t i = 0; i < edits(); ++i) {
    const std::size_t which = draw(texts.size());
    std::string text = texts[which];
    for (std::size_t k = draw(4); k > 0; --k) text = edited(std::move(text), draw);
    watch.begin(std::string(entry.name) + ", edit " + std::to_string(i) + " of text " +
                std::to_string(which));
    parsed += entry.parse(text) ? 1 : 0;
    EXPECT_NO_THROW(accepted += entry.run(text) ? 1 : 0) << entry.name << ":\n" << text;
  }
  std::cout << entry.name << ": " << edits() << " texts, " << 100 * parsed / edits()
            << " % past the parser, " << 100 * accepted / edits() << " % accepted\n";
  EXPECT_GE(parsed * 10, edits() * 4) << entry.name;
  EXPECT_GT(accepted, 0U) << entry.name;
}

INSTANTIATE_TEST_SUITE_P(Entry, Seeds, ::testing::Range<std::size_t>(0, entries().size()),
                         [](const auto& one) { return std::string(entries()[one.param].name); });

}  // namespace
}  // namespace stepcast::fuzz
