#include <algorithm>
#include <array>
#include <map>

#include "algorithms.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/workloads/fair_share.hpp"

namespace stepcast {
namespace {

constexpr std::array<NamedAlgorithm, 14> algorithms{
    {{"ring", collectives::ring, {true, true, true, true, true, false}},
     {"mesh", collectives::mesh, {true, true, true, true, true, false}},
     {"one_shot", collectives::one_shot, {true, false, false, false, false, false}},
     {"nhr", collectives::nhr, {true, true, true, false, true, false}},
     {"nb", collectives::nb, {true, true, true, false, true, false}},
     {"hd", collectives::hd, {true, true, true, false, true, false}},
     {"pairwise", collectives::pairwise, {false, false, false, true, false, false}},
     {"one_sided", collectives::one_sided, {false, false, false, true, false, false}},
     {"pipeline", collectives::pipeline, {true, true, true, true, false, false}},
     {"parallel", collectives::parallel, {true, true, true, false, false, false}},
     {"hierarchical", collectives::hierarchical, {true, true, true, true, true, false}},
     {"dimensions", collectives::dimensions, {true, true, true, true, true, false}},
     {"tree", collectives::tree, {true, false, false, false, false, false}},
     {"direct", collectives::direct, {false, false, false, false, false, true}}}};

[[noreturn]] void refuse(const Fabric& fabric, std::span<const DeviceId> members,
                         const CollectiveCall& call, std::string_view algorithm) {
  // Whatever plans without complaint is allowed.
  std::vector<std::string> usable{"auto"};
  for (const NamedAlgorithm& known : algorithms)
    if (known.plan(fabric, members, call, NetworkForm::ports)) usable.emplace_back(known.name);
  refuse_input({}, "communication.algorithm." + std::string(name(call.kind)),
               "is '" + std::string(algorithm) + "', which does not fit a group of " +
                   std::to_string(members.size()) + " devices from device " +
                   std::to_string(members.front().value) + ", allowed: " + joined(usable));
}

/// What a flow puts on the PCIe tree (docs/models/offload.md): several NICs may be below a switch.
std::map<LinkId, double> pcie_loads(const Fabric& fabric, const PhaseFlow& flow) {
  std::map<LinkId, double> loads;
  if (!fabric.has_pcie()) return loads;
  for (const LinkWeight& use : flow.links)
    for (const LinkId more : fabric.over_pcie(use.link)) loads[more] += use.weight;
  return loads;
}

Seconds lone_flow(const Fabric& fabric, const PhaseFlow& flow) {
  // Plans count NICs; the tree behind them may be narrower.
  Seconds bytes = collectives::transfer_time(fabric, flow);
  for (const auto& [link, weight] : pcie_loads(fabric, flow))
    bytes = std::max(bytes, weight * (flow.bytes / fabric.link(link).bandwidth));
  return flow.latency + bytes;
}

/// Time of flows that start together.
Seconds time_of(const Fabric& fabric, const std::vector<PhaseFlow>& flows) {
  // Several flows at once share the links that they have in common.
  if (flows.size() == 1) return lone_flow(fabric, flows.front());
  std::vector<SharedFlow> shared;
  std::map<LinkId, std::uint32_t> links;
  std::vector<double> bandwidths;
  for (const PhaseFlow& flow : flows) {
    SharedFlow& s = shared.emplace_back(SharedFlow{flow.latency.value(), flow.bytes.value(), {}});
    const auto load = [&](LinkId link, double weight) {
      const auto next = static_cast<std::uint32_t>(bandwidths.size());
      const auto [place, fresh] = links.try_emplace(link, next);
      if (fresh) bandwidths.push_back(fabric.link(link).bandwidth.value());
      s.links.emplace_back(place->second, weight);
    };
    for (const LinkWeight& use : flow.links) load(use.link, use.weight);
    for (const auto& [link, weight] : pcie_loads(fabric, flow)) load(link, weight);
  }
  return Seconds{time_together(shared, bandwidths)};
}

}  // namespace

const char* name(CollectiveKind kind) {
  static constexpr std::array<const char*, collective_kinds> names{
      "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "send_recv"};
  return names[static_cast<std::size_t>(kind)];
}

std::span<const NamedAlgorithm> collective_algorithms() { return algorithms; }

CollectivePlan plan_collective(const Fabric& fabric, std::span<const DeviceId> members,
                               const CollectiveCall& call, std::string_view algorithm,
                               NetworkForm form) {
  expects(!members.empty(), "a collective has members");
  // Nobody to talk to, or nothing to say.
  if (members.size() == 1 || call.bytes.value() <= 0) return {"none", {}};
  const std::string_view wanted =
      algorithm == "auto" ? collectives::select(fabric, members, call) : algorithm;
  const auto found = std::ranges::find(algorithms, wanted, &NamedAlgorithm::name);
  // A name that is in no list comes from a file: the error lists what fits.
  if (found == algorithms.end()) refuse(fabric, members, call, wanted);
  auto plan = found->plan(fabric, members, call, form);
  if (!plan) refuse(fabric, members, call, wanted);
  return *std::move(plan);
}

Seconds lone_time(const Fabric& fabric, const CollectivePlan& plan) {
  Seconds total{0};
  for (const Phase& phase : plan.phases) total += time_of(fabric, phase.flows);
  return total;
}

double bus_factor(CollectiveKind kind, std::size_t members) {
  const auto n = static_cast<double>(members);
  switch (kind) {
    case CollectiveKind::broadcast:
    case CollectiveKind::send_recv:
      return 1;
    case CollectiveKind::all_reduce:
      // nccl-tests: bus bandwidth is the rate of the algorithm times this.
      return 2 * (n - 1) / n;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
      break;
  }
  return (n - 1) / n;
}

}  // namespace stepcast
