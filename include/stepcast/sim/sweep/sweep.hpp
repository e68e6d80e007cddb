#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// Keys that vary together: one key of `grid:`, or all keys of `zip:`.
struct SweepAxis {
  std::vector<std::string> paths;
  std::vector<std::vector<Node>> steps;  ///< [step][path], as long as `paths` each
};

/// What one key is at one point, as the file writes it; a mapping is named by its `name:`.
struct PointValue {
  std::string path, text;
  friend bool operator==(const PointValue&, const PointValue&) = default;
};

/// One base scenario and the values that vary. Points are numbered from 0, the last axis fastest.
/// File format: docs/sweeps.md.
struct Sweep {
  std::string name;
  std::string question;  ///< as Scenario has it
  ScenarioDocument base;
  std::vector<SweepAxis> axes;        ///< at least one, none empty
  std::optional<double> weak_tokens;  ///< tokens per step and device that every point keeps
  std::int64_t seeds = 0;             ///< so many at each point; 0: that of the scenario alone
  std::vector<PointValue> baseline;   ///< of which efficiency is relative; empty: none
};

/// Reads a sweep file and its base. Throws InputError with every error of the file at once, or
/// those of the base: unknown keys, values that a key cannot take, empty lists, a base that is
/// wrong. `overrides` are `path.to.key=value` texts of the base.
Sweep read_sweep(const std::string& path, const SearchPath& search,
                 const std::vector<std::string>& overrides = {});

/// Names the keys of a sweep file, for its schema. It describes a draft and throws it away.
void describe_sweep_file(Visitor& visitor);

/// The sweep of `stepcast scale`: the scenario on each number of devices, `dp: auto`,
/// relative to the first. `weak` keeps the tokens per device, otherwise the global batch stays.
/// Throws InputError where the scenario is wrong.
Sweep devices_sweep(const ScenarioDocument& scenario, const std::vector<std::int64_t>& devices,
                    bool weak, const SearchPath& search);

/// The number of points, at least 1.
std::size_t point_count(const Sweep& sweep);
/// The values of point `index` in the order of the axes.
std::vector<PointValue> point_values(const Sweep& sweep, std::size_t index);
/// The scenario of the point, not read yet. Throws InputError where keeping the tokens per
/// device leaves no whole number of sequences.
ScenarioDocument point_document(const Sweep& sweep, std::size_t index);
/// The point that differs from `index` in the keys of `baseline:` only; nothing without a
/// baseline.
std::optional<std::size_t> baseline_point(const Sweep& sweep, std::size_t index);

/// Writes `cluster.devices=256 parallel.vpp=2`.
std::string label(const std::vector<PointValue>& values);

}  // namespace stepcast
