#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

#include "chakra_nodes.hpp"
#include "stepcast/base/canonical.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/document.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/graph/task_graph.hpp"

// Traces become programs: nodes of a rank in the order of their ids, as far as what they need
// allows, computing on the compute stream and the rest beside it (docs/formats/graph.md).
namespace stepcast {
namespace {

using namespace chakra;
namespace fs = std::filesystem;

/// Sends and receives have a stream per side each, so that no transfer holds up one of another
/// direction. Collectives use those before.
constexpr Stream send_up = Stream::to_host, send_down = Stream::from_host,
                 receive_up = Stream::context, receive_down = Stream::expert_outer;

struct File {
  fs::path path;
  std::string prefix;
  std::uint32_t rank;
};

/// `PREFIX.RANK.et`, by rank.
std::vector<File> files_of(const fs::path& folder) {
  std::vector<File> files;
  for (const fs::path& entry : files_in(folder, ".et")) {
    const std::string name = entry.filename().string();
    if (!is_file(entry)) continue;
    const std::string stem = name.substr(0, name.size() - 3);
    const std::size_t dot = stem.rfind('.');
    const std::string digits = dot == std::string::npos ? "" : stem.substr(dot + 1);
    const bool number = !digits.empty() && digits.size() < 8 &&
                        std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    if (!number)
      refuse_input({entry.string()}, {}, "has no rank in its name, allowed: PREFIX.RANK.et");
    files.push_back({entry, stem.substr(0, dot), static_cast<std::uint32_t>(std::stoul(digits))});
  }
  std::ranges::sort(files, {}, [](const File& f) { return std::tuple(f.rank, f.prefix); });
  if (files.empty()) refuse_input({folder.string()}, {}, "holds no trace PREFIX.RANK.et");
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].prefix != files[0].prefix)
      refuse_input({files[i].path.string()}, {},
                   "is of another job than " + files[0].path.string());
    // Sorted: a rank that lacks or comes twice shows at its place.
    if (files[i].rank != i)
      refuse_input({folder.string()}, "rank " + std::to_string(i),
                   "has no trace, allowed: one of each rank from 0 on");
  }
  return files;
}

/// Groups by name: `PREFIX.groups.json` or `groups.json`.
std::map<std::string, std::vector<Rank>> read_groups(const fs::path& folder,
                                                     const std::string& prefix, std::size_t ranks) {
  std::map<std::string, std::vector<Rank>> groups;
  fs::path file = folder / (prefix + ".groups.json");
  if (!is_file(file)) file = folder / "groups.json";
  if (!is_file(file)) return groups;
  const Node json =
      parse_document(read_document_text(file.string(), SearchPath{}, "a JSON file"), file.string());
  const auto fail = [&](const Place& place, const std::string& name) {
    refuse_input(place, name,
                 "is no group, allowed: an object of lists of different ranks below " +
                     std::to_string(ranks));
  };
  if (json.kind != Node::Kind::mapping) fail(json.place, {});
  for (const Node::Entry& entry : json.entries) {
    std::vector<Rank>& members = groups[entry.key];
    const Node& list = entry.value;
    if (list.kind != Node::Kind::list || list.items.empty()) fail(list.place, entry.key);
    for (const Node& item : list.items) {
      const auto rank = parse_count(item.text);
      if (!rank || *rank < 0 || *rank >= static_cast<double>(ranks)) fail(item.place, entry.key);
      members.push_back(Rank{static_cast<std::uint32_t>(*rank)});
    }
    // A copy: members stay in their order.
    auto sorted = members;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) fail(list.place, entry.key);
  }
  return groups;
}

/// The nodes in an order that keeps what each needs, the smallest id first of those that are ready.
std::vector<std::uint32_t> order_of(const Trace& trace) {
  const auto& nodes = trace.nodes;
  const auto index_of = [&](const TraceNode& node, std::uint64_t id) {
    const auto found = std::ranges::lower_bound(nodes, id, {}, &TraceNode::id);
    if (found == nodes.end() || found->id != id)
      trace.fail(node, "needs node " + std::to_string(id) + ", which does not exist");
    return static_cast<std::uint32_t>(found - nodes.begin());
  };
  // By node, how many of its needs are not in the order yet.
  std::vector<std::uint32_t> open(nodes.size());
  std::vector<std::vector<std::uint32_t>> readers(nodes.size());
  for (std::uint32_t n = 0; n < nodes.size(); ++n)
    for (const std::uint64_t need : nodes[n].needs) {
      readers[index_of(nodes[n], need)].push_back(n);
      ++open[n];
    }
  // Ids count in the order in which the writer met the nodes: the smallest ready one first is what
  // a runtime would do that issues in that order.
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t n = 0; n < nodes.size(); ++n)
    if (open[n] == 0) ready.push(n);
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const std::uint32_t reader : readers[order.back()])
      if (--open[reader] == 0) ready.push(reader);
  }
  // What waits for itself never gets ready.
  const auto stuck = std::ranges::find_if(open, [](std::uint32_t count) { return count > 0; });
  if (stuck != open.end())
    trace.fail(nodes[static_cast<std::size_t>(stuck - open.begin())],
               "waits for itself in a circle of dependencies");
  return order;
}

