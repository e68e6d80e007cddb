#include "stepcast/sim/report/names.hpp"

#include <algorithm>
#include <map>

namespace stepcast {
namespace {

constexpr std::int64_t no_layer = -1;

/// Where the flow's part takes longest; nullptr where no link is loaded.
const NetworkLink* tightest_link(const NetworkMap& network, const NetworkFlow& flow) {
  const NetworkLink* tightest = nullptr;
  double slowest = 0;
  for (const NetworkLink& link : network.links) {
    const auto found = std::ranges::lower_bound(link.loads, flow.number, {},
                                                &std::pair<std::uint32_t, double>::first);
    if (found == link.loads.end() || found->first != flow.number) continue;
    if (found->second / link.bandwidth <= slowest) continue;
    slowest = found->second / link.bandwidth;
    tightest = &link;
  }
  return tightest;
}

/// Its end is that of the phase.
const NetworkFlow* slowest_flow(const std::vector<NetworkFlow>& phase) {
  const auto time = [](const NetworkFlow& f) { return f.latency + f.alone; };
  const auto found = std::ranges::max_element(phase, {}, time);
  return found == phase.end() ? nullptr : &*found;
}

struct PhaseTimes {
  double latency = 0;
  std::map<std::string, double> bytes;
  void add(const NetworkMap& network, const NetworkFlow& flow) {
    latency += flow.latency;
    if (flow.alone <= 0) return;
    const NetworkLink* link = tightest_link(network, flow);
    bytes[link ? name(link->kind) : "all links"] += flow.alone;
  }
};

}  // namespace

std::string unit_name(const Unit& unit) {
  static constexpr const char* letters[] = {"F mb", "B mb", "b mb", "w mb"};
  std::string text = letters[static_cast<std::size_t>(unit.kind)];
  text += std::to_string(unit.micro_batch.value);
  text += " chunk";
  text += std::to_string(unit.chunk.value);
  if (unit.slice.value > 0) text += " slice" + std::to_string(unit.slice.value);
  return text;
}

const std::string& operator_name(const StageProgram& program, std::uint32_t segment,
                                 std::size_t index) {
  static const std::string nameless = "compute";
  // Programs of given times have no names.
  if (segment >= program.segment_names.size() || program.segment_names[segment].size() <= index)
    return nameless;
  return program.operator_names[program.segment_names[segment][index]];
}

std::string segment_name(const StageProgram& program, std::uint32_t segment) {
  const std::string& first = operator_name(program, segment, 0);
  const std::size_t size = program.segments[segment].size();
  if (size < 2) return first;
  const std::string& last = operator_name(program, segment, size - 1);
  return first == last ? first : first + " .. " + last;
}

std::vector<CommunicationShare> communication_shares(const RecordedRun& run,
                                                     const Recording::Communication& communication,
                                                     double duration) {
  const NetworkMap& network = run.network;
  PhaseTimes times;
  if (communication.network != Recording::none) {
    for (const auto& phase : network.calls[communication.network].phases)
      if (const NetworkFlow* flow = slowest_flow(phase)) times.add(network, *flow);
  } else {
    const std::uint32_t sender = run.recording.members_of(communication)->rank_class;
    times.add(network, network.hop(communication.channel, sender).flow);
    times.latency = 0;  // comes after the bytes
  }
  std::vector<CommunicationShare> shares;
  const double latency = std::min(times.latency, duration);
  double bytes = 0;
  for (const auto& [where, seconds] : times.bytes) bytes += seconds;
  // Without bytes all of it is latency.
  if (bytes <= 0) return {{"latency", duration}};
  if (latency > 0) shares.push_back({"latency", latency});
  // What sharing the network adds is told with the links that bind the flows alone.
  for (const auto& [where, seconds] : times.bytes)
    shares.push_back({where, (duration - latency) * seconds / bytes});
  return shares;
}

struct CallNames::ChunkLayers {
  std::vector<std::int64_t> all, expert;
};

std::vector<CallNames::ChunkLayers> CallNames::layers_of_chunks(const LayerTable& layers,
                                                                const ModelSpec& model,
                                                                std::uint32_t stage) {
  std::vector<ChunkLayers> chunks;
  for (const auto& chunk : layers.slices) {
    const LayerTable::Slice& slice = chunk[stage];
    ChunkLayers& has = chunks.emplace_back();
    for (std::int64_t l = slice.first; l < slice.first + slice.count; ++l) {
      has.all.push_back(l);
      if (model.is_moe_layer(l)) has.expert.push_back(l);
    }
  }
  return chunks;
}

CallNames::CallNames(const RecordedRun& run, const ModelSpec& model, std::uint32_t rank_class) {
  const std::uint32_t stage = run.network.classes.stage[rank_class].value;
  for (const StageCall& call : run.programs[stage].calls) {
    const std::string kind = stepcast::name(call.call.kind);
    names_.push_back(call.name.starts_with(kind) ? call.name : kind + " " + call.name);
  }
  if (run.layers.slices.empty()) return;
  const Recording::RankRecord& rank = run.recording.ranks[rank_class];
  layer_.assign(rank.entries.size(), no_layer);
  const std::vector<ChunkLayers> chunks = layers_of_chunks(run.layers, model, stage);
  // The entries of a unit stand together, and it has few calls: [call of the network] its entries.
  std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> issued;
  std::uint32_t unit = Recording::none;
  const auto close = [&] {
    for (auto& [call, entries] : issued) {
      number_layers(rank.units[unit].unit, chunks, entries);
      entries.clear();
    }
  };
  for (std::uint32_t e = 0; e < rank.entries.size(); ++e) {
    const Recording::Entry& entry = rank.entries[e];
    if (entry.unit == Recording::none) continue;
    if (entry.unit != unit) close();
    unit = entry.unit;
    if (entry.kind != Recording::Kind::issue || entry.communication == Recording::none) continue;
    const std::uint32_t call = run.recording.communications[entry.communication].network;
    if (call == Recording::none) continue;
    auto found = std::ranges::find(issued, call, [](const auto& i) { return i.first; });
    if (found == issued.end()) found = issued.insert(found, {call, {}});
    found->second.push_back(e);
  }
  close();
}

/// As many calls as the chunk has layers, or MoE layers, are one of each, in their order.
void CallNames::number_layers(const Unit& unit, const std::vector<ChunkLayers>& chunks,
                              const std::vector<std::uint32_t>& entries) {
  const ChunkLayers& chunk = chunks[unit.chunk.value];
  const std::size_t count = entries.size();
  if (count < 2 || (count != chunk.all.size() && count != chunk.expert.size())) return;
  const std::vector<std::int64_t>& layers = count == chunk.all.size() ? chunk.all : chunk.expert;
  // Backward passes go through the layers in reverse.
  for (std::size_t i = 0; i < count; ++i)
    layer_[entries[i]] = layers[unit.kind == UnitKind::forward ? i : count - 1 - i];
}

std::string CallNames::of_entry(std::uint32_t entry, std::uint32_t call) const {
  const bool known = entry < layer_.size() && layer_[entry] != no_layer;
  return known ? names_[call] + " L" + std::to_string(layer_[entry]) : names_[call];
}

const char* name(Solver solver) {
  switch (solver) {
    case Solver::closed_form:
      return "closed_form";
    case Solver::simgrid:
      return "simgrid";
    case Solver::incremental:
      return "incremental";
    case Solver::reference:
      // The judge: SimGrid's own hosts and activities.
      break;
  }
  return "simgrid_reference";
}

}  // namespace stepcast
