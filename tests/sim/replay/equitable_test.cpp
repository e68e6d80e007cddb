#include <gtest/gtest.h>

#include "sim/network/refinement.hpp"
#include "sim/replay/random_job.hpp"

namespace stepcast {
namespace {

using namespace testing;

/// A random job with what its graph refers to.
struct Coloured {
  explicit Coloured(Job given)
      : job{std::move(given)},
        fabric{job.cluster, job.faults},
        placement{job.plan},
        input{placement, fabric, job.programs, job.algorithms, Fold::automatic, {}, job.form},
        graph{input, false} {
    for (std::uint32_t r = 0; r < placement.world(); ++r)
      keys.push_back(placement.stage_of(Rank{r}).value);
    colours = refine(graph, keys);
  }
  Coloured(const Coloured&) = delete;
  Coloured& operator=(const Coloured&) = delete;

  Job job;
  Fabric fabric;
  Placement placement;
  NetworkMapInput input;
  JobGraph graph;
  std::vector<std::uint64_t> keys;
  Colours colours;
};

Job any_job() {
  Job job = random_job();
  job.faults = random_faults(job.cluster);
  return job;
}

/// Two colours as one; those behind move up.
void join(std::vector<std::uint32_t>& colours, std::uint32_t& count, std::uint32_t a,
          std::uint32_t b) {
  for (std::uint32_t& colour : colours) {
    if (colour == b) colour = a;
    if (colour > b) --colour;
  }
  --count;
}

TEST(Equitable, RefinementIs) {
  EXPECT_TRUE(rc::check([] {
    const Coloured c(any_job());
    RC_ASSERT(equitable(c.graph, c.keys, c.colours));
    RC_ASSERT(equitable(c.graph, c.keys, separate(c.graph, c.placement.world())));
  }));
}

// Refinement finds the coarsest partition: nothing may be joined as if two hashes were equal.
TEST(Equitable, JoinedRanksAreNot) {
  EXPECT_TRUE(rc::check([] {
    Coloured c(any_job());
    RC_PRE(c.colours.ranks >= 2);
    const auto b = *rc::gen::inRange<std::uint32_t>(1, c.colours.ranks);
    join(c.colours.rank, c.colours.ranks, *rc::gen::inRange<std::uint32_t>(0, b), b);
    RC_ASSERT(!equitable(c.graph, c.keys, c.colours));
  }));
}

TEST(Equitable, JoinedObjectsOrLinksAreNot) {
  EXPECT_TRUE(rc::check([] {
    Coloured c(any_job());
    const bool links = *rc::gen::arbitrary<bool>();
    auto& colours = links ? c.colours.link : c.colours.object;
    auto& count = links ? c.colours.links : c.colours.objects;
    RC_PRE(count >= 2);
    const auto b = *rc::gen::inRange<std::uint32_t>(1, count);
    join(colours, count, *rc::gen::inRange<std::uint32_t>(0, b), b);
    RC_ASSERT(!equitable(c.graph, c.keys, c.colours));
  }));
}

}  // namespace
}  // namespace stepcast
