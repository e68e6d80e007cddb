#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>

#include "random_scenario.hpp"
#include "stepcast/scheduler/stage_order.hpp"

namespace stepcast::laws {

/// One draft as it grows, part by part of the file.
class Drawing {
 public:
  Drawing(std::uint64_t seed, std::size_t index, std::size_t attempt) {
    std::seed_seq words{seed & 0xffffffffU, seed >> 32U, std::uint64_t{index},
                        std::uint64_t{attempt}};
    random_.seed(words);
    const auto& schedules = pipeline_schedules();
    schedule_ = &schedules[index % schedules.size()];
  }

  Draft draw() {
    pick_model();
    pick_sizes();
    pick_cluster();
    pick_schedule();
    pick_slices();
    if (!given()) {
      pick_training();
      pick_plan();
      pick_documents();
      pick_runtime();
    }
    if (experts()) pick_experts();
    if (!given()) pick_kernels();
    pick_costs();
    pick_communication();
    pick_faults();
    pick_stalls();
    pick_barriers();
    pick_simulation();
    if (!given()) pick_sharding();
    if (!given()) pick_changing_loads();
    if (!given()) pick_orders();
    if (!given()) pick_host();
    pick_level_exchange();
    if (!given()) pick_frameworks();
    if (!given()) pick_wrappers();
    if (!given()) pick_adapters();
    return std::move(draft_);
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T any(std::initializer_list<T> values) {
    return values.begin()[below(std::ssize(values))];
  }
  std::string word(std::initializer_list<const char*> words) { return any(words); }
  void set(const std::string& key, const std::string& value) {
    draft_.settings.push_back(key + "=" + value);
  }
  void set(const std::string& key, std::int64_t value) { set(key, std::to_string(value)); }
  void hit(const std::string& feature) { draft_.features.insert(feature); }
  /// Sets the key and counts the word under `feature word`.
  void take(const std::string& key, const std::string& feature, const std::string& value) {
    set(key, value);
    hit(feature + " " + value.substr(0, value.find('(')));
  }

  bool given() const { return draft_.file == "given.yaml"; }
  bool experts() const { return draft_.file == "experts.yaml" || draft_.file == "latent.yaml"; }
  bool is(const char* schedule) const { return schedule_->name == schedule; }
  bool two_directions() const { return schedule_->placement == ChunkPlacement::bidirectional; }
  std::int64_t virtual_stages() const { return two_directions() ? pp_ : pp_ * vpp_; }

  void pick_model();
  void pick_sizes();
  void pick_cluster();
  void pick_fabric();
  void pick_host();
  void pick_wires();
  void pick_platform();
  void pick_topology();
  void pick_allocation();
  void pick_disturbance();
  void pick_schedule();
  void pick_slices();
  void pick_training();
  void pick_plan();
  void pick_layers();
  void pick_mixer();
  void pick_documents();
  void pick_runtime();
  void pick_experts();
  void pick_expert_keys();
  void pick_whole_rows();
  void pick_library(std::int64_t ranks);
  void pick_dispatcher(const std::string& dispatch, const std::string& overlap);
  void pick_kernels();
  void pick_graphs();
  void pick_costs();
  void pick_communication();
  void pick_algorithms();
  void pick_faults();
  void pick_stalls();
  void pick_pauses();
  void pick_barriers();
  void pick_simulation();
  void pick_sharding();
  void pick_changing_loads();
  void pick_states();
  /// `shares`: some ranks share parameters out.
  void pick_gathers(bool shares);
  /// `from_all`: every rank has a part of each parameter.
  void pick_exchange(bool from_all);
  void pick_orders();
  void pick_update();
  void pick_frameworks();
  void pick_wrappers();
  void pick_adapters();
  void pick_level_exchange();
  /// Whether the draft has this setting, written `key=value`.
  bool has(const std::string& setting) const {
    return std::ranges::find(draft_.settings, setting) != draft_.settings.end();
  }

  std::mt19937_64 random_;
  const PipelineSchedule* schedule_ = nullptr;
  Draft draft_;
  std::int64_t tp_ = 1, pp_ = 1, vpp_ = 1, cp_ = 1, dp_ = 1, micro_batches_ = 1, node_ = 1;
  std::int64_t expert_ranks_ = 1;  ///< ep x etp
  std::int64_t layers_ = 8, sequence_ = 2048, slices_ = 1;
  std::string node_fabric_ = "mesh", nic_ = "device", topology_ = "single_switch", recompute_;
  bool super_node_ = false, kinds_ = false, allocated_ = false, has_platform_ = false,
       unfused_ = false, sparse_ = false, linear_ = false, no_softmax_ = false, fb_pair_ = false;
  bool eager_ = false, padded_ = false, leaves_ = false;
  bool library_ = false;  ///< whose kernels are both hops
  bool spread_ = false;   ///< no group but those of replicas, over several nodes of several devices
  std::string recipe_;    ///< of FP8; empty: none

  std::int64_t world() const { return tp_ * pp_ * cp_ * dp_; }
};

}  // namespace stepcast::laws
