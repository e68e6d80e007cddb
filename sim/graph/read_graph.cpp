#include <algorithm>
#include <cmath>
#include <optional>

#include "graph_names.hpp"
#include "stepcast/base/canonical.hpp"
#include "stepcast/base/document.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/scheduler/order_times.hpp"
#include "stepcast/sim/graph/task_graph.hpp"

// Reading back what graph_json wrote, and refusing everything else by its place in the tree.
namespace stepcast {
namespace {

constexpr std::int64_t most = 1 << 24;  ///< ranks, units

/// A value with its path in the file.
class Part {
 public:
  explicit Part(const Node& node, std::string path = {}) : node_{&node}, path_{std::move(path)} {}

  [[noreturn]] void fail(const std::string& message) const {
    refuse_input(node_->place, path_, message);
  }
  Part at(const char* key) const {
    const Node* found = node_->kind == Node::Kind::mapping ? node_->find(key) : nullptr;
    const std::string path = path_below(path_, key);
    if (found == nullptr) Part(*node_, path).fail("is missing");
    return Part(*found, path);
  }
  bool has(const char* key) const {
    return node_->kind == Node::Kind::mapping && node_->find(key) != nullptr;
  }
  bool is_null() const { return node_->kind == Node::Kind::null; }
  std::vector<Part> list() const {
    if (node_->kind != Node::Kind::list) fail("is no list");
    std::vector<Part> parts;
    for (std::size_t i = 0; i < node_->items.size(); ++i)
      parts.emplace_back(node_->items[i], path_ + "." + std::to_string(i));
    return parts;
  }
  std::int64_t count(std::int64_t low, std::int64_t high) const {
    const auto value = numeric();
    if (!value || *value != std::floor(*value) || *value < static_cast<double>(low) ||
        *value > static_cast<double>(high))
      fail("is " + shown() + ", allowed: a whole number from " + std::to_string(low) + " to " +
           std::to_string(high));
    return static_cast<std::int64_t>(*value);
  }
  std::uint32_t index(std::size_t size) const {
    if (size == 0) fail("names an entry of an empty list");
    return static_cast<std::uint32_t>(count(0, static_cast<std::int64_t>(size) - 1));
  }
  double number() const {
    const auto value = numeric();
    if (!value || !(*value >= 0) || *value > 1e18) fail("is " + shown() + ", allowed: 0 to 1e18");
    return *value;
  }
  bool flag() const {
    if (!node_->is_word("true") && !node_->is_word("false"))
      fail("is " + shown() + ", allowed: true, false");
    return node_->is_word("true");
  }
  std::string text() const {
    if (node_->kind != Node::Kind::scalar || !node_->quoted)
      fail("is " + shown() + ", allowed: text in quotes");
    return node_->text;
  }
  /// The place of a word in a list of names.
  template <class Names>
  std::size_t choice(const Names& names) const {
    const std::string word = text();
    const std::vector<std::string> all(std::begin(names), std::end(names));
    const auto found = std::ranges::find(all, word);
    if (found == all.end()) fail("is '" + word + "', allowed: " + joined(all));
    return static_cast<std::size_t>(found - all.begin());
  }

 private:
  std::optional<double> numeric() const {
    if (node_->kind != Node::Kind::scalar || node_->quoted) return {};
    return parse_number(node_->text);
  }
  std::string shown() const {
    return node_->kind == Node::Kind::scalar ? shortened(node_->text) : "no single value";
  }

