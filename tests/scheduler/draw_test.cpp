#include "stepcast/scheduler/draw.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <sstream>

#include "shapes.hpp"

namespace stepcast {
namespace {

using testing::any_shape;
using testing::label;

/// Orders of one schedule with their times, alive as long as what is drawn of them.
struct Timed {
  PipelineShape shape;
  std::vector<StageOrder> orders;
  OrderTimes times;
  Timed(const PipelineSchedule& schedule, PipelineShape of, const UnitCosts& costs = {})
      : shape{of},
        orders{stage_orders(schedule, shape)},
        times{time_orders(orders, shape, costs)} {}
  Drawing drawing() const { return {orders, shape, times}; }
};

Timed timed(const char* name, PipelineShape shape, const UnitCosts& costs = {}) {
  shape.placement = pipeline_schedule(name).placement;
  return {pipeline_schedule(name), shape, costs};
}

TEST(DrawText, NamesAsMuchAsFits) {
  const Timed plain = timed("1f1b", {2, 1, 2, 2});
  EXPECT_EQ(draw_text(plain.drawing(), 49),
            "  stage 0  F0--F1--........B0------....B1------\n"
            "  stage 1  ....F0--B0------F1--B1------........\n"
            "  time     0       2       4       6       8\n");
  EXPECT_EQ(draw_text(plain.drawing(), 40),
            "  stage 0  F0-F1-......B0----...B1----\n"
            "  stage 1  ...F0-B0----F1-B1----......\n"
            "  time     0              5\n");
}

TEST(DrawText, PairsAreOneCell) {
  const Timed v = timed("dualpipe_v", {1, 2, 2, 1});
  EXPECT_EQ(to_string(v.orders[0], v.shape), "F0.0 F0.1 F1.0 B0.1 {F1.1|B0.0} B1.1 b1.0 w1.0");
  EXPECT_EQ(
      draw_text(v.drawing(), 100),
      "  stage 0  F0.0---F0.1---F1.0---B0.1----------F1.1|B0.0------------B1.1----------b1.0---"
      "w1.0---\n"
      "  time     0             2             4             6             8             10\n");
}

// No line is wider than asked for, and the columns of a row share out as its time does.
TEST(DrawText, FitsItsWidthAndKeepsTheShares) {
  EXPECT_TRUE(rc::check([] {
    const PipelineSchedule& schedule = *rc::gen::elementOf(pipeline_schedules());
    const PipelineShape shape = any_shape(schedule);
    RC_LOG() << label(schedule, shape);
    const Timed timed(schedule, shape);
    const auto width = static_cast<std::size_t>(*rc::gen::inRange(40, 300));
    std::istringstream lines(draw_text(timed.drawing(), width));
    std::string line;
    for (std::uint32_t s = 0; s < shape.stages; ++s) {
      std::getline(lines, line);
      RC_ASSERT(line.size() <= width);
      const std::size_t begin = line.rfind(' ') + 1;
      const auto columns = static_cast<double>(line.size() - begin);
      const auto idle = static_cast<double>(std::ranges::count(line, '.'));
      if (shape.chunks > 1) continue;  // their names hold dots, too
      const double share = timed.times.idle(Stage{s}) / timed.times.makespan;
      const double whole = timed.times.makespan.value();
      // Exact with whole columns per unit; else each unit may round by a column.
      if (columns >= whole) RC_ASSERT(std::abs(idle - share * columns) < 1e-6 * columns);
    }
    std::getline(lines, line);
    RC_ASSERT(line.size() <= width);
  }));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(DrawSvg, HoldsEachUnitOnceAndEscapesItsTitle) {
  EXPECT_TRUE(rc::check([] {
    const PipelineSchedule& schedule = *rc::gen::elementOf(pipeline_schedules());
    const PipelineShape shape = any_shape(schedule);
    RC_LOG() << label(schedule, shape);
    const Timed timed(schedule, shape);
    const std::string svg = draw_svg(timed.drawing(), "a < b & c");
    std::size_t units = 0;
    for (const StageOrder& order : timed.orders) units += order.size();
    RC_ASSERT(count(svg, "</title></rect>") == units);
    RC_ASSERT(count(svg, "a &lt; b &amp; c") == 2U);
    for (const std::string tag : {"rect", "text", "g", "title", "style", "svg"}) {
      const std::size_t opened = count(svg, "<" + tag + " ") + count(svg, "<" + tag + ">");
      RC_ASSERT(opened >= count(svg, "</" + tag + ">"));
    }
    RC_ASSERT(count(svg, "<g ") == count(svg, "</g>"));
    RC_ASSERT(count(svg, "nan") == 0U && count(svg, "inf") == 0U);
  }));
}

TEST(DrawSvg, IsLightAndDark) {
  const Timed plain = timed("zb_h1", {2, 1, 2, 2});
  const std::string svg = draw_svg(plain.drawing(), "zb_h1");
  EXPECT_EQ(count(svg, "@media (prefers-color-scheme: dark)"), 1U);
  EXPECT_NE(svg.find("<title>b0: 2 to 3</title>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("w backward, weight"), std::string::npos);
  EXPECT_EQ(svg.find("B backward"), std::string::npos) << "the legend names kinds that are there";
}

}  // namespace
}  // namespace stepcast
