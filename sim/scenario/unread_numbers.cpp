#include "unread_numbers.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "stepcast/workloads/operator_table.hpp"

namespace stepcast {
namespace {

bool has_model(const Scenario& s) { return !s.synthetic && !s.graph; }
bool has_experts(const Scenario& s) { return has_model(s) && s.workload.model.moe.has_value(); }
bool in_fp8(const Scenario& s) {
  return s.workload.training.precision == TrainingSpec::Precision::fp8_mixed;
}
bool keeps_on_host(const Scenario& s) {
  const TrainingSpec& t = s.workload.training;
  return t.offloads_activations() || t.offload_optimizer || t.offload_experts;
}
bool launches(const Scenario& s, RuntimeSpec::Dispatch dispatch) {
  return s.workload.runtime.dispatch == dispatch;
}
bool has_affinity(const Scenario& s, StallsSpec::SlowHosts::Affinity affinity) {
  return std::ranges::count(s.stalls.slow_hosts, affinity, &StallsSpec::SlowHosts::affinity) > 0;
}

/// Keys of a cluster that begin alike, and the jobs that read them.
struct Part {
  std::string_view begin;
  bool (*is_read)(const Scenario& s);
};
// A key is read where every part that it belongs to is.
constexpr std::array<Part, 21> parts{{
    {"device.efficiency.", has_model},
    {"device.efficiency.grouped_matmul", has_experts},
    {"device.efficiency.grouped_matmul_fp8.", in_fp8},
    {"device.efficiency.matmul_fp8.", in_fp8},
    {"device.efficiency.memory.scatter_add", has_experts},
    {"device.memory.reserve", has_model},
    {"host.affinity.unbound",
     [](const Scenario& s) { return has_affinity(s, StallsSpec::SlowHosts::Affinity::unbound); }},
    {"host.affinity.cross_numa",
     [](const Scenario& s) {
       return has_affinity(s, StallsSpec::SlowHosts::Affinity::cross_numa);
     }},
    // A stream that holds one kernel: each launch waits for the one before.
    {"host.blocking", [](const Scenario& s) { return s.cluster.host.queue_depth == 1; }},
    {"host.compile.", [](const Scenario& s) { return s.workload.runtime.compile_misses > 0; }},
    {"host.cores.", keeps_on_host},
    {"host.device_link.", keeps_on_host},
    {"host.memory.", keeps_on_host},
    {"host.task_queue.",
     [](const Scenario& s) { return launches(s, RuntimeSpec::Dispatch::task_queue); }},
    {"host.graph_sink.factor",
     [](const Scenario& s) { return launches(s, RuntimeSpec::Dispatch::graph_sink); }},
    {"host.graph_sink.launch",
     [](const Scenario& s) {
       return launches(s, RuntimeSpec::Dispatch::graph_sink) || s.workload.runtime.graphs != 0;
     }},
    // A spread that is drawn takes the place of the fleet.
    {"fleet.", [](const Scenario& s) { return has_model(s) && !s.stalls.spread; }},
    {"fleet.slow_nodes.",
     [](const Scenario& s) { return !s.cluster.fleet || !s.cluster.fleet->screened; }},
    {"network.",
     [](const Scenario& s) { return s.workload.plan.world() > s.cluster.node_devices; }},
    {"node.fabric.", [](const Scenario& s) { return s.workload.plan.world() > 1; }},
    {"collectives.", [](const Scenario& s) { return s.workload.plan.world() > 1; }},
}};

/// Kernels of attention have numbers of their own; the job runs one of them.
bool is_other_attention(const Scenario& s, std::string_view key) {
  constexpr std::string_view begin = "device.efficiency.attention.";
  if (!key.starts_with(begin)) return false;
  const std::string_view kernel =
      key.substr(begin.size(), key.find('.', begin.size()) - begin.size());
  const TrainingSpec::Attention attention = s.workload.training.attention;
  if (attention == TrainingSpec::Attention::unfused) return true;
  const AttentionGeneration generation = generation_of(attention);
  if (kernel == "fused") return generation != AttentionGeneration::fused;
  const auto named = named_generations();
  const auto known = std::ranges::find(named, kernel, &AttentionGenerationName::name);
  return known != named.end() && known->kernel != generation;
}

}  // namespace

void drop_unread(const Scenario& scenario, std::vector<Assumption>& numbers) {
  constexpr std::string_view cluster = "cluster.";
  std::erase_if(numbers, [&](const Assumption& number) {
    if (!number.path.starts_with(cluster)) return false;
    const std::string_view key = std::string_view(number.path).substr(cluster.size());
    return is_other_attention(scenario, key) || std::ranges::any_of(parts, [&](const Part& part) {
             return key.starts_with(part.begin) && !part.is_read(scenario);
           });
  });
}

}  // namespace stepcast
