#include <gtest/gtest.h>

#include "stepcast/base/section.hpp"
#include "stepcast/scheduler/stage_order.hpp"

namespace stepcast {
namespace {

/// What the text says, without an error.
ScheduleSpec read(const std::string& text) {
  const Node root = parse_document(text, "f");
  Reading reading;
  ScheduleSpec spec;
  Section section{root, {}, reading};
  describe(section, spec);
  section.finish();
  for (const Diagnostic& d : reading.diagnostics) ADD_FAILURE() << d.text();
  return spec;
}

TEST(ScheduleSpec, OfNothingIsTheDefault) {
  const ScheduleSpec spec = read("{}");
  EXPECT_EQ(spec.pipeline, "1f1b");
  EXPECT_EQ(spec.pipeline_group_given, 0);
  EXPECT_EQ(spec.slices, 1);
  EXPECT_FALSE(spec.put_off);
  EXPECT_EQ(spec.warm_up.kind, WarmUp::Kind::standard);
  EXPECT_EQ(spec.name(), "1f1b");
}

TEST(ScheduleSpec, TakesWhatIsWritten) {
  const ScheduleSpec spec =
      read("{pipeline: zb_h1, group: 4, warmup: extra(2), put_off: 3, slices: 8}");
  EXPECT_EQ(spec.pipeline, "zb_h1");
  EXPECT_EQ(spec.pipeline_group_given, 4);
  EXPECT_EQ(spec.warm_up.kind, WarmUp::Kind::extra);
  EXPECT_EQ(spec.warm_up.extra, 2);
  EXPECT_EQ(spec.put_off, 3);
  EXPECT_EQ(spec.slices, 8);
  EXPECT_EQ(read("{group: 1}").pipeline_group_given, 1);
}

TEST(ScheduleSpec, SlicesAreACountOrTheirTokensOrBalanced) {
  EXPECT_EQ(read("slices: [1024, 512, 512]").slices, 3);
  EXPECT_EQ(read("slices: [1024, 512, 512]").slice_tokens,
            (std::vector<std::int64_t>{1024, 512, 512}));
  EXPECT_TRUE(read("slices: balanced(4)").balanced_slices);
  EXPECT_EQ(read("slices: balanced(4)").slices, 4);
}

}  // namespace
}  // namespace stepcast
