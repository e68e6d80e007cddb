#include "stepcast/sim/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

/// A value as a short text: `64`, `[1, 2]`, the name of a preset, `{bandwidth: 1GB/s}`.
std::string text_of(const Node& node) {
  if (node.kind == Node::Kind::scalar) return node.text;
  if (node.kind == Node::Kind::null) return "";
  if (!node.text.empty()) return node.text;  // a preset, as the sweep names it
  if (const Node* name = node.find("name")) return name->text;
  std::string text;
  for (const Node& item : node.items) text += (text.empty() ? "" : ", ") + text_of(item);
  for (const Node::Entry& entry : node.entries)
    text += (text.empty() ? "" : ", ") + entry.key + ": " + text_of(entry.value);
  return node.kind == Node::Kind::list ? "[" + text + "]" : "{" + text + "}";
}

/// Which step each axis is at.
std::vector<std::size_t> steps_of(const Sweep& sweep, std::size_t index) {
  std::vector<std::size_t> steps(sweep.axes.size());
  for (std::size_t a = steps.size(); a-- > 0;) {
    const std::size_t size = sweep.axes[a].steps.size();
    steps[a] = index % size;
    index /= size;
  }
  return steps;
}

std::size_t index_of(const Sweep& sweep, const std::vector<std::size_t>& steps) {
  std::size_t index = 0;
  for (std::size_t a = 0; a < steps.size(); ++a)
    index = index * sweep.axes[a].steps.size() + steps[a];
  return index;
}

/// The number that a document gives for a key; nothing when it gives none that reads.
std::optional<double> count_at(const Node& root, const char* section, const char* key) {
  const Node* node = root.find(section);
  if (node != nullptr) node = node->find(key);
  if (node != nullptr && node->kind == Node::Kind::mapping) node = node->find("value");
  return node != nullptr ? parse_count(node->text) : std::nullopt;
}

/// Weak scaling: the global batch follows the devices and the length of a sequence.
void keep_tokens(Node& root, double tokens_per_device) {
  const auto devices = count_at(root, "cluster", "devices");
  if (!devices) return;  // reading the point says what is wrong
  // A synthetic workload counts sequences.
  const double sequence = std::max(count_at(root, "training", "sequence").value_or(1), 1.0);
  const double batch = tokens_per_device * *devices / sequence;
  const double whole = std::round(batch);
  if (whole < 1 || std::abs(batch - whole) > 1e-9 * batch) {
    refuse_input(
        {}, "sweep.keep",
        fmt::format("{} tokens per device are {} sequences on {} devices, allowed: a whole number",
                    shortest(tokens_per_device), shortest(batch), shortest(*devices)));
  }
  const Place place{"keep"};
  set_value(root, "training.global_batch",
            {.kind = Node::Kind::scalar, .place = place, .text = fmt::format("{:.0f}", whole)});
}

}  // namespace

std::size_t point_count(const Sweep& sweep) {
  std::size_t count = 1;
  for (const SweepAxis& axis : sweep.axes) count *= axis.steps.size();
  return count;
}

std::vector<PointValue> point_values(const Sweep& sweep, std::size_t index) {
  const std::vector<std::size_t> steps = steps_of(sweep, index);
  std::vector<PointValue> values;
  for (std::size_t a = 0; a < steps.size(); ++a) {
    const SweepAxis& axis = sweep.axes[a];
    for (std::size_t p = 0; p < axis.paths.size(); ++p)
      values.push_back({axis.paths[p], text_of(axis.steps[steps[a]][p])});
  }
  return values;
}

ScenarioDocument point_document(const Sweep& sweep, std::size_t index) {
  const std::vector<std::size_t> steps = steps_of(sweep, index);
  std::vector<std::pair<const std::string*, const Node*>> values;
  for (std::size_t a = 0; a < steps.size(); ++a) {
    const SweepAxis& axis = sweep.axes[a];
    for (std::size_t p = 0; p < axis.paths.size(); ++p)
      values.emplace_back(&axis.paths[p], &axis.steps[steps[a]][p]);
  }
  // A whole section goes before the keys inside it, and a preset before both.
  std::ranges::stable_sort(values, {}, [](const auto& v) {
    return v.second->extended ? -1 : std::ranges::count(*v.first, '.');
  });
  ScenarioDocument document = sweep.base;
  for (const auto& [path, node] : values) set_value(document.root, *path, *node);
  if (sweep.weak_tokens) keep_tokens(document.root, *sweep.weak_tokens);
  return document;
}

std::optional<std::size_t> baseline_point(const Sweep& sweep, std::size_t index) {
  if (sweep.baseline.empty()) return {};
  std::vector<std::size_t> steps = steps_of(sweep, index);
  for (std::size_t a = 0; a < steps.size(); ++a) {
    // On each axis the step whose values are all those of the baseline; axes that the baseline does
    // not name keep the point's own step.
    const SweepAxis& axis = sweep.axes[a];
    for (std::size_t k = 0; k < axis.steps.size(); ++k) {
      std::size_t given = 0, equal = 0;
      for (const PointValue& b : sweep.baseline) {
        const auto path = std::ranges::find(axis.paths, b.path);
        if (path == axis.paths.end()) continue;
        ++given;
        const auto p = static_cast<std::size_t>(path - axis.paths.begin());
        equal += text_of(axis.steps[k][p]) == b.text ? 1 : 0;
      }
      if (given == 0 || equal < given) continue;
      steps[a] = k;
      break;
    }
  }
  return index_of(sweep, steps);
}

std::string label(const std::vector<PointValue>& values) {
  std::string text;
  for (const PointValue& v : values) text += (text.empty() ? "" : " ") + v.path + "=" + v.text;
  return text;
}

}  // namespace stepcast
