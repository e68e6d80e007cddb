#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace stepcast {

/// A colour of all drawings: on a light and on a dark ground (`#rrggbb`), and among the 256 colours
/// of terminals; -1: pages alone have it.
struct Shade {
  std::string_view name, light, dark;
  int terminal = -1;
};

/// The one list of colours: parts of a step, units of the pipeline, kinds of memory, and what pages
/// are made of.
std::span<const Shade> palette();

/// `name` is one of the palette.
const Shade& shade(std::string_view name);

/// What a terminal wants between `ESC[` and `m`: "38;5;68".
std::string terminal_code(std::string_view name);

/// The palette as variables of a style sheet, dark where the reader's system is.
std::string palette_css();

/// Lines of a diagram that are no parts of a step. The first eight stay apart for the colour-blind
/// (Okabe and Ito 2008).
inline constexpr std::array series_colours{"#0072b2", "#e69f00", "#d55e00", "#009e73", "#cc79a7",
                                           "#56b4e9", "#bbbbbb", "#f0e442", "#666666", "#000000",
                                           "#882255", "#6a4c93", "#7a9e3a", "#8d6a3f"};

}  // namespace stepcast