  const Node* node_;
  std::string path_;
};

/// Names that files have for an enumeration, in its order.
template <class Kind>
std::vector<std::string> names_of(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < count; ++k) names.emplace_back(name(static_cast<Kind>(k)));
  return names;
}

OperatorCost read_cost(const Part& part) {
  const auto numbers = part.list();
  if (numbers.size() != 4 && numbers.size() != 5) part.fail("has neither four nor five numbers");
  OperatorCost cost{numbers[0].number(), numbers[1].number(), numbers[2].number(),
                    numbers[3].number()};
  if (numbers.size() == 5) cost.compile = numbers[4].number();
  // Compiling is a part of what the main thread does.
  if (cost.compile > cost.main) part.fail("compiles for longer than the main thread works");
  return cost;
}

Instructions read_code(const Part& part, const StageProgram& program) {
  static const std::vector<std::string> words{"compute", "communicate", "wait", "host_sync",
                                              "host_copy"};
  // Of an entry, the word itself included.
  static const std::vector<std::size_t> sizes{2, 4, 2, 2, 1};
  Instructions code;
  for (const Part& entry : part.list()) {
    const auto parts = entry.list();
    if (parts.empty()) entry.fail("is empty");
    const std::size_t kind = parts[0].choice(words);
    if (parts.size() != sizes[kind])
      entry.fail("has another number of operands than " + words[kind]);
    switch (kind) {
      case 0:
        code.push_back(Compute{parts[1].index(program.segments.size())});
        break;
      case 1:
        code.push_back(Communicate{parts[1].index(program.calls.size()),
                                   parts[2].index(program.slots), parts[3].flag()});
        break;
      case 2:
        code.push_back(Wait{parts[1].index(program.slots)});
        break;
      case 3:
        code.push_back(HostSync{parts[1].flag()});
        break;
      default:
        code.push_back(HostCopy{});
    }
  }
  return code;
}

StageCall read_call(const Part& part) {
  static const auto groups = names_of<GroupKind>(group_kinds);
  static const auto kinds = names_of<CollectiveKind>(collective_kinds);
  static const auto exposed = names_of<ExposedKind>(exposed_kinds);
  StageCall call{.name = part.at("name").text(),
                 .group = static_cast<GroupKind>(part.at("group").choice(groups)),
                 .call = {static_cast<CollectiveKind>(part.at("kind").choice(kinds)),
                          Bytes{part.at("bytes").number()}},
                 .stream = static_cast<Stream>(part.at("stream").choice(graph::stream_names)),
                 .kind = static_cast<ExposedKind>(part.at("exposed").choice(exposed)),
                 .issue = read_cost(part.at("issue")),
                 .algorithm = part.at("algorithm").text(),
                 .host_link = Seconds{part.at("host_link").number()},
                 .in_kernel = part.at("in_kernel").flag()};
  static const auto kernels = names_of<ExchangeKernel>(exchange_kernels);
  // Absent in files that were written before exchanges had kernels of their own.
  if (part.has("kernel"))
    call.kernel = static_cast<ExchangeKernel>(part.at("kernel").choice(kernels));
  if (!part.has("skew")) return call;
  for (const Part& factor : part.at("skew").list())
    call.call.skew.factor.push_back(factor.number());
  call.call.skew.senders = part.at("senders").flag();
  return call;
}

void read_segment(const Part& part, StageProgram& program) {
  std::vector<OperatorCost> costs;
  for (const Part& cost : part.at("costs").list()) costs.push_back(read_cost(cost));
  std::vector<std::uint32_t> names;
  for (const Part& operator_name : part.at("operators").list()) {
    const std::string text = operator_name.text();
    // A name that several operators have is stored once.
    const auto found = std::ranges::find(program.operator_names, text);
    names.push_back(static_cast<std::uint32_t>(found - program.operator_names.begin()));
    if (found == program.operator_names.end()) program.operator_names.push_back(text);
  }
  if (!names.empty() && names.size() != costs.size())
    part.fail("names another number of operators than it has costs");
  program.segments.emplace_back(std::move(costs));
  program.segment_names.push_back(std::move(names));
}

ChunkProgram read_chunk(const Part& part, const StageProgram& program) {
  ChunkProgram chunk;
  // Code refers to segments, calls and slots of the program, which are read before and checked
  // here.
  const auto code = [&](const char* key) { return read_code(part.at(key), program); };
  chunk.forward = code("forward");
  chunk.first_forward = code("first_forward");
  chunk.backward = code("backward");
  chunk.last_backward = code("last_backward");
  chunk.backward_input = code("backward_input");
  chunk.backward_weight = code("backward_weight");
  chunk.last_backward_weight = code("last_backward_weight");
  for (const Part& pair : part.at("paired").list())
    chunk.paired.push_back(read_code(pair, program));
  chunk.send_forward = Bytes{part.at("send_forward").number()};
  chunk.send_backward = Bytes{part.at("send_backward").number()};
  return chunk;
}

void read_stage(const Part& part, TaskGraph& graph) {
  StageProgram& program = graph.programs.emplace_back();
  program.slices = static_cast<std::uint32_t>(graph.shape.slices);
  program.slots = static_cast<std::uint32_t>(part.at("slots").count(0, most));
  for (const Part& segment : part.at("segments").list()) read_segment(segment, program);
  // All segments have names, or none has.
  if (std::ranges::all_of(program.segment_names, &std::vector<std::uint32_t>::empty))
    program.segment_names.clear();
  for (const Part& call : part.at("calls").list()) program.calls.push_back(read_call(call));
  program.send_issue = read_cost(part.at("send_issue"));
  program.prologue = read_code(part.at("prologue"), program);
  program.epilogue = read_code(part.at("epilogue"), program);
  const Part chunks = part.at("chunks");
  for (const Part& chunk : chunks.list()) program.chunks.push_back(read_chunk(chunk, program));
  if (static_cast<std::int64_t>(program.chunks.size()) != graph.shape.chunks * graph.shape.slices)
    chunks.fail("has another number of entries than chunks x slices");
  for (const ChunkProgram& chunk : program.chunks)
    if (!chunk.paired.empty() &&
        static_cast<std::int64_t>(chunk.paired.size()) != graph.shape.chunks)
      chunks.fail("pairs with another number of chunks than there are");
  StageOrder& order = graph.orders.emplace_back();
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  for (const Part& unit : part.at("order").list()) {
    const auto parts = unit.list();
    if (parts.size() != 5) unit.fail("is no unit: kind, micro-batch, chunk, slice, pair");
    order.push_back({static_cast<UnitKind>(parts[0].choice(graph::unit_names)),
                     MicroBatch{parts[1].index(size(graph.shape.micro_batches))},
                     Chunk{parts[2].index(size(graph.shape.chunks))},
                     SequenceSlice{parts[3].index(size(graph.shape.slices))}, parts[4].flag()});
  }
}

void read_plan(const Part& part, ParallelPlan& plan) {
  const auto size = [&](const char* key) { return part.at(key).count(1, 1 << 20); };
  plan.tp = size("tp");
  plan.pp = size("pp");
  plan.cp = size("cp");
  plan.dp = size("dp");
  plan.ep = size("ep");
  plan.etp = size("etp");
  // In steps, since the product of all sizes could overflow.
  if (plan.tp * plan.cp > 1 << 20 || plan.tp * plan.cp * plan.dp > 1 << 20 ||
      plan.world() > 1 << 20)
    part.fail("has more than 1048576 ranks");
  if (plan.stage_ranks() % (plan.ep * plan.etp) != 0)
    part.fail("has ep x etp that do not divide the ranks of a stage");
  plan.dp_given = plan.dp;
  plan.dp_replicate = part.has("shard_groups") ? size("shard_groups") : 1;
  if (plan.dp % plan.dp_replicate != 0 || plan.edp() % plan.dp_replicate != 0)
    part.fail("has shard_groups that do not divide dp and the replicas of experts");
  plan.expert_part = part.at("expert_part").count(0, 1 << 20);
  plan.order.clear();
  for (const Part& word : part.at("order").list()) plan.order.push_back(word.text());
  std::vector<std::string> sorted = plan.order;
  std::ranges::sort(sorted);
  if (sorted != std::vector<std::string>{"cp", "dp", "ep", "pp", "tp"})
    part.at("order").fail("is no order of tp, cp, ep, dp, pp");
}

void read_schedule(const Part& part, TaskGraph& graph) {
  PipelineShape& shape = graph.shape;
  shape.stages = graph.plan.pp;
  shape.chunks = part.at("chunks").count(1, 1 << 16);
  shape.micro_batches = part.at("micro_batches").count(1, most);
  shape.slices = part.at("slices").count(1, 1 << 16);
  shape.group = part.at("group").count(1, most);
  shape.placement =
      static_cast<ChunkPlacement>(part.at("placement").choice(graph::placement_names));
  graph.p2p = part.at("blocking").flag() ? ScheduleSpec::PointToPoint::blocking
                                         : ScheduleSpec::PointToPoint::overlapped;
  graph.micro_batch = part.at("micro_batch").count(1, most);
  graph.global_batch = part.at("global_batch").count(1, std::int64_t{1} << 40);
  if (!part.at("boundary_latency").is_null())
    graph.boundary_latency = Seconds{part.at("boundary_latency").number()};
  // What the plan would say of itself in a scenario, where these are resolved.
  graph.plan.vpp = shape.chunks;
  graph.plan.slices = shape.slices;
  graph.plan.chunk_placement = shape.placement;
}

/// Times and words of a scenario, which JSON has to quote.
Node unquoted(Node node) {
  node.quoted = false;
  for (Node& item : node.items) item = unquoted(std::move(item));
  for (Node::Entry& entry : node.entries) entry.value = unquoted(std::move(entry.value));
  return node;
}

/// Calls of groups that span stages are matched by their order: all stages must make as many.
void check_shared_calls(const TaskGraph& graph, const Part& stages) {
  for (std::size_t k = 0; k < group_kinds; ++k) {
    const auto kind = static_cast<GroupKind>(k);
    if (info(kind).form != GroupForm::grid || !info(kind).over.pp) continue;
    const auto made = [kind](const StageProgram& p) {
      return std::ranges::count(p.calls, kind, &StageCall::group);
    };
    for (const StageProgram& program : graph.programs)
      if (made(program) != made(graph.programs.front()))
        stages.fail(std::string("differ in their calls of the group ") + name(kind));
  }
}

}  // namespace

