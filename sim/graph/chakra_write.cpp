#include <algorithm>
#include <cmath>
#include <map>

#include "chakra_wire.hpp"
#include "graph_names.hpp"
#include "stepcast/sim/graph/task_graph.hpp"

// A rank's tasks as a Chakra execution trace, schema 0.0.4 (docs/formats/graph.md).
namespace stepcast {
namespace {

using namespace chakra;

// Field numbers of Node and AttributeProto in et_def.proto.
constexpr std::uint32_t node_id = 1, node_name = 2, node_type = 3, node_data_deps = 5,
                        node_duration = 7, node_attr = 10;
constexpr std::uint32_t attr_name = 1, attr_double = 3, attr_int64 = 9, attr_uint32 = 11,
                        attr_uint64 = 13, attr_bool = 27, attr_string = 29;

Writer attribute(std::string_view name) {
  Writer attr;
  attr.text(attr_name, name);
  return attr;
}
void add_count(Writer& node, std::string_view name, std::uint32_t field, std::uint64_t value) {
  Writer attr = attribute(name);
  attr.varint(field, value);
  node.message(node_attr, attr);
}
void add_text(Writer& node, std::string_view name, std::string_view value) {
  Writer attr = attribute(name);
  attr.text(attr_string, value);
  node.message(node_attr, attr);
}
void add_real(Writer& node, std::string_view name, double value) {
  Writer attr = attribute(name);
  attr.real(attr_double, value);
  node.message(node_attr, attr);
}

/// Numbers of groups, from 1 in the order in which they are met.
class Groups {
 public:
  std::uint64_t number(const std::vector<Rank>& members) {
    const auto [place, fresh] = numbers_.try_emplace(members, numbers_.size() + 1);
    if (fresh) order_.push_back(&place->first);
    return place->second;
  }
  std::string json() const {
    std::string text = "{";
    for (std::size_t g = 0; g < order_.size(); ++g) {
      text += (g > 0 ? ",\n " : "\n ") + ("\"" + std::to_string(g + 1)) + "\": [";
      for (std::size_t i = 0; i < order_[g]->size(); ++i)
        text += (i > 0 ? ", " : "") + std::to_string((*order_[g])[i].value);
      text += "]";
    }
    return text + "\n}\n";
  }

 private:
  std::map<std::vector<Rank>, std::uint64_t> numbers_;
  std::vector<const std::vector<Rank>*> order_;
};

std::uint64_t comm_type(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return all_reduce;
    case CollectiveKind::reduce_scatter:
      return reduce_scatter;
    case CollectiveKind::all_gather:
      return all_gather;
    case CollectiveKind::all_to_all:
      return all_to_all;
    case CollectiveKind::broadcast:
    // Chakra has no type for a transfer between two: those are nodes of their own, and this is
    // never asked for them.
    case CollectiveKind::send_recv:
      break;
  }
  return broadcast;
}

/// The size of an all-gather is the shard there, and the whole with us.
std::uint64_t comm_size(const TaskNode& task) {
  const bool shard = task.collective == CollectiveKind::all_gather && !task.group.empty();
  return static_cast<std::uint64_t>(
      std::llround(shard ? task.bytes / static_cast<double>(task.group.size()) : task.bytes));
}

/// Whole microseconds, of which the sums of a rank stay within one; never none, which would be a
/// nanosecond.
class Microseconds {
 public:
  std::uint64_t next(double seconds) {
    sum_ += seconds;
    const auto end = static_cast<std::uint64_t>(std::llround(sum_ * 1e6));
    const std::uint64_t duration = end > written_ ? end - written_ : 1;
    written_ += duration;
    return duration;
  }

 private:
  double sum_ = 0;
  std::uint64_t written_ = 0;
};

Writer node_of(const TaskNode& task, std::uint64_t id, Rank rank, Groups& groups,
               Microseconds& clock) {
  Writer node;
  node.varint(node_id, id);
  node.text(node_name, task.name.empty() ? task.key : task.name);
  const NodeType types[] = {comp, collective, chakra::send, chakra::receive};
  node.varint(node_type, types[static_cast<std::size_t>(task.kind)]);
  std::vector<std::uint64_t> needs;
  // Ids count from 1, tasks from 0.
  for (const std::uint32_t need : task.needs) needs.push_back(std::uint64_t{need} + 1);
  node.packed(node_data_deps, needs);
  if (task.kind == TaskNode::Kind::compute) node.varint(node_duration, clock.next(task.seconds));
  add_count(node, "is_cpu_op", attr_bool, 0);
  switch (task.kind) {
    case TaskNode::Kind::compute:
      add_real(node, "stepcast.duration_s", task.seconds);
      break;
    case TaskNode::Kind::collective:
      add_count(node, "comm_type", attr_int64, comm_type(task.collective));
      add_count(node, "comm_size", attr_uint64, comm_size(task));
      add_text(node, "pg_name", std::to_string(groups.number(task.group)));
      add_text(node, "stepcast.stream", graph::stream_names[static_cast<std::size_t>(task.stream)]);
      add_real(node, "stepcast.bytes", task.bytes);
      break;
    case TaskNode::Kind::send:
    case TaskNode::Kind::receive: {
      const bool sends = task.kind == TaskNode::Kind::send;
      add_count(node, "comm_src", attr_uint32, sends ? rank.value : task.peer);
      add_count(node, "comm_dst", attr_uint32, sends ? task.peer : rank.value);
      add_count(node, "comm_tag", attr_uint32, task.tag);
      add_count(node, "comm_size", attr_uint64,
                static_cast<std::uint64_t>(std::llround(std::max(task.bytes, 1.0))));
      add_real(node, "stepcast.bytes", task.bytes);
      break;
    }
  }
  add_text(node, "stepcast.key", task.key);
  return node;
}

void add_record(std::string& file, const Writer& message) {
  append_varint(file, message.bytes().size());
  file += message.bytes();
}

}  // namespace

ChakraTraces chakra_traces(const TaskGraph& graph, const std::vector<Rank>& ranks) {
  ChakraTraces traces;
  Groups groups;
  for (const Rank rank : ranks) {
    std::string& file = traces.of_rank.emplace_back();
    // GlobalMetadata, with the version of the schema.
    Writer head;
    head.text(1, "0.0.4");
    add_record(file, head);
    Microseconds clock;
    std::uint64_t id = 0;
    for (const TaskNode& task : rank_tasks(graph, rank))
      add_record(file, node_of(task, ++id, rank, groups, clock));
  }
  traces.groups = groups.json();
  return traces;
}

}  // namespace stepcast
