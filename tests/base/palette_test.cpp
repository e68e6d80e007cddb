#include "stepcast/base/palette.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace stepcast {
namespace {

/// Relative luminance of `#rrggbb` (WCAG 2.1).
double luminance(std::string_view colour) {
  constexpr std::array weights{0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double part = std::stoi(std::string(colour.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    sum += weights[i] * (part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double contrast(std::string_view a, std::string_view b) {
  const double p = luminance(a) + 0.05, q = luminance(b) + 0.05;
  return std::max(p, q) / std::min(p, q);
}

TEST(Palette, ContrastIsOneToTwentyOne) {
  EXPECT_NEAR(contrast("#000000", "#ffffff"), 21, 1e-9);
  EXPECT_NEAR(contrast("#777777", "#777777"), 1, 1e-9);
}

TEST(Palette, WhatIsDrawnCanBeSeenOnBothGrounds) {
  const Shade& paper = shade("paper");
  for (const Shade& each : palette()) {
    const bool ground = each.name == "paper" || each.name == "panel" || each.name == "line" ||
                        each.name == "heat-low";
    if (ground) continue;
    EXPECT_GE(contrast(each.light, paper.light), 2) << each.name;
    EXPECT_GE(contrast(each.dark, paper.dark), 3) << each.name;
  }
  for (const char* text : {"ink", "quiet", "accent", "better", "worse"}) {
    EXPECT_GE(contrast(shade(text).light, shade("panel").light), 4.5) << text;
    EXPECT_GE(contrast(shade(text).dark, shade("panel").dark), 4.5) << text;
  }
}

TEST(Palette, NamesAreUniqueAndInTheStyleSheetTwice) {
  const std::string css = palette_css();
  std::set<std::string_view> names;
  for (const Shade& each : palette()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    const std::string light = "--" + std::string(each.name) + ":" + std::string(each.light) + ";";
    const std::string dark = "--" + std::string(each.name) + ":" + std::string(each.dark) + ";";
    EXPECT_LT(css.find(light), css.find("prefers-color-scheme")) << each.name;
    EXPECT_NE(css.find(dark, css.find("prefers-color-scheme")), std::string::npos) << each.name;
  }
}

TEST(Palette, TerminalsHaveThePartsOfAStep) {
  for (const char* name :
       {"computing", "exposed", "tensor", "expert", "pipeline", "data", "context", "offload",
        "bubble", "host", "compile", "idle", "forward", "backward", "weight", "beside"}) {
    EXPECT_GE(shade(name).terminal, 16) << name;  // the first sixteen are the user's
    EXPECT_LE(shade(name).terminal, 255) << name;
  }
  EXPECT_EQ(terminal_code("computing"), "38;5;68");
}

}  // namespace
}  // namespace stepcast
