#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/document.hpp"
#include "stepcast/base/format_version.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/import/launched.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "stepcast/sim/sweep/sweep.hpp"

namespace stepcast {
namespace {

/// A sweep file as it stands: what its paths and values may be is not checked yet.
struct SweepFile {
  std::string name, base;
  bool weak = false;           ///< `keep: {tokens_per_device: constant}`
  const Node* grid = nullptr;  ///< nothing: left out
  const Node* zip = nullptr;
  const Node* baseline = nullptr;
};

void describe(Visitor& visitor, SweepFile& file) {
  // Any key that a scenario can vary may be an axis; values are checked when a point is read.
  const auto map = [](const Node*& found, bool lists) {
    return PathMap{"scenario", describe_varied_keys, lists, &found};
  };
  describe_format_version(visitor, true);
  visitor.field({"name", Identifier{&file.name}, "name of the sweep; absent: that of its file"});
  visitor.section("sweep", "what varies", [&](Visitor& v) {
    v.field({"base", &file.base, "the scenario that is varied", any_number(), true});
    v.paths("grid", "lists of values of which every combination is a point", map(file.grid, true));
    v.paths("zip", "lists of one length whose values go together", map(file.zip, true));
    v.optional_section("keep", "what stays when the devices vary", file.weak, [](Visitor& w) {
      w.field({"tokens_per_device", only_first({{"constant"}}),
               "weak scaling: the global batch follows", any_number(), true});
    });
    v.paths("baseline", "values of the points that efficiency is relative to",
            map(file.baseline, false));
  });
}

constexpr std::size_t most_points = 1'000'000;
constexpr std::string_view grid_key = "sweep.grid", zip_key = "sweep.zip";

/// Reads the lists of `grid:` and `zip:`; every mistake goes to the Reading.
class AxisReader {
 public:
  AxisReader(Sweep& sweep, Reading& reading) : sweep_{sweep}, reading_{reading} {}

  void grid(const Node& mapping) {
    for (const Node::Entry& entry : mapping.entries) {
      SweepAxis axis{{entry.key}, {}};
      for (const Node& value : values_of(entry, grid_key)) axis.steps.push_back({value});
      if (!axis.steps.empty()) sweep_.axes.push_back(std::move(axis));
    }
  }

  void zip(const Node& mapping) {
    SweepAxis axis;
    const Node::Entry* first = nullptr;
    for (const Node::Entry& entry : mapping.entries) {
      const std::vector<Node> values = values_of(entry, zip_key);
      if (values.empty()) continue;
      if (first == nullptr) {
        first = &entry;
        axis.steps.resize(values.size());
      } else if (values.size() != axis.steps.size()) {
        report(entry.value.place, zip_key, entry.key,
               fmt::format("has {} values beside the {} of {}, allowed: as many", values.size(),
                           axis.steps.size(), first->key));
        continue;
      }
      axis.paths.push_back(entry.key);
      for (std::size_t k = 0; k < values.size(); ++k) axis.steps[k].push_back(values[k]);
    }
    if (!axis.paths.empty()) sweep_.axes.push_back(std::move(axis));
  }

 private:
  /// The values of one key that a sweep may vary; none where something is wrong.
  std::vector<Node> values_of(const Node::Entry& entry, std::string_view section) {
    const std::size_t before = reading_.diagnostics.size();
    check_path(entry, section);
    if (entry.value.kind != Node::Kind::list) {
      report(entry.value.place, section, entry.key, "is no list, allowed: a list of values");
    } else if (entry.value.items.empty()) {
      report(entry.value.place, section, entry.key, "is an empty list, allowed: a list of values");
    } else if (reading_.diagnostics.size() == before) {
      check_values(entry, section);
    }
    return reading_.diagnostics.size() == before ? entry.value.items : std::vector<Node>{};
  }

