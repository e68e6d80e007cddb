#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "script_maker.hpp"
#include "sim/import/launch.hpp"
#include "temporary_files.hpp"

// The reader of scripts against bash itself: whatever is taken is what bash would launch. Bash runs
// in an empty folder without programs, and the launcher is a function that prints its words.
namespace stepcast {
namespace {

using import_tests::ScriptMaker;
using test::TemporaryFiles;
namespace fs = std::filesystem;

int scripts_wanted() {
  const char* asked = std::getenv("STEPCAST_SHELL_SCRIPTS");
  constexpr int few = 300;
  return asked == nullptr ? few : std::max(std::atoi(asked), 1);
}

unsigned seed_wanted() {
  const char* asked = std::getenv("STEPCAST_SHELL_SEED");
  return asked == nullptr ? 42U : static_cast<unsigned>(std::atoi(asked));
}

/// The words behind the program, one a line; `refused` where the reader does not take the script.
std::string taken_words(const std::string& script) {
  try {
    std::string all;
    for (const auto& setting : launch::read_shell("s.sh", script).settings) {
      all += setting.name + "\n";
      for (const std::string& word : setting.words) {
        if (launch::is_unknown(word)) return "refused";
        all += word + "\n";
      }
    }
    return all;
  } catch (const InputError&) {
    return "refused";
  }
}

std::string content_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

TEST(ShellAgainstBash, WhatIsTakenIsWhatBashLaunches) {
  if (!fs::exists("/bin/bash")) GTEST_SKIP() << "needs bash";
  const TemporaryFiles files;
  ScriptMaker maker(seed_wanted());
  const int count = scripts_wanted();
  std::vector<std::string> scripts;
  for (int i = 0; i < count; ++i) {
    scripts.push_back(maker.script());
    files.write("s" + std::to_string(i), scripts.back());
  }
  fs::create_directory(files.path("empty"));
  files.write(
      "driver",
      "torchrun() { printf launch; shift; printf '\\n%s' \"$@\"; echo; }\n"
      "for ((s = 0; s < " +
          std::to_string(count) +
          "; ++s)); do\n"
          "  ( ulimit -t 2 -v 500000; cd ../empty; . ../s$s ) > ../o$s 2> /dev/null < /dev/null\n"
          "done\nwait\n");
  const std::string run = "cd '" + files.path("empty") +
                          "' && env -i PATH=/nowhere /bin/bash --noprofile --norc ../driver";
  ASSERT_EQ(std::system(run.c_str()), 0);
  int taken = 0;
  for (int i = 0; i < count; ++i) {
    const std::string& script = scripts[static_cast<std::size_t>(i)];
    const std::string words = taken_words(script);
    if (words == "refused") continue;
    ++taken;
    std::string printed = content_of(files.path("o" + std::to_string(i)));
    const std::string head = "launch\n";
    if (const auto at = printed.find(head); at != std::string::npos)
      printed.erase(0, at + head.size());
    EXPECT_EQ(words, printed) << "script " << i << ":\n" << script;
  }
  EXPECT_GE(taken, count / 4) << "a reader that refuses all is right, too";
  RecordProperty("taken", taken);
  std::cout << "taken: " << taken << " of " << count << "\n";
}

}  // namespace
}  // namespace stepcast
