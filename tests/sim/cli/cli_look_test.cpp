#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "shell.hpp"

// What the binary writes to look at: traces, the page, the table for a terminal.
namespace stepcast {
namespace {

using test::content;
using test::Ran;
using test::scenarios;

std::size_t characters(const std::string& line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(CliLook, WritesATracePlainAndCompressed) {
  const test::TemporaryFiles files;
  const std::string scenario = scenarios + "ideal-pipeline.yaml";
  ASSERT_EQ(test::stepcast_run(files, "run " + scenario + " --trace " + files.path("t.json")).code,
            0);
  ASSERT_EQ(
      test::stepcast_run(files, "run " + scenario + " --trace " + files.path("t.json.gz")).code, 0);
  EXPECT_GT(nlohmann::json::parse(content(files.path("t.json")))["traceEvents"].size(), 64U);
  EXPECT_EQ(content(files.path("t.json.gz")).substr(0, 2), "\x1f\x8b");
  ASSERT_EQ(std::system(
                ("gunzip '" + files.path("t.json.gz") + "' -c > '" + files.path("again.json") + "'")
                    .c_str()),
            0);
  EXPECT_EQ(content(files.path("again.json")), content(files.path("t.json")));
}

TEST(CliLook, LookingChangesNoByteOfTheResult) {
  const test::TemporaryFiles files;
  const std::string scenario = scenarios + "telechat3-36b-2048.yaml";
  const Ran plain = test::stepcast_run(files, "run " + scenario + " --json -");
  const Ran looked = test::stepcast_run(
      files, "run " + scenario + " --json - --trace " + files.path("t.json") + " --report " +
                 files.path("r.html") + " --step-trace " + files.path("s.csv"));
  ASSERT_EQ(looked.code, 0) << looked.err;
  EXPECT_EQ(plain.out, looked.out);
  for (const char* file : {"t.json", "r.html", "s.csv"})
    EXPECT_GT(std::filesystem::file_size(files.path(file)), 0U) << file;
}

TEST(CliLook, RefusesAPlaceThatCannotBeWritten) {
  const test::TemporaryFiles files;
  for (const char* option : {"--trace", "--report", "--step-trace"}) {
    const Ran ran = test::stepcast_run(files, "run " + scenarios + "ideal-pipeline.yaml " + option +
                                                  " " + files.path("nowhere/file"));
    EXPECT_EQ(ran.code, 2) << option;
    EXPECT_NE(ran.err.find("nowhere/file"), std::string::npos) << ran.err;
    EXPECT_TRUE(ran.out.empty());
  }
}

TEST(CliLook, TablesFitHundredColumnsWithoutColour) {
  const test::TemporaryFiles files;
  for (const char* file :
       {"ideal-pipeline.yaml", "telechat3-105b-4096.yaml", "mixtral-8x7b.yaml"}) {
    const Ran ran = test::stepcast_run(files, "run " + scenarios + file + " --pipeline");
    EXPECT_EQ(ran.code, 0) << file;
    EXPECT_EQ(ran.out.find('\x1b'), std::string::npos);
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(characters(line), 100U) << file << ": " << line;
  }
}

}  // namespace
}  // namespace stepcast
