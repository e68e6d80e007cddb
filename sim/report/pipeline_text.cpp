#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepcast/base/palette.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/report/report.hpp"

namespace stepcast {
namespace {

/// One column of a row: what is drawn, and the name of its colour; none: as the terminal has it.
struct Cell {
  char text;
  std::string_view shade;
};

std::string_view shade_of(UnitKind kind) {
  switch (kind) {
    case UnitKind::forward:
      return "forward";
    // A split backward has the colour of a whole one up to its gradient of the input.
    case UnitKind::backward:
    case UnitKind::backward_input:
      return "backward";
    case UnitKind::backward_weight:
      break;
  }
  return "weight";
}

Cell cell_of(WaitPart part) {
  switch (part) {
    case WaitPart::exposed:
      return {'~', "exposed"};
    case WaitPart::bubble:
      return {'.', "bubble"};
    case WaitPart::host_stall:
      return {'!', "host"};
    case WaitPart::compile_stall:
      return {'c', "compile"};
    case WaitPart::other_idle:
      break;
  }
  return {' ', ""};
}

/// With the number of the micro-batch where there is room for it.
std::string label_of(const Unit& unit, std::size_t room) {
  static constexpr const char* letters[] = {"F", "B", "b", "w"};
  const std::string letter = letters[static_cast<std::size_t>(unit.kind)];
  std::string text = letter + std::to_string(unit.micro_batch.value);
  if (text.size() > room) text = letter;
  text.resize(room, '-');
  return text;
}

std::string painted(const std::vector<Cell>& cells, bool colour) {
  constexpr std::string_view plain = "\x1b[0m";
  std::string text;
  std::string_view now;
  for (const Cell& cell : cells) {
    // Codes only where the colour changes.
    if (colour && cell.shade != now) {
      if (!now.empty()) text += plain;
      now = cell.shade;
      if (!now.empty()) text += "\x1b[" + terminal_code(now) + "m";
    }
    text += cell.text;
  }
  if (!now.empty()) text += plain;
  return text;
}

std::vector<Cell> row_of(const Recording::RankRecord& rank, double scale, std::size_t columns) {
  std::vector<Cell> cells(columns, {' ', ""});
  const auto column = [&](double time) {
    return std::min(columns, static_cast<std::size_t>(std::lround(time * scale)));
  };
  const auto beside = cell_of(WaitPart::exposed);
  // What is drawn later covers what it holds: first prologue and epilogue, then waits, then units.
  for (const Recording::Entry& entry : rank.entries) {
    if (entry.kind != Recording::Kind::segment || entry.unit != Recording::none) continue;
    for (std::size_t i = column(entry.after.device - entry.worked); i < column(entry.after.device);
         ++i)
      cells[i] = {'=', "beside"};
  }
  for (const Recording::Piece& piece : rank.pieces) {
    for (std::size_t i = column(piece.from); i < column(piece.to); ++i)
      cells[i] = piece.part == WaitPart::exposed ? beside : cell_of(piece.part);
  }
  for (const Recording::UnitSpan& span : rank.units) {
    const std::size_t begin = column(span.start), end = column(span.end);
    const std::string label = label_of(span.unit, end - begin);
    for (std::size_t i = begin; i < end; ++i)
      cells[i] = {label[i - begin], shade_of(span.unit.kind)};
  }
  return cells;
}

}  // namespace

std::string pipeline_text(const RecordedRun& run, std::size_t width, bool colour) {
  const RankClasses& classes = run.network.classes;
  const std::size_t stages = run.programs.size();
  const std::size_t margin = fmt::format("  stage {}  ", stages - 1).size();
  constexpr std::size_t least_width = 40;
  const std::size_t columns = std::max(width, least_width) - margin;
  const double scale = static_cast<double>(columns) / run.recording.end;
  std::string text = "  the pipeline as it ran\n";
  for (std::uint32_t s = 0; s < stages; ++s) {
    // The first class of a stage stands for all of its ranks.
    const auto first = std::ranges::find(classes.stage, Stage{s});
    const auto c = static_cast<std::size_t>(first - classes.stage.begin());
    if (c >= run.recording.ranks.size()) continue;
    text += fmt::format("{:<{}}{}\n", fmt::format("  stage {}", s), margin,
                        painted(row_of(run.recording.ranks[c], scale, columns), colour));
  }
  const std::string end = human(Seconds{run.recording.end});
  text += fmt::format("{:<{}}0{:>{}}\n", "  time", margin, end, columns - 1);
  return text +
         "  F forward, B backward, b and w its halves, = beside the pipeline; ~ exposed "
         "communication,\n  . bubble, ! host stall, c compile stall\n";
}

}  // namespace stepcast