  void check_path(const Node::Entry& entry, std::string_view section) {
    const std::string& key = entry.key;
    const auto inside = [&](std::string_view name) {
      return key == name || key.starts_with(std::string(name) + ".");
    };
    if (key.empty() || key.front() == '.' || key.back() == '.' ||
        key.find("..") != std::string::npos) {
      report(entry.place, section, key, "is no path of keys, allowed: path.to.key");
    } else if (inside("name") || inside("stepcast") || inside("expect") || inside("campaign") ||
               inside("plan")) {
      report(entry.place, section, key, "changes no prediction, allowed: keys that do");
    } else if (std::ranges::find(paths_, key) != paths_.end()) {
      report(entry.place, section, key, "is in grid and zip, allowed: one of them");
    }
    paths_.push_back(key);
  }

  /// Each value alone must be one that the key takes, and stand there once.
  void check_values(const Node::Entry& entry, std::string_view section) {
    std::vector<std::string> wrong;
    for (const Node& value : entry.value.items) {
      const std::string message =
          value.extended && entry.key.ends_with(".extends")
              ? wrong_scenario_value(entry.key.substr(0, entry.key.rfind('.')), value)
              : wrong_scenario_value(entry.key, value);
      const bool unknown_key = message.starts_with("is not a known key");
      if (message.empty() || std::ranges::find(wrong, message) != wrong.end()) continue;
      wrong.push_back(message);
      // The key is wrong for every value alike: said once, where the key stands.
      report(unknown_key ? entry.place : value.place, section, entry.key, message);
    }
    if (section == zip_key) return;  // pairs may repeat a value of one key
    for (std::size_t k = 0; k < entry.value.items.size(); ++k) {
      const Node& value = entry.value.items[k];
      if (value.kind != Node::Kind::scalar) continue;
      const auto same = [&](const Node& other) { return other.text == value.text; };
      if (std::ranges::any_of(entry.value.items.begin(),
                              entry.value.items.begin() + static_cast<std::ptrdiff_t>(k), same))
        report(value.place, section, entry.key,
               "holds " + value.text + " twice, allowed: each value once");
    }
  }

  void report(const Place& place, std::string_view section, const std::string& key,
              const std::string& message) {
    reading_.report(place, std::string(section) + "." + key, message);
  }

