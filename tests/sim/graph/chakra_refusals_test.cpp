#include <gtest/gtest.h>

#include <functional>

#include "chakra_jobs.hpp"
#include "sim/graph/chakra_wire.hpp"
#include "stepcast/base/errors.hpp"
#include "temporary_files.hpp"
#include "texts.hpp"

// What ASTRA-sim drops in silence is refused with rank, id and name.
namespace stepcast {
namespace {

using test::has;

using namespace graph_tests;

struct Folder {
  test::TemporaryFiles files;
  ChakraTraces traces;
  explicit Folder(const Job& job) {
    const TaskGraph graph = graph_of(job);
    std::vector<Rank> ranks;
    for (std::uint32_t r = 0; r < graph.plan.world(); ++r) ranks.push_back(Rank{r});
    traces = chakra_traces(graph, ranks);
  }
  std::string complaint(std::size_t left_out = SIZE_MAX) const {
    files.write("job.groups.json", traces.groups);
    std::string folder;
    for (std::size_t r = 0; r < traces.of_rank.size(); ++r)
      if (r != left_out) {
        const std::string file = files.write("job." + std::to_string(r) + ".et", traces.of_rank[r]);
        folder = file.substr(0, file.rfind('/'));
      }
    try {
      (void)read_chakra(folder);
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  }
};

/// A node by hand: id, name, type, needs.
std::string node(std::uint64_t id, std::uint64_t type, const std::vector<std::uint64_t>& needs,
                 const std::function<void(chakra::Writer&)>& more = {}) {
  chakra::Writer writer;
  writer.varint(1, id);
  writer.text(2, "by hand");
  writer.varint(3, type);
  writer.packed(5, needs);
  if (more) more(writer);
  std::string record;
  chakra::append_varint(record, writer.bytes().size());
  return record + writer.bytes();
}

TEST(ChakraRefusals, WhatIsWholeIsRead) {
  const Folder folder(jobs()[0]);
  EXPECT_EQ(folder.complaint(), "");
}

TEST(ChakraRefusals, AMissingRank) {
  const Folder folder(jobs()[0]);
  EXPECT_TRUE(has(folder.complaint(2), "rank 2: has no trace")) << folder.complaint(2);
}

TEST(ChakraRefusals, ARankOutsideTheJobInAGroup) {
  Folder folder(jobs()[0]);
  for (const char* rank : {"-1", "1000000", "1.5"}) {
    folder.traces.groups = std::string("{\"1\": [0, ") + rank + "]}";
    EXPECT_TRUE(has(folder.complaint(), "is no group, allowed: an object of lists")) << rank;
  }
}

TEST(ChakraRefusals, ARecordThatIsCutOff) {
  Folder folder(jobs()[0]);
  folder.traces.of_rank[1].pop_back();
  const std::string text = folder.complaint();
  EXPECT_TRUE(has(text, "rank 1: ends inside the record")) << text;
  EXPECT_TRUE(has(text, "behind node ")) << text;
}

TEST(ChakraRefusals, AReceiveWithoutItsSend) {
  Folder folder(jobs()[0]);
  folder.traces.of_rank[0] += node(999, chakra::receive, {}, [](chakra::Writer& writer) {
    for (const auto& [name, value] : {std::pair<const char*, std::uint64_t>{"comm_src", 1},
                                      {"comm_dst", 0},
                                      {"comm_tag", 7777},
                                      {"comm_size", 64}}) {
      chakra::Writer attribute;
      attribute.text(1, name);
      attribute.varint(11, value);
      writer.message(10, attribute);
    }
  });
  const std::string text = folder.complaint();
  EXPECT_TRUE(has(text, "rank 0, node 999 (by hand): finds no send of rank 1")) << text;
}

TEST(ChakraRefusals, ACircle) {
  Folder folder(jobs()[0]);
  folder.traces.of_rank[3] += node(901, chakra::comp, {902}) + node(902, chakra::comp, {901});
  const std::string text = folder.complaint();
  EXPECT_TRUE(has(text, "rank 3, node 901 (by hand): waits for itself")) << text;
}

TEST(ChakraRefusals, ANodeThatDoesNotExist) {
  Folder folder(jobs()[0]);
  folder.traces.of_rank[3] += node(901, chakra::comp, {4711});
  EXPECT_TRUE(has(folder.complaint(), "needs node 4711, which does not exist"));
}

TEST(ChakraRefusals, AnIdTwice) {
  Folder folder(jobs()[0]);
  folder.traces.of_rank[0] += node(1, chakra::comp, {});
  EXPECT_TRUE(has(folder.complaint(), "rank 0, node 1 ("));
}

TEST(ChakraRefusals, ATypeOfALaterSchema) {
  Folder folder(jobs()[0]);
  folder.traces.of_rank[0] += node(901, 8, {});
  EXPECT_TRUE(has(folder.complaint(), "has the type 8"));
}

TEST(ChakraRefusals, MembersThatCallUnequallyOften) {
  Folder folder(jobs()[2]);
  folder.traces.of_rank[5] = folder.traces.of_rank[5].substr(0, 8);  // the head alone
  EXPECT_TRUE(has(folder.complaint(), "waits for ever for rank 5")) << folder.complaint();
}

/// No cut and no changed byte of a trace brings the reader down.
TEST(ChakraRefusals, AnyDamageIsRefusedOrRead) {
  Job small = jobs()[0];
  small.micro_batches = 2;
  small.pp = 2;
  const Folder whole(small);
  Folder folder(small);
  const std::string& sound = whole.traces.of_rank[1];
  for (std::size_t i = 0; i < sound.size(); i += 3) {
    folder.traces.of_rank[1] = sound;
    folder.traces.of_rank[1][i] = static_cast<char>(folder.traces.of_rank[1][i] ^ 0x55);
    (void)folder.complaint();
    folder.traces.of_rank[1] = sound.substr(0, i);
    (void)folder.complaint();
  }
}

}  // namespace
}  // namespace stepcast