class Builder {
 public:
  Builder(const fs::path& folder, const std::vector<File>& files)
      : named_{read_groups(folder, files[0].prefix, files.size())} {
    for (const File& file : files) traces_.push_back(read_trace(file.path, file.rank));
    graph_.name = files[0].prefix;
    graph_.traced.emplace();
  }

  TaskGraph build() {
    match_transfers();
    for (const Trace& trace : traces_) add_rank(trace);
    check_collectives();
    // Each rank is a stage by itself, as no two need run the same program.
    const auto ranks = static_cast<std::int64_t>(traces_.size());
    graph_.plan.pp = ranks;
    graph_.plan.dp_given = 1;
    graph_.shape = {.stages = ranks, .chunks = 1, .micro_batches = 1, .group = 1};
    graph_.sha256 = fingerprint();
    return std::move(graph_);
  }

 private:
  std::string fingerprint() const {
    std::string text;
    for (const Trace& trace : traces_) text += trace.sha256 + "\n";
    for (const std::vector<Rank>& group : graph_.traced->groups) {
      for (const Rank member : group) text += std::to_string(member.value) + " ";
      text += "\n";
    }
    return sha256(text);
  }

  struct Call {
    std::uint32_t rank;
    const TraceNode* node;
    CollectiveKind kind;
    double bytes;
  };
  using Ends = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, double>;

  /// The n-th send of a tag, a size and two ranks meets the n-th receive of the same.
  void match_transfers() {
    std::map<Ends, std::pair<std::vector<const TraceNode*>, std::vector<const TraceNode*>>> all;
    for (const Trace& trace : traces_)
      for (const TraceNode& node : trace.nodes) {
        auto& [sends, receives] = all[{node.source, node.target, node.tag, node.bytes}];
        if (node.kind == TraceNode::Kind::send) sends.push_back(&node);
        if (node.kind == TraceNode::Kind::receive) receives.push_back(&node);
      }
    for (const auto& [ends, both] : all) {
      const auto& [sends, receives] = both;
      const std::size_t pairs = std::min(sends.size(), receives.size());
      const auto refuse = [&](const std::vector<const TraceNode*>& list, std::uint32_t rank,
                              std::uint32_t other, const char* what) {
        // A rank without a trace has no file to point at.
        traces_[std::min<std::size_t>(rank, traces_.size() - 1)].fail(
            *list[pairs], std::string("finds no ") + what + " of rank " + std::to_string(other) +
                              " with its tag and size");
      };
      if (receives.size() > pairs) refuse(receives, std::get<1>(ends), std::get<0>(ends), "send");
      if (sends.size() > pairs) refuse(sends, std::get<0>(ends), std::get<1>(ends), "receive");
    }
  }

  std::uint32_t group_number(std::vector<Rank> members) {
    const auto next = static_cast<std::uint32_t>(graph_.traced->groups.size());
    const auto [place, fresh] = numbers_.try_emplace(members, next);
    if (fresh) graph_.traced->groups.push_back(std::move(members));
    return place->second;
  }

  std::uint32_t group_of(const Trace& trace, const TraceNode& node) {
    if (node.kind != TraceNode::Kind::collective)
      return group_number({Rank{node.source}, Rank{node.target}});
    // No name, or 0, is the group of all ranks.
    if (node.group.empty() || node.group == "0") {
      std::vector<Rank> all;
      for (std::uint32_t r = 0; r < traces_.size(); ++r) all.push_back(Rank{r});
      return group_number(std::move(all));
    }
    const auto found = named_.find(node.group);
    if (found == named_.end())
      trace.fail(node, "names the group '" + shortened(visible(node.group)) +
                           "', which groups.json beside the traces does not hold");
    if (std::ranges::find(found->second, Rank{trace.rank}) == found->second.end())
      trace.fail(node, "calls in the group '" + node.group + "', of which its rank is no member");
    return group_number(found->second);
  }

  Stream stream_of(const Trace& trace, const TraceNode& node) const {
    const bool up = (node.kind == TraceNode::Kind::send ? node.target : node.source) > trace.rank;
    if (node.kind == TraceNode::Kind::send) return up ? send_up : send_down;
    if (node.kind == TraceNode::Kind::receive) return up ? receive_up : receive_down;
    // Streams that transfers do not use stay apart.
    const bool own = node.stream == Stream::expert || node.stream == Stream::data;
    return own ? node.stream : Stream::tensor;
  }

  static ExposedKind exposed_of(const TraceNode& node, Stream stream) {
    if (node.kind != TraceNode::Kind::collective) return ExposedKind::pipeline;
    return stream == Stream::expert ? ExposedKind::expert
           : stream == Stream::data ? ExposedKind::data
                                    : ExposedKind::tensor;
  }

