#include "stepcast/base/palette.hpp"

#include <algorithm>

namespace stepcast {
namespace {

constexpr std::array shades{
    // What pages are made of.
    Shade{"paper", "#ffffff", "#12161c"}, Shade{"panel", "#f6f7f9", "#1a2029"},
    Shade{"line", "#d9dee5", "#333d4a"}, Shade{"ink", "#1b222c", "#e7ebf0"},
    Shade{"quiet", "#586474", "#9aa7b6"}, Shade{"accent", "#0b5cad", "#6fb1f2"},
    Shade{"better", "#0f766e", "#2dd4bf"}, Shade{"worse", "#c2410c", "#fb923c"},
    Shade{"heat-low", "#eef1f5", "#1d242e"}, Shade{"heat-high", "#b03a06", "#ff8a4c"},
    // Parts of a step; `exposed` where its kinds are not told apart.
    Shade{"computing", "#2f6fb5", "#5b9be0", 68}, Shade{"exposed", "#e69f00", "#f0b429", 214},
    Shade{"tensor", "#b8860b", "#e9b93a", 178}, Shade{"expert", "#c2185b", "#f0679b", 168},
    Shade{"pipeline", "#00796b", "#2fb8a6", 36}, Shade{"data", "#6a4fb3", "#a18ae8", 98},
    Shade{"context", "#558b2f", "#8fc255", 107}, Shade{"offload", "#8d5a3c", "#c99470", 137},
    Shade{"bubble", "#8a94a3", "#7a8696", 245}, Shade{"host", "#d0461b", "#f2683c", 202},
    Shade{"compile", "#7d0f2b", "#ffb3a7", 131}, Shade{"idle", "#b04fc0", "#d88ae6", 134},
    Shade{"fleet", "#37474f", "#b5c3cb", 240},
    // Units of the pipeline.
    Shade{"forward", "#2f6fb5", "#5b9be0", 68}, Shade{"backward", "#4f9fd3", "#7cc4ef", 74},
    Shade{"weight", "#6f9d8c", "#7fae9c", 108}, Shade{"beside", "#1d4472", "#cfe0f7", 24},
    // Kinds of memory.
    Shade{"parameters", "#2f6fb5", "#5b9be0"}, Shade{"gradients", "#4f9fd3", "#7cc4ef"},
    Shade{"optimizer", "#6f9d8c", "#7fae9c"}, Shade{"activations", "#e69f00", "#f0b429"},
    Shade{"buffers", "#b04fc0", "#d88ae6"}};

std::string variables(std::string_view Shade::*ground) {
  std::string text = "{";
  for (const Shade& each : shades)
    text += "--" + std::string(each.name) + ":" + std::string(each.*ground) + ";";
  return text + "}";
}

}  // namespace

std::span<const Shade> palette() { return shades; }

const Shade& shade(std::string_view name) { return *std::ranges::find(shades, name, &Shade::name); }

std::string terminal_code(std::string_view name) {
  return "38;5;" + std::to_string(shade(name).terminal);
}

std::string palette_css() {
  // Paper is light, whatever the screen.
  return ":root{color-scheme:light dark}\n:root" + variables(&Shade::light) +
         "\n@media screen and (prefers-color-scheme:dark){:root" + variables(&Shade::dark) + "}\n";
}

}  // namespace stepcast
