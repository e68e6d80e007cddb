#pragma once
#include <string>
#include <vector>

#include "stepcast/scheduler/order_times.hpp"

/// Timed orders are drawn with one row per stage and time from left to right.
namespace stepcast {

/// A drawing says what is drawn. The references must outlive it.
struct Drawing {
  const std::vector<StageOrder>& orders;  ///< [stage]
  const PipelineShape& shape;
  const OrderTimes& times;  ///< of these orders
};

/// The text has rows of at most `width` columns (at least 40), with as many columns per time as
/// fit. A unit begins with as much of its name as fits, `F3.1`, `F3` or `F`, and goes on with `-`;
/// a pair is `F7|B3` or `FB`; `.` is idle. Units shorter than a column may fall between two. A
/// scale of the time ends the text.
std::string draw_text(const Drawing& drawing, std::size_t width);

/// An SVG image of its own. Colours stand for kinds and become paler chunk by chunk, pairs
/// are halves, names stand where they fit, the times of each unit are a tooltip, and the image is
/// light or dark as the viewer prefers. `title` is text, not mark-up.
std::string draw_svg(const Drawing& drawing, const std::string& title);

}  // namespace stepcast