TaskGraph read_graph(const std::filesystem::path& file) {
  const std::string text = read_document_text(file.string(), SearchPath{}, "a JSON file");
  const Node tree = parse_document(text, file.string());
  const Part root(tree);
  // Another version is refused before anything else is read.
  (void)root.at("stepcast_graph").count(1, 1);
  TaskGraph graph;
  graph.sha256 = sha256(text);
  graph.name = root.at("name").text();
  read_plan(root.at("plan"), graph.plan);
  read_schedule(root.at("schedule"), graph);
  const Part algorithms = root.at("algorithms");
  for (std::size_t k = 0; k < collective_kinds; ++k)
    graph.algorithms.algorithm[k] = algorithms.at(name(static_cast<CollectiveKind>(k))).text();
  if (const Node* stalls = tree.find("stalls")) graph.stalls = unquoted(*stalls);
  const Part stages = root.at("stages");
  for (const Part& stage : stages.list()) read_stage(stage, graph);
  if (static_cast<std::int64_t>(graph.programs.size()) != graph.plan.pp)
    stages.fail("has another number of entries than pp");
  for (const std::string& fault : order_faults(graph.orders, graph.shape)) stages.fail(fault);
  check_shared_calls(graph, stages);
  return graph;
}

}  // namespace stepcast
