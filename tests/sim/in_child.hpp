#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <iostream>
#include <vector>

namespace stepcast::testing {

/// Numbers that `body` computes in a process of its own: a process makes at most one run in which
/// flows meet. Empty when the child failed, by an expectation too.
inline std::vector<double> in_child(const std::function<std::vector<double>()>& body) {
  const bool failed_before = ::testing::Test::HasFailure();
  int channel[2];
  if (pipe(channel) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    int status = 1;
    try {
      const std::vector<double> numbers = body();
      const auto bytes = static_cast<ssize_t>(numbers.size() * sizeof(double));
      if (write(channel[1], numbers.data(), static_cast<std::size_t>(bytes)) == bytes) status = 0;
      if (!failed_before && ::testing::Test::HasFailure()) status = 1;
    } catch (const std::exception& error) {
      std::cerr << error.what() << '\n';
    }
    _exit(status);
  }
  close(channel[1]);
  std::vector<double> numbers;
  for (double number = 0; read(channel[0], &number, sizeof number) == sizeof number;)
    numbers.push_back(number);
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return {};
  return numbers;
}

}  // namespace stepcast::testing
