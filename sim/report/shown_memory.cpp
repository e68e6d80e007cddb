#include "shown_memory.hpp"

#include <algorithm>
#include <vector>

#include "stepcast/base/csv.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

constexpr const char* shown_file = "validation/shown_memory.csv";

struct ToolRow {
  std::string vendor, tool;
  double context = 0, communicator = 0, kept = 1;
};

std::vector<ToolRow> read_tools() {
  const SearchPath search = default_search_path({});
  const auto file = find_file(shown_file, {}, search);
  // The table is shipped with the presets; without it the report leaves its lines out.
  if (!file) return {};
  const std::string name = file->string();
  const auto records = parse_csv(read_document_text(name, search, "CSV"), name);
  std::vector<ToolRow> rows;
  rows.reserve(records.size());
  // The first record is the head.
  for (std::size_t i = 1; i < records.size(); ++i) {
    const auto& cells = records[i].cells;
    const auto number = [&](std::size_t cell) {
      const auto value = cell < cells.size() ? parse_number(cells[cell]) : std::nullopt;
      if (!value || *value < 0)
        refuse_input({name, records[i].line}, {},
                     "has no number from 0, allowed: "
                     "vendor,tool,context_bytes,communicator_bytes,kept,source");
      return *value;
    };
    rows.push_back({cells.front(), cells.at(1), number(2), number(3), number(4)});
  }
  return rows;
}

const std::vector<ToolRow>& tool_rows() {
  static const std::vector<ToolRow> rows = read_tools();
  return rows;
}

}  // namespace

std::optional<ShownMemory> shown_memory(const Scenario& scenario, const MemoryBudget& budget) {
  const ClusterSpec& cluster = scenario.cluster;
  for (const ToolRow& row : tool_rows()) {
    if (row.vendor != cluster.device.vendor) continue;
    const Bytes tensors = budget.peak() - budget.communicators;
    // Each has two buffers of the library's size.
    const double opened = cluster.collectives.buffer > Bytes{0}
                              ? budget.communicators / (2.0 * cluster.collectives.buffer)
                              : 0;
    // Frozen weights are loaded once, each into a block of its own size.
    const bool frozen = scenario.workload.training.adapters.any();
    const Bytes renewed = frozen ? tensors - budget.parameters : tensors;
    const Bytes libraries{opened * row.communicator}, context{row.context};
    // An allocator frees what it keeps before a device runs out.
    const Bytes room = cluster.device.memory_capacity - tensors - libraries - context;
    const Bytes kept = std::clamp((row.kept - 1) * renewed, Bytes{0}, std::max(room, Bytes{0}));
    return ShownMemory{row.tool, tensors, kept, libraries, context};
  }
  return {};
}

}  // namespace stepcast