  Sweep& sweep_;
  Reading& reading_;
  std::vector<std::string> paths_;
};

/// The values that one key takes in the sweep; empty when it does not vary.
std::vector<std::string> values_of(const Sweep& sweep, const std::string& path) {
  std::vector<std::string> values;
  for (const SweepAxis& axis : sweep.axes) {
    const auto found = std::ranges::find(axis.paths, path);
    if (found == axis.paths.end()) continue;
    const auto p = static_cast<std::size_t>(found - axis.paths.begin());
    for (const auto& step : axis.steps) values.push_back(step[p].text);
  }
  return values;
}

void read_baseline(const Node& mapping, Sweep& sweep, Reading& reading) {
  for (const Node::Entry& entry : mapping.entries) {
    const std::string path = "sweep.baseline." + entry.key;
    const std::vector<std::string> values = values_of(sweep, entry.key);
    // The keys that vary are few and the best answer to a wrong one.
    if (values.empty()) {
      std::vector<std::string> keys;
      for (const SweepAxis& axis : sweep.axes)
        keys.insert(keys.end(), axis.paths.begin(), axis.paths.end());
      reading.report(entry.place, path, "does not vary, allowed: " + joined(keys));
    } else if (std::ranges::find(values, entry.value.text) == values.end()) {
      reading.report(entry.value.place, path,
                     "is '" + entry.value.text +
                         "', which is no point of the sweep, allowed: " + joined(values));
    } else {
      sweep.baseline.push_back({entry.key, entry.value.text});
    }
  }
}

/// The file that `base:` names, beside the sweep or on the search path.
std::optional<std::string> base_file(const Node& root, const std::string& base,
                                     const SearchPath& search, Reading& reading) {
  if (base.empty()) return {};
  const Place place = place_of(root, "sweep.base");
  const auto directory = std::filesystem::path(place.file).parent_path();
  const auto file = find_file(base, directory, search);
  if (file) return file->string();
  reading.report(place, "sweep.base",
                 "names '" + shortened(base) + "', which does not exist, allowed: a scenario file");
  return {};
}

/// The keys of the file; gives the path of its base.
std::optional<std::string> read_keys(const Node& root, Sweep& sweep, bool& weak,
                                     const SearchPath& search, Reading& reading) {
  SweepFile file;
  read_mapping(root, {}, reading, [&](Visitor& v) { describe(v, file); });
  sweep.name = file.name.empty() ? name_of_file(root.place.file) : file.name;
  weak = file.weak;
  AxisReader axes{sweep, reading};
  const std::size_t before = reading.diagnostics.size();
  if (file.grid != nullptr) axes.grid(*file.grid);
  if (file.zip != nullptr) axes.zip(*file.zip);
  const bool good = reading.diagnostics.size() == before && !reading.failed.contains("sweep") &&
                    !reading.failed.contains("sweep.grid") && !reading.failed.contains("sweep.zip");
  if (good && sweep.axes.empty())
    reading.report(place_of(root, "sweep"), "sweep",
                   "varies nothing, allowed: values in grid or zip");
  if (good && file.baseline != nullptr) read_baseline(*file.baseline, sweep, reading);
  return base_file(root, file.base, search, reading);
}

void check_size(const Sweep& sweep, const Node& root, Reading& reading) {
  std::size_t count = 1;
  for (const SweepAxis& axis : sweep.axes) {
    // Checked after each axis, long before a product of many could overflow.
    count *= axis.steps.size();
    if (count <= most_points) continue;
    reading.report(place_of(root, "sweep.grid"), "sweep.grid",
                   fmt::format("gives more than {} points, allowed: fewer values", most_points));
    return;
  }
}

void check_batch(const Sweep& sweep, bool weak, const Node& root, Reading& reading) {
  if (!weak) return;
  if (!values_of(sweep, "training.global_batch").empty())
    reading.report(place_of(root, "sweep.keep"), "sweep.keep",
                   "does not go with training.global_batch, which it sets, allowed: one of them");
}

double tokens_of_device(const Scenario& scenario) {
  const TrainingSpec& training = scenario.workload.training;
  const std::int64_t sequence = std::max<std::int64_t>(training.sequence, 1);
  return static_cast<double>(training.global_batch * sequence) /
         static_cast<double>(scenario.cluster.devices);
}

}  // namespace

void describe_sweep_file(Visitor& visitor) {
  SweepFile file;
  describe(visitor, file);
}

Sweep read_sweep(const std::string& path, const SearchPath& search,
                 const std::vector<std::string>& overrides) {
  const std::string text = read_document_text(path, search);
  Reading reading;
  const Node root = load_document_text(text, path, search, &reading.diagnostics);
  require_kind(file_kind(root).value_or(FileKind::scenario), FileKind::sweep, path);
  Sweep sweep;
  bool weak = false;
  const auto base = read_keys(root, sweep, weak, search, reading);
  check_size(sweep, root, reading);
  check_batch(sweep, weak, root, reading);
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
  sweep.base = load_any_scenario(*base, overrides, search);
  const Scenario scenario = prepare_scenario(sweep.base, search, IdleAlgorithms::kept);
  if (weak) sweep.weak_tokens = tokens_of_device(scenario);
  sweep.question = question_of(text);
  return sweep;
}

Sweep devices_sweep(const ScenarioDocument& document, const std::vector<std::int64_t>& devices,
                    bool weak, const SearchPath& search) {
  const Scenario scenario = prepare_scenario(document, search, IdleAlgorithms::kept);
  Sweep sweep{.name = scenario.name, .question = document.question, .base = document};
  const auto scalar = [](std::string text) {
    return Node{.kind = Node::Kind::scalar, .place = {"--devices"}, .text = std::move(text)};
  };
  // A fixed number of replicas would fit one size alone.
  set_value(sweep.base.root, "parallel.dp", scalar("auto"));
  SweepAxis axis{{"cluster.devices"}, {}};
  for (const std::int64_t n : devices) axis.steps.push_back({scalar(std::to_string(n))});
  sweep.axes.push_back(std::move(axis));
  sweep.baseline = {{"cluster.devices", std::to_string(devices.front())}};
  if (weak) sweep.weak_tokens = tokens_of_device(scenario);
  return sweep;
}

}  // namespace stepcast
