#include "stepcast/sim/engine/workers.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <new>
#include <set>
#include <stdexcept>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/engine/engine.hpp"

namespace stepcast {
namespace {

std::map<std::size_t, WorkerAnswer> answers(std::size_t count, int workers,
                                            const std::function<std::string(std::size_t)>& job) {
  std::map<std::size_t, WorkerAnswer> all;
  run_in_workers(count, workers, job, [&](const WorkerAnswer& answer) {
    EXPECT_TRUE(all.emplace(answer.index, answer).second);
  });
  return all;
}

TEST(Workers, AnswerEveryJobOnceWhateverTheirNumber) {
  const auto job = [](std::size_t i) { return std::string(i * 10000, static_cast<char>('a' + i)); };
  for (int workers : {1, 2, 7}) {
    const auto all = answers(20, workers, job);
    ASSERT_EQ(all.size(), 20U);
    for (const auto& [i, answer] : all) {
      EXPECT_EQ(answer.text, job(i));
      EXPECT_FALSE(answer.failed());
    }
  }
  EXPECT_TRUE(answers(0, 2, job).empty());
}

TEST(Workers, TellWhatAJobThrewAndWhichSignalEndedIt) {
  const auto all = answers(3, 2, [](std::size_t i) -> std::string {
    if (i == 0) throw std::runtime_error("no such preset");
    if (i == 1) raise(SIGKILL);
    return "fine";
  });
  EXPECT_EQ(all.at(0).failure, "no such preset");
  EXPECT_EQ(all.at(1).failure, "its process was ended by signal 9");
  EXPECT_EQ(all.at(2).text, "fine");
}

std::set<std::string> texts_of(const std::map<std::size_t, WorkerAnswer>& all) {
  std::set<std::string> texts;
  for (const auto& [i, answer] : all) {
    EXPECT_EQ(answer.failure, "");
    texts.insert(answer.text);
  }
  return texts;
}

TEST(Workers, AreNoMoreProcessesThanAskedFor) {
  const auto all = answers(40, 3, [](std::size_t) { return std::to_string(getpid()); });
  EXPECT_LE(texts_of(all).size(), 3U);
}

TEST(Workers, GoOnInAnotherProcessWhereOneWasEnded) {
  const auto all = answers(12, 1, [](std::size_t i) {
    if (i % 3 == 1) raise(SIGKILL);
    return std::to_string(i);
  });
  for (const auto& [i, answer] : all) {
    EXPECT_EQ(answer.failure, i % 3 == 1 ? "its process was ended by signal 9" : "") << i;
    EXPECT_EQ(answer.text, i % 3 == 1 ? "" : std::to_string(i));
  }
}

/// Two flows that meet, which SimGrid moves; its clock is not reset.
struct FlowsInSimGrid : EngineClient {
  Engine engine{{1e9}, Sharing::simgrid};
  double end = 0;

  FlowsInSimGrid() {
    for (const std::uint64_t tag : {0, 1}) engine.post(0, tag);
    engine.run(*this);
  }
  void on_event(double, std::uint64_t tag) override {
    engine.start_flow(std::vector<LinkUse>{{0, 1}}, 1e9, tag);
  }
  void on_flow_end(double now, std::uint64_t) override { end = now; }
};

TEST(Workers, HaveAProcessForEachRunInSimGrid) {
  const auto all = answers(4, 1, [](std::size_t) {
    const FlowsInSimGrid run;
    return std::to_string(run.end) + " " + std::to_string(getpid());
  });
  EXPECT_EQ(texts_of(all).size(), 4U);
  for (const auto& [i, answer] : all) EXPECT_TRUE(answer.text.starts_with("2.000000 ")) << i;
}

TEST(Workers, TellHowManyJobsAreDoneFromNoneToAll) {
  std::vector<std::pair<std::size_t, std::size_t>> told;
  const WorkerWatch watch([&](std::size_t done, std::size_t of) { told.emplace_back(done, of); });
  answers(3, 2, [](std::size_t) { return std::string("x"); });
  EXPECT_EQ(told,
            (std::vector<std::pair<std::size_t, std::size_t>>{{0, 3}, {1, 3}, {2, 3}, {3, 3}}));
}

// A job that has workers of its own would tell of other numbers.
TEST(Workers, JobsDoNotTell) {
  const WorkerWatch watch([&](std::size_t, std::size_t of) {
    if (of == 2) throw std::runtime_error("a job tells");
  });
  const auto all = answers(1, 1, [](std::size_t) {
    std::string text;
    for (const auto& [i, answer] : answers(2, 1, [](std::size_t) { return std::string("x"); }))
      text += answer.text;
    return text;
  });
  EXPECT_EQ(all.at(0).failure, "");
  EXPECT_EQ(all.at(0).text, "xx");
}

TEST(Workers, KeepTheClassOfWhatAJobThrew) {
  const auto all = answers(2, 2, [](std::size_t i) -> std::string {
    if (i == 0) throw InputError("tp is 3");
    throw std::bad_alloc();
  });
  EXPECT_TRUE(all.at(0).bad_input);
  EXPECT_FALSE(all.at(1).bad_input);
  EXPECT_THROW(throw_failure("a run", all.at(0)), InputError);
  EXPECT_THROW(throw_failure("a run", all.at(1)), EngineError);
}

TEST(Workers, AreFewerWhereDescriptorsAreShort) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer opens a pipe to look at an exception";
#endif
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{12, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  const auto all = answers(40, 40, [](std::size_t i) { return std::to_string(i); });
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(all.size(), 40U);
  for (const auto& [i, answer] : all) EXPECT_EQ(answer.text, std::to_string(i)) << answer.failure;
}

TEST(Workers, StopWhenTheAnswersAreNotWanted) {
  const auto stop = [](const WorkerAnswer&) { throw std::runtime_error("enough"); };
  EXPECT_THROW(run_in_workers(
                   100, 2, [](std::size_t) { return std::string("x"); }, stop),
               std::runtime_error);
}

}  // namespace
}  // namespace stepcast
