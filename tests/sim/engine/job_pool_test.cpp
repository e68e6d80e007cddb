#include "stepcast/sim/engine/job_pool.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "temporary_files.hpp"

namespace stepcast {
namespace {

std::string sleep_long() {
  std::this_thread::sleep_for(std::chrono::minutes(5));
  return "slept";
}

WorkerAnswer next(JobPool& pool) {
  std::vector<pollfd> none;
  for (;;) {
    const std::vector<WorkerAnswer> answers = pool.wait(none, -1);
    if (!answers.empty()) return answers.front();
  }
}

bool lives(pid_t process) { return kill(process, 0) == 0; }

TEST(JobPool, ACancelledJobGivesNoAnswer) {
  JobPool pool;
  pool.start(1, sleep_long);
  pool.start(2, [] { return std::string("two"); });
  EXPECT_TRUE(pool.cancel(1));
  EXPECT_FALSE(pool.cancel(1)) << "it is gone";
  EXPECT_EQ(pool.size(), 1U);
  const WorkerAnswer answer = next(pool);
  EXPECT_EQ(answer.index, 2U);
  EXPECT_EQ(answer.text, "two");
  EXPECT_EQ(pool.size(), 0U);
}

TEST(JobPool, WaitsNoLongerThanItIsTold) {
  JobPool pool;
  pool.start(1, sleep_long);
  std::vector<pollfd> none;
  EXPECT_TRUE(pool.wait(none, 10).empty());
  EXPECT_EQ(pool.size(), 1U);
}

TEST(JobPool, SaysWhichOtherFileIsReady) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  JobPool pool;
  pool.start(1, sleep_long);
  ASSERT_EQ(write(channel[1], "x", 1), 1);
  std::vector<pollfd> others{{channel[0], POLLIN, 0}};
  EXPECT_TRUE(pool.wait(others, -1).empty());
  EXPECT_EQ(others[0].revents, POLLIN);
  close(channel[0]);
  close(channel[1]);
}

// What a job starts does not outlive it: the inner process would keep the answer's pipe open.
TEST(JobPool, AJobEndsWithWhatItStarted) {
  JobPool pool;
  const test::TemporaryFiles files;
  const std::string file = files.path("process");
  pool.start(1, [&] {
    JobPool inner;
    inner.start(1, [&] {
      std::FILE* out = std::fopen(file.c_str(), "w");
      std::fprintf(out, "%d\n", getpid());
      std::fclose(out);
      return sleep_long();
    });
    return next(inner).text;
  });
  int process = 0;
  for (int i = 0; i < 2000 && process == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (std::FILE* in = std::fopen(file.c_str(), "r")) {
      if (std::fscanf(in, "%d", &process) != 1) process = 0;
      std::fclose(in);
    }
  }
  ASSERT_GT(process, 0);
  ASSERT_TRUE(lives(process));
  EXPECT_TRUE(pool.cancel(1));
  // It is reaped by whoever inherits orphans here; a zombie still answers to kill(0).
  const std::string status = "/proc/" + std::to_string(process) + "/stat";
  const auto runs = [&] {
    char state = 'X';
    if (std::FILE* in = std::fopen(status.c_str(), "r")) {
      if (std::fscanf(in, "%*d %*s %c", &state) != 1) state = 'X';
      std::fclose(in);
    }
    return state != 'X' && state != 'Z';
  };
  for (int i = 0; i < 2000 && runs(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(runs());
}

#ifndef __SANITIZE_ADDRESS__
TEST(JobPool, AJobStandsBackAsFarAsItIsTold) {
  const int own = getpriority(PRIO_PROCESS, 0);
  for (const int nice : {0, 1, 3}) {
    JobPool pool;
    pool.start(0, [] { return std::to_string(getpriority(PRIO_PROCESS, 0)); }, {.nice = nice});
    EXPECT_EQ(next(pool).text, std::to_string(std::min(own + nice, 19))) << nice;
  }
}

// More than a pipe or a buffer holds at once.
TEST(JobPool, LongAnswersComeWhole) {
  JobPool pool;
  pool.start(4, [] { return std::string(1'000'003, 'x') + "end"; });
  const WorkerAnswer answer = next(pool);
  EXPECT_EQ(answer.text.size(), 1'000'006U);
  EXPECT_TRUE(answer.text.ends_with("xend"));
  EXPECT_EQ(answer.failure, "");
}

TEST(JobPool, MemoryIsLimited) {
  JobPool pool;
  pool.start(1, [] { return std::string(std::size_t{1} << 30U, 'x').substr(0, 3); },
             {.memory_bytes = std::uint64_t{256} << 20U});
  EXPECT_EQ(next(pool).failure, "it needs more memory than it may have");
}
#endif

}  // namespace
}  // namespace stepcast