  /// Of equal transfers each end meets the other's of the same number; tags tell the rest apart.
  std::uint32_t transfer_number(const TraceNode& node) {
    const Ends ends{node.source, node.target, node.tag, node.bytes};
    auto& made = node.kind == TraceNode::Kind::send ? sends_made_ : receives_made_;
    const auto next = static_cast<std::uint32_t>(transfers_.size());
    return transfers_.try_emplace({ends, made[ends]++}, next).first->second;
  }
  /// Members meet at the calls of their group in the order in which they make them.
  std::uint32_t collective_number(const Trace& trace, const TraceNode& node, std::uint32_t group,
                                  double bytes) {
    auto& calls = calls_[group];
    const std::uint32_t nth = calls_made_[{trace.rank, group}]++;
    if (calls.size() <= nth) calls.resize(nth + 1);
    calls[nth].push_back({trace.rank, &node, node.collective, bytes});
    return nth;
  }

  void add_call(const Trace& trace, const TraceNode& node, std::uint32_t slot,
                StageProgram& program) {
    const std::uint32_t group = group_of(trace, node);
    const bool transfer = node.kind != TraceNode::Kind::collective;
    const CollectiveKind kind = transfer ? CollectiveKind::send_recv : node.collective;
    // The size of an all-gather is the shard there, and the whole with us.
    const bool shard = kind == CollectiveKind::all_gather && !node.exact;
    const auto size = static_cast<double>(graph_.traced->groups[group].size());
    const double bytes = shard ? node.bytes * size : node.bytes;
    const Stream stream = stream_of(trace, node);
    graph_.traced->of_call.back().push_back(group);
    graph_.traced->occurrence.back().push_back(
        transfer ? transfer_number(node) : collective_number(trace, node, group, bytes));
    // What needs nothing does not wait for the compute stream either.
    program.prologue.push_back(
        Communicate{static_cast<std::uint32_t>(program.calls.size()), slot, !node.needs.empty()});
    program.calls.push_back({.name = node.name,
                             .group = GroupKind::world,
                             .call = {kind, Bytes{bytes}},
                             .stream = stream,
                             .kind = exposed_of(node, stream),
                             .issue = {}});
  }

  void add_compute(const TraceNode& node, StageProgram& program) {
    OperatorCost cost;
    (node.on_host ? cost.main : cost.device) = node.seconds;
    program.segment_names.push_back({static_cast<std::uint32_t>(program.operator_names.size())});
    program.operator_names.push_back(node.name);
    program.prologue.push_back(Compute{static_cast<std::uint32_t>(program.segments.size())});
    program.segments.emplace_back(std::vector<OperatorCost>{cost});
  }

  void add_rank(const Trace& trace) {
    StageProgram& program = graph_.programs.emplace_back();
    graph_.orders.emplace_back();
    graph_.traced->of_call.emplace_back();
    graph_.traced->occurrence.emplace_back();
    std::map<std::uint64_t, std::uint32_t> slots;  // of communications that nothing awaited yet
    const auto await = [&](const TraceNode& node) {
      for (const std::uint64_t need : node.needs)
        if (const auto slot = slots.find(need); slot != slots.end()) {
          program.prologue.push_back(Wait{slot->second});
          slots.erase(slot);
        }
    };
    for (const std::uint32_t index : order_of(trace)) {
      const TraceNode& node = trace.nodes[index];
      await(node);
      if (node.kind == TraceNode::Kind::none) continue;
      if (node.kind == TraceNode::Kind::compute) {
        add_compute(node, program);
        continue;
      }
      slots[node.id] = program.slots;
      add_call(trace, node, program.slots++, program);
    }
    // The rank ends when all that it started has ended.
    for (const auto& [id, slot] : slots) program.epilogue.push_back(Wait{slot});
    program.chunks.emplace_back();
  }

  /// Members must agree on the n-th call of their group, and all must make it.
  void check_collectives() const {
    for (const auto& [group, calls] : calls_) {
      const std::vector<Rank>& members = graph_.traced->groups[group];
      for (const std::vector<Call>& call : calls) {
        const Call& first = call.front();
        for (const Call& other : call)
          if (other.kind != first.kind || other.bytes != first.bytes)
            traces_[other.rank].fail(
                *other.node, "differs in kind or size from node " + std::to_string(first.node->id) +
                                 " of rank " + std::to_string(first.rank) + ", which it meets");
        if (call.size() == members.size()) continue;
        const auto missing = std::ranges::find_if(members, [&](Rank member) {
          return std::ranges::find(call, member.value, &Call::rank) == call.end();
        });
        traces_[first.rank].fail(*first.node, "waits for ever for rank " +
                                                  std::to_string(missing->value) +
                                                  ", which calls less often in their group");
      }
    }
  }

  std::map<std::string, std::vector<Rank>> named_;
  std::vector<Trace> traces_;
  TaskGraph graph_;
  std::map<std::vector<Rank>, std::uint32_t> numbers_;
  std::map<std::uint32_t, std::vector<std::vector<Call>>> calls_;  ///< [group][nth]
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> calls_made_;
  std::map<Ends, std::uint32_t> sends_made_, receives_made_;
  std::map<std::pair<Ends, std::uint32_t>, std::uint32_t> transfers_;
};

}  // namespace

TaskGraph read_chakra(const fs::path& folder) {
  const std::vector<File> files = files_of(folder);
  return Builder(folder, files).build();
}

}  // namespace stepcast
