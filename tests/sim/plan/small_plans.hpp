#pragma once
#include <string>
#include <vector>

#include "sim/plan/enumerate.hpp"
#include "sim/plan/rules.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "temporary_files.hpp"

namespace stepcast::test {

/// One work queue, with buckets that take longer than what fills them.
inline constexpr const char* queued_plan = R"(
stepcast: 1
name: small-queued-plan
framework: none
cluster: {extends: clusters/dgx-a100.yaml, devices: 32}
model: {extends: models/llama2-7b.yaml, layers: 8}
parallel: {tp: [1, 2, 4], pp: [1, 2, 4], vpp: [1, 2], zero: [0, 1, 2, 3], sequence_parallel: [true]}
training: {sequence: 2048, global_batch: 64, micro_batch: [1, 2], recompute: [none, full]}
schedule: {pipeline: [1f1b, gpipe, interleaved_1f1b]}
runtime: {dispatch: eager, start_order: as_issued}
plan: {top: 4, shortlist: 4000, simulations: 500}
)";

inline SearchPath presets() { return default_search_path({}); }

class PlanFile {
 public:
  explicit PlanFile(const std::string& text) : path_{files_.write("plan.yaml", text)} {}
  PlanSpace read(const std::vector<std::string>& overrides = {}) const {
    return read_plan(path_, overrides, {}, presets());
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryFiles files_;
  std::string path_;
};

inline std::vector<BaseCosts> costs_of(const PlanSpace& space) {
  std::vector<BaseCosts> costs;
  for (const PlanBase& base : space.bases) costs.emplace_back(base);
  return costs;
}

/// Every combination, the reference for every branch that falls.
inline std::vector<Strategy> all_strategies(const PlanSpace& space) {
  std::vector<Strategy> all;
  const PlanDimensions& d = space.dimensions;
  Strategy s;
  for (s.base = 0; s.base < space.bases.size(); ++s.base)
    for (s.schedule = 0; s.schedule < d.schedules.size(); ++s.schedule)
      for (const auto tp : d.tp)
        for (const auto pp : d.pp)
          for (const auto vpp : d.vpp)
            for (const auto cp : d.cp)
              for (const auto ep : d.ep)
                for (const auto etp : d.etp)
                  for (const auto zero : d.zero)
                    for (const auto mb : d.micro_batch)
                      for (const auto sp : d.sequence_parallel) {
                        s.tp = tp, s.pp = pp, s.vpp = vpp, s.cp = cp, s.ep = ep, s.etp = etp;
                        s.zero = zero, s.micro_batch = mb, s.sequence_parallel = sp == 1;
                        all.push_back(s);
                      }
  return all;
}

/// By the rules of the reader alone.
inline bool reader_accepts(const PlanSpace& space, const Strategy& s) {
  const std::int64_t devices = space.bases[s.base].scenario.cluster.devices;
  if (devices % (s.tp * s.cp * s.pp) != 0) return false;
  return reader_finding(scenario_of(space, s)).empty();
}

}  // namespace stepcast::test
