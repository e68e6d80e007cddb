#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "temporary_files.hpp"

// The binary as a shell sees it: exit codes, stderr, and the files it writes.
namespace stepcast {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

struct Ran {
  int code = 0;
  std::string out, err;
};

Ran stepcast_run(const test::TemporaryFiles& files, const std::string& arguments) {
  const std::string out = files.path("out"), err = files.path("err");
  const std::string line = std::string("'") + STEPCAST_BINARY + "' " + arguments + " >'" + out +
                           "' 2>'" + err + "' </dev/null";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(err)};
}

const std::string pipeline = std::string(STEPCAST_SOURCE_DIR) + "/scenarios/ideal-pipeline.yaml";
const std::string gather = "collective all_gather --cluster clusters/ideal.yaml --ranks 4 ";

std::size_t entries(const std::string& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator{directory}, fs::directory_iterator{}));
}

TEST(Cli, JsonReplacesAFileAtOnceAndFollowsLinks) {
  const test::TemporaryFiles files;
  const std::string target = files.write("results/real.json", "old");
  const std::string link = files.path("results/link.json");
  fs::create_symlink("real.json", link);
  const Ran ran = stepcast_run(files, "run '" + pipeline + "' --json '" + link + "'");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(nlohmann::json::parse(content(target)).contains("result"));
  EXPECT_EQ(entries(files.path("results")), 2U) << "nothing is left beside the result";
  EXPECT_EQ(stepcast_run(files, "run '" + pipeline + "' --json -").out, content(target));
}

TEST(Cli, JsonToAPipeLeavesThePipe) {
  const test::TemporaryFiles files;
  const std::string pipe = files.path("pipe"), copy = files.path("copy");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string read = "timeout 60 cat '" + pipe + "' >'" + copy + "' & ";
  ASSERT_EQ(std::system((read + "timeout 60 '" + STEPCAST_BINARY + "' run '" + pipeline +
                         "' --json '" + pipe + "' >'" + files.path("out") + "'; wait")
                            .c_str()),
            0);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(nlohmann::json::accept(content(copy)));
}

TEST(Cli, WrongUseExitsWithTwoAndSaysWhatIsWrong) {
  const test::TemporaryFiles files;
  const std::string gone = files.path("gone");
  const struct {
    std::string arguments, says;
  } rows[] = {
      {"run '" + gone + "'", "does not exist"},
      {"run '" + pipeline + "' --json '" + gone + "/x'", "cannot be written"},
      {"run '" + pipeline + "' --presets '" + gone + "'", "is no folder"},
      {"predict", "predict: is no command or option"},
      {"--sets", "--sets: is no command or option"},
      {"topology clusters/ideal.yaml --devices 0", "is 0, allowed: 1 to 1048576"},
      {"topology clusters/ideal.yaml --devices -8", "is -8, allowed: 1 to 1048576"},
      {gather + "--size 64", "is '64', allowed: a size such as 64MiB"},
      {gather + "--size 1e300MiB", "is '1e300MiB', allowed: a size such as 64MiB"},
  };
  for (const auto& [arguments, says] : rows) {
    const Ran ran = stepcast_run(files, arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_NE(ran.err.find(says), std::string::npos) << arguments << "\n" << ran.err;
    EXPECT_LT(ran.err.size(), 600U) << arguments;
  }
}

TEST(Cli, DevicesTakeThePrefixesOfCounts) {
  const test::TemporaryFiles files;
  const Ran ran = stepcast_run(files, "topology clusters/ideal.yaml --devices 1Ki");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("1024 devices"), std::string::npos) << ran.out;
}

TEST(Cli, FailOnOomExitsWithOne) {
  const test::TemporaryFiles files;
  const std::string job = std::string("run '") + STEPCAST_SOURCE_DIR +
                          "/scenarios/llama2-7b-8.yaml' "
                          "--set cluster.device.memory.capacity=1GiB";
  EXPECT_EQ(stepcast_run(files, job).code, 0);
  const Ran failing = stepcast_run(files, job + " --fail-on-oom");
  EXPECT_EQ(failing.code, 1);
  EXPECT_NE(failing.err.find("does not fit"), std::string::npos) << failing.err;
}

}  // namespace
}  // namespace stepcast
