#pragma once
#include <string>
#include <vector>

#include "stepcast/scheduler/order_times.hpp"

/// Drawings of timed orders: one row per stage, time from left to right.
namespace stepcast {

/// What is drawn. The references must outlive the drawing.
struct Drawing {
  const std::vector<StageOrder>& orders;  ///< [stage]
  const PipelineShape& shape;
  const OrderTimes& times;  ///< of these orders
};

/// Rows of at most `width` columns (at least 40), as many columns per time as fit. A unit begins
/// with as much of its name as fits, `F3.1`, `F3` or `F`, and goes on with `-`; a pair is
/// `F7|B3` or `FB`; `.` is idle. Units shorter than a column may fall between two. Ends with a
/// scale of the time.
std::string draw_text(const Drawing& drawing, std::size_t width);

/// An SVG image of its own: colours per kind, paler chunk by chunk, pairs as halves, names where
/// they fit, the times of each unit as a tooltip; light or dark as the viewer prefers. `title` is
/// text, not mark-up.
std::string draw_svg(const Drawing& drawing, const std::string& title);

}  // namespace stepcast
