#pragma once
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "temporary_files.hpp"

/// What a shell sees of a command: its exit code and what it wrote.
namespace stepcast::test {

/// The folder of the shipped scenarios.
inline const std::string scenarios = std::string(STEPCAST_SOURCE_DIR) + "/scenarios/";

/// The whole file; empty where there is none.
inline std::string content(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

struct Ran {
  int code = 0;  ///< -1: a signal ended it
  std::string out, err;
};

/// Runs a line of the shell; what it writes goes through `out` and `err` among the files.
inline Ran shell(const TemporaryFiles& files, const std::string& line,
                 const std::string& input = "/dev/null") {
  const std::string out = files.path("out"), err = files.path("err");
  const int status =
      std::system((line + " >'" + out + "' 2>'" + err + "' <'" + input + "'").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(err)};
}

/// Runs the binary under test.
inline Ran stepcast_run(const TemporaryFiles& files, const std::string& arguments,
                        const std::string& input = "/dev/null") {
  return shell(files, std::string("'") + STEPCAST_BINARY + "' " + arguments, input);
}

}  // namespace stepcast::test
