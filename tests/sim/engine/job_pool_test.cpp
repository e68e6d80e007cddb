#include "stepcast/sim/engine/job_pool.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <set>
#include <thread>

#include "temporary_files.hpp"

namespace stepcast {
namespace {

std::string sleep_long() {
  std::this_thread::sleep_for(std::chrono::minutes(5));
  return "slept";
}

/// Sleeps, dies, asks for memory, or gives its order back.
std::string obeyed(std::size_t, const std::string& order) {
  if (order == "sleep") return sleep_long();
  if (order == "die") raise(SIGKILL);
  if (order == "who") return std::to_string(getpid());
  if (order == "much") return std::string(std::size_t{1} << 30U, 'x').substr(0, 3);
  return order;
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
  JobPool pool(obeyed);
  pool.start(1, "sleep");
  pool.start(2, "two");
  EXPECT_TRUE(pool.cancel(1));
  EXPECT_FALSE(pool.cancel(1)) << "it is gone";
  EXPECT_EQ(pool.size(), 1U);
  const WorkerAnswer answer = next(pool);
  EXPECT_EQ(answer.index, 2U);
  EXPECT_EQ(answer.text, "two");
  EXPECT_EQ(pool.size(), 0U);
}

TEST(JobPool, OneProcessServesOrderAfterOrder) {
  JobPool pool(obeyed);
  std::set<std::string> who;
  for (std::size_t i = 0; i < 5; ++i) {
    pool.start(i, "who");
    who.insert(next(pool).text);
  }
  EXPECT_EQ(who.size(), 1U);
  pool.start(5, "die");
  EXPECT_EQ(next(pool).failure, "its process was ended by signal 9");
  pool.start(6, "who");
  EXPECT_FALSE(who.contains(next(pool).text));
}

TEST(JobPool, ProcessesOfOtherLimitsAreOthers) {
  JobPool pool(obeyed);
  pool.start(0, "who");
  const std::string plain = next(pool).text;
  pool.start(1, "who", {.nice = 1});
  EXPECT_NE(next(pool).text, plain);
  pool.start(2, "who");
  EXPECT_EQ(next(pool).text, plain);
}

TEST(JobPool, WaitsNoLongerThanItIsTold) {
  JobPool pool(obeyed);
  pool.start(1, "sleep");
  std::vector<pollfd> none;
  EXPECT_TRUE(pool.wait(none, 10).empty());
  EXPECT_EQ(pool.size(), 1U);
}

TEST(JobPool, SaysWhichOtherFileIsReady) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  JobPool pool(obeyed);
  pool.start(1, "sleep");
  ASSERT_EQ(write(channel[1], "x", 1), 1);
  std::vector<pollfd> others{{channel[0], POLLIN, 0}};
  EXPECT_TRUE(pool.wait(others, -1).empty());
  EXPECT_EQ(others[0].revents, POLLIN);
  close(channel[0]);
  close(channel[1]);
}

// What a job starts does not outlive it: the inner process would keep the answer's pipe open.
TEST(JobPool, AJobEndsWithWhatItStarted) {
  const test::TemporaryFiles files;
  const std::string file = files.path("process");
  JobPool pool([&](std::size_t, const std::string&) {
    JobPool inner([&](std::size_t, const std::string&) {
      std::FILE* out = std::fopen(file.c_str(), "w");
      std::fprintf(out, "%d\n", getpid());
      std::fclose(out);
      return sleep_long();
    });
    inner.start(1);
    return next(inner).text;
  });
  pool.start(1);
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
    JobPool pool([](std::size_t, const std::string&) {
      return std::to_string(getpriority(PRIO_PROCESS, 0));
    });
    pool.start(0, {}, {.nice = nice});
    EXPECT_EQ(next(pool).text, std::to_string(std::min(own + nice, 19))) << nice;
  }
}

// More than a pipe or a buffer holds at once.
TEST(JobPool, LongAnswersComeWhole) {
  JobPool pool(obeyed);
  pool.start(4, std::string(1'000'003, 'x') + "end");
  const WorkerAnswer answer = next(pool);
  EXPECT_EQ(answer.text.size(), 1'000'006U);
  EXPECT_TRUE(answer.text.ends_with("xend"));
  EXPECT_EQ(answer.failure, "");
}

TEST(JobPool, MemoryIsLimited) {
  JobPool pool(obeyed);
  pool.start(1, "much", {.memory_bytes = std::uint64_t{256} << 20U});
  EXPECT_EQ(next(pool).failure, "it needs more memory than it may have");
}

// What is left over from other jobs takes no memory from a later one.
TEST(JobPool, AJobThatNeedsMemoryHasAProcessOfItsOwn) {
  std::string left;
  JobPool pool([&](std::size_t, const std::string& order) {
    if (order == "keep") {
      left.resize(std::size_t{120} << 20U);
      return std::string("kept");
    }
    return std::to_string(std::string(std::size_t{200} << 20U, 'x').size());
  });
  const JobLimits limits{.memory_bytes = std::uint64_t{320} << 20U};
  pool.start(1, "", limits);
  const std::string alone = next(pool).text;
  EXPECT_EQ(alone, std::to_string(std::size_t{200} << 20U));
  pool.start(2, "keep", limits);
  EXPECT_EQ(next(pool).text, "kept");
  pool.start(3, "", limits);
  EXPECT_EQ(next(pool).text, alone);
}
#endif

}  // namespace
}  // namespace stepcast
