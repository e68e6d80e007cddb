#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "subjects.hpp"

// Broken launch files: an answer or an InputError, never a crash, never a hang.
namespace stepcast {
namespace {

using namespace import_tests;

/// STEPCAST_IMPORT_FUZZ: how many; the nightly run asks for more.
int cases() {
  const char* asked = std::getenv("STEPCAST_IMPORT_FUZZ");
  constexpr int few = 500;
  return asked == nullptr ? few : std::max(std::atoi(asked), 1);
}

std::string text_of(const std::string& file) {
  std::ifstream stream(data_path(file));
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string broken(std::string text, std::mt19937& draw) {
  static const std::vector<std::string> pieces{
      "$((",   "))",          "${",    "}",       "\"",   "'",     "`",    "$(",
      ")",     "\\\n",        "<<E\n", "\n",      "if [", "fi",    "|",    ";;",
      "[[",    "]]",          "A+=",   "${A[@]}", "&&",   "[0]*9", "case", "esac",
      "{",     "(",           "*",     "%",       "-1",   "--",    "1e9",  "--num-layers 7",
      "while", "99999999999", "#",     "\x01"};
  const auto at = [&](std::size_t size) {
    return std::uniform_int_distribution<std::size_t>(0, size)(draw);
  };
  const std::size_t changes = 1 + at(6);
  for (std::size_t i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t place = at(text.size() - 1);
    switch (at(3)) {
      case 0:
        text.erase(place, 1 + at(40));
        break;
      case 1:
        text.insert(place, pieces[at(pieces.size() - 1)]);
        break;
      case 2:
        text[place] = static_cast<char>(at(255));
        break;
      default:
        text.insert(place, text.substr(at(text.size() - 1), at(200)));
    }
  }
  return text;
}

TEST(ImportFuzz, BrokenFilesAreAnswered) {
  const SearchPath search = default_search_path({});
  const std::vector<Subject> all = subjects();
  std::mt19937 draw{20261122};
  int read = 0;
  const std::string folder = ::testing::TempDir();
  for (int i = 0; i < cases(); ++i) {
    const Subject& subject =
        all[std::uniform_int_distribution<std::size_t>(0, all.size() - 1)(draw)];
    const std::string path = folder + "stepcast_fuzz_" + subject.file;
    std::ofstream(path) << broken(text_of(subject.file), draw);
    try {
      (void)import_launch(path, subject.options, search);
      ++read;
    } catch (const InputError& error) {
      EXPECT_FALSE(error.diagnostics().empty());
    }
    std::filesystem::remove(path);
  }
  EXPECT_GT(read, 0);  // some changes break nothing
}

}  // namespace
}  // namespace stepcast
