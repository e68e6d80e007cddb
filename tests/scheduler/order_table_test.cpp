#include "stepcast/scheduler/order_table.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "shapes.hpp"
#include "stepcast/base/errors.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

using testing::any_shape;
using testing::label;

TEST(OrderTable, ParsingIsTheInverseOfWriting) {
  EXPECT_TRUE(rc::check([] {
    const PipelineSchedule& schedule = *rc::gen::elementOf(pipeline_schedules());
    const PipelineShape shape = any_shape(schedule);
    RC_LOG() << label(schedule, shape);
    for (const StageOrder& order : stage_orders(schedule, shape)) {
      const ParsedOrder parsed = parse_order(to_string(order, shape));
      RC_ASSERT(parsed.wrong.empty());
      RC_ASSERT(parsed.order == order);
    }
  }));
}

TEST(OrderTable, NamesTheWordThatIsNoUnit) {
  for (const std::string wrong : {"G1", "F", "F1.", "F1/", "F1x", "1", "{F1|B0", "{F1|}", "F1|B0",
                                  "{F1}", "F-1", "F99999999999", "F1./2", "F1/2.0"}) {
    EXPECT_EQ(parse_order("F0 " + wrong + " B0").wrong, wrong);
  }
  EXPECT_EQ(parse_order("").order.size(), 0U);
  EXPECT_EQ(parse_order(" F0\n\tB0 ").order.size(), 2U);
}

/// The file that says the orders of a schedule.
std::string table_text(const PipelineSchedule& schedule, const PipelineShape& shape) {
  constexpr const char* placements[] = {"loop", "v_shape", "bidirectional"};
  std::string text =
      "stepcast: 1\nmicro_batches: " + std::to_string(shape.micro_batches) +
      "\nchunks: " + std::to_string(shape.chunks) + "\nslices: " + std::to_string(shape.slices) +
      "\nplacement: " + placements[static_cast<std::size_t>(schedule.placement)] + "\norders:\n";
  for (const StageOrder& order : stage_orders(schedule, shape))
    text += "  - " + to_string(order, shape) + "\n";
  return text;
}

TEST(OrderTable, ReadsWhatSchedulesWrite) {
  const test::TemporaryFiles files;
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    PipelineShape shape{4, schedule.chunks.low, 8, 4, schedule.slices.low};
    shape.placement = schedule.placement;
    const OrderTable table =
        read_order_table(files.write("table.yaml", table_text(schedule, shape)), {});
    EXPECT_EQ(table.orders, stage_orders(schedule, shape)) << schedule.name;
    EXPECT_EQ(table.shape.placement, shape.placement) << schedule.name;
    EXPECT_EQ(table.shape.stages, 4) << schedule.name;
  }
}

TEST(OrderTable, SaysWhatIsWrongAndWhere) {
  const test::TemporaryFiles files;
  const std::string head = "stepcast: 1\nmicro_batches: 2\n";
  const struct {
    std::string text, says;
  } rows[] = {
      {"stepcast: 1\norders: [F0 B0]\n", "micro_batches: is missing"},
      {head + "orders: []\n", "orders: is an empty list, allowed: one text per stage"},
      {head + "orders: [F0 F1 B0 B1]\nstages: 1\n", "stages: is not a known key"},
      {head + "orders:\n  - F0 F1 B0 B1\n  - F0 G1 B0 B1\n",
       ":5:5: orders.1: holds 'G1', allowed: units such as F0"},
      {head + "orders: [F0 F1 B0]\n", ":3:9: orders: stage 0: B1 is missing"},
      {head + "orders: [F0 B0 F1 B1, F0 F1 B0 B1]\n",
       "stage 0 at B0 needs B0 of stage 1, stage 1 at F1 needs F1 of stage 0"},
      {head + "placement: v_shape\norders: [F0 B0]\n", "chunks: is 1, allowed: 2"},
      {"stepcast: 1\nmicro_batches: 3\nchunks: 2\nplacement: bidirectional\norders: [F0]\n",
       "micro_batches: is 3, allowed: an even number"},
      {"stepcast: 1\nmicro_batches: 1Mi\norders: [F0]\n", "more than 262144 forwards"},
      {"stepcast: 1\nmicro_batches: 100\norders: [F0]\n", "has 179 more such faults"},
  };
  for (const auto& [text, says] : rows) {
    try {
      read_order_table(files.write("table.yaml", text), {});
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
}

TEST(OrderTable, SaysNothingOfMoreFaultsWhereAllAreTold) {
  const test::TemporaryFiles files;
  const auto said = [&](int micro_batches) {
    try {
      read_order_table(
          files.write("table.yaml", "stepcast: 1\nmicro_batches: " + std::to_string(micro_batches) +
                                        "\norders: [F0 B0]\n"),
          {});
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  // Two units are missing of every micro-batch but the first; 20 faults are told one by one.
  EXPECT_EQ(said(11).find("more such faults"), std::string::npos);
  EXPECT_NE(said(12).find("has 2 more such faults"), std::string::npos);
}

}  // namespace
}  // namespace stepcast
