#include "chakra_nodes.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "chakra_wire.hpp"
#include "graph_names.hpp"
#include "stepcast/base/canonical.hpp"
#include "stepcast/base/confined_files.hpp"

// Records, fields and attributes of a trace.
namespace stepcast::chakra {
namespace {

/// Bounds on what a damaged file may make the reader allocate.
constexpr std::size_t longest_record = 1 << 20, most_nodes = 1 << 24, longest_name = 4096,
                      most_attributes = 64;
constexpr std::uintmax_t largest_file = std::uintmax_t{1} << 31;

struct Value {
  std::uint64_t whole = 0;
  double real = 0;
  std::string text;
  bool is_real = false, is_text = false;
};
using Attributes = std::map<std::string, Value>;

/// The numbers of TYPE_val in AttributeProto: zigzag for the sint types.
void set_value(const Field& field, Value& value) {
  constexpr std::uint32_t real64 = 3, real32 = 5, sint32 = 15, sint64 = 17, text = 29, bytes = 31;
  if (field.number == real64) {
    value.real = std::bit_cast<double>(field.value);
    value.is_real = true;
  } else if (field.number == real32) {
    value.real = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    value.is_real = true;
  } else if (field.number == sint32 || field.number == sint64) {
    value.whole = (field.value >> 1U) ^ (~(field.value & 1U) + 1);
  } else if (field.number == text || field.number == bytes) {
    value.text = std::string(field.bytes);
    value.is_text = true;
  } else {
    value.whole = field.value;
  }
}

bool read_attribute(std::string_view bytes, Attributes& all) {
  Reader reader(bytes);
  std::string name;
  Value value;
  while (const auto field = reader.next()) {
    // 1 is the name; odd numbers are single values, even ones lists, which nothing here reads.
    if (field->number == 1)
      name = std::string(field->bytes);
    else if (field->number % 2 == 1)
      set_value(*field, value);
  }
  if (reader.broken() || name.size() > longest_name || all.size() >= most_attributes) return false;
  all[name] = std::move(value);
  return true;
}

struct RawNode {
  TraceNode node;
  std::uint64_t type = 0, micros = 0;
  Attributes attributes;
};

void add_needs(const Field& field, RawNode& raw, bool& good) {
  // Dependencies come packed or one by one.
  if (field.form == Field::Form::varint) return raw.node.needs.push_back(field.value);
  const auto values = unpacked(field.bytes);
  good = good && values.has_value();
  if (values) raw.node.needs.insert(raw.node.needs.end(), values->begin(), values->end());
}

bool read_fields(std::string_view record, RawNode& raw) {
  Reader reader(record);
  bool good = true;
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1:
        raw.node.id = field->value;
        break;
      case 2:
        raw.node.name = std::string(field->bytes.substr(0, longest_name));
        break;
      case 3:
        raw.type = field->value;
        break;
      case 4:
      case 5:
        // Of control and of data: both have to end before the node begins.
        add_needs(*field, raw, good);
        break;
      case 7:
        raw.micros = field->value;
        break;
      case 10:
        good = good && read_attribute(field->bytes, raw.attributes);
        break;
      default:
        break;
    }
  }
  return good && !reader.broken();
}

/// A node with what its type asks for.
class Interpreter {
 public:
  Interpreter(const Trace& trace, RawNode& raw) : trace_{trace}, raw_{raw}, node_{raw.node} {}

  void run() {
    if (const Value* host = find("is_cpu_op")) node_.on_host = host->whole != 0;
    switch (raw_.type) {
      case metadata:
        break;
      case comp:
        compute();
        break;
      case collective:
        collect();
        break;
      case send:
      case receive:
        transfer();
        break;
      case mem_load:
      case mem_store:
        trace_.fail(node_, "moves memory, which no stream of ours does, allowed: COMP, COMM nodes");
      default:
        trace_.fail(node_, "has the type " + std::to_string(raw_.type) +
                               ", allowed: those of schema 0.0.4");
    }
    if (node_.on_host && node_.kind != TraceNode::Kind::compute &&
        node_.kind != TraceNode::Kind::none)
      trace_.fail(node_, "communicates on the processor (is_cpu_op), which has no network");
  }

 private:
  const Value* find(const std::string& name) const {
    const auto found = raw_.attributes.find(name);
    return found == raw_.attributes.end() ? nullptr : &found->second;
  }
  std::uint64_t whole(const std::string& name, std::uint64_t most) const {
    const Value* value = find(name);
    if (value == nullptr || value->is_text || value->is_real)
      trace_.fail(node_, "has no whole number " + name);
    if (value->whole > most)
      trace_.fail(node_, "has " + name + " " + std::to_string(value->whole) + ", allowed: up to " +
                             std::to_string(most));
    return value->whole;
  }
  void take_bytes() {
    constexpr std::uint64_t largest = std::uint64_t{1} << 50U;
    node_.bytes = static_cast<double>(whole("comm_size", largest));
    // Traces of this program have the size as it is, not rounded.
    if (const Value* exact = find("stepcast.bytes"); exact != nullptr && exact->is_real) {
      if (!(exact->real >= 0) || exact->real > 1e18)
        trace_.fail(node_, "has stepcast.bytes below 0 or above 1e18");
      node_.bytes = exact->real;
      node_.exact = true;
    }
  }
  void compute() {
    node_.kind = TraceNode::Kind::compute;
    constexpr std::uint64_t longest = std::uint64_t{1} << 42U;  // 51 days
    if (raw_.micros > longest) trace_.fail(node_, "lasts longer than 2^42 microseconds");
    // ASTRA-sim runs a node without a duration for a nanosecond.
    node_.seconds = raw_.micros == 0 ? 1e-9 : static_cast<double>(raw_.micros) * 1e-6;
    const Value* exact = find("stepcast.duration_s");
    if (exact == nullptr || !exact->is_real) return;
    if (!(exact->real >= 0) || exact->real > 1e7)
      trace_.fail(node_, "has stepcast.duration_s below 0 or above 1e7");
    node_.seconds = exact->real;
  }
  void collect() {
    node_.kind = TraceNode::Kind::collective;
    const std::uint64_t type = whole("comm_type", 9);
    static const std::map<std::uint64_t, CollectiveKind> kinds{
        {all_reduce, CollectiveKind::all_reduce},
        {all_gather, CollectiveKind::all_gather},
        {broadcast, CollectiveKind::broadcast},
        {all_to_all, CollectiveKind::all_to_all},
        {reduce_scatter, CollectiveKind::reduce_scatter}};
    const auto kind = kinds.find(type);
    if (kind == kinds.end())
      trace_.fail(node_, "is a collective of type " + std::to_string(type) +
                             ", allowed: ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, "
                             "BROADCAST");
    node_.collective = kind->second;
    take_bytes();
    if (const Value* group = find("pg_name")) node_.group = group->text;
    // Traces of this program name the stream; in others all collectives share one.
    if (const Value* stream = find("stepcast.stream")) {
      const auto* found = std::ranges::find(graph::stream_names, stream->text);
      if (found != graph::stream_names.end())
        node_.stream = static_cast<Stream>(found - graph::stream_names.begin());
    }
  }
  void transfer() {
    const bool sends = raw_.type == send;
    node_.kind = sends ? TraceNode::Kind::send : TraceNode::Kind::receive;
    constexpr std::uint64_t most_ranks = 1 << 20;
    const auto end = [&](const char* name, bool own) {
      // The own side may be left out.
      if (own && find(name) == nullptr) return trace_.rank;
      return static_cast<std::uint32_t>(whole(name, most_ranks));
    };
    node_.source = end("comm_src", sends);
    node_.target = end("comm_dst", !sends);
    node_.tag = static_cast<std::uint32_t>(whole("comm_tag", UINT32_MAX));
    take_bytes();
    if ((sends ? node_.source : node_.target) != trace_.rank)
      trace_.fail(node_, "moves between other ranks than its own");
    if (node_.source == node_.target) trace_.fail(node_, "sends to itself");
  }

  const Trace& trace_;
  RawNode& raw_;
  TraceNode& node_;
};

std::string text_of(const std::filesystem::path& file) {
  if (size_of(file) > largest_file) refuse_input({file.string()}, {}, "is larger than 2 GiB");
  auto text = bytes_of(file);
  if (!text) refuse_input({file.string()}, {}, "cannot be read");
  return std::move(*text);
}

}  // namespace

void Trace::fail(const std::string& message) const {
  refuse_input({file}, "rank " + std::to_string(rank), message);
}
void Trace::fail(const TraceNode& node, const std::string& message) const {
  refuse_input({file},
               "rank " + std::to_string(rank) + ", node " + std::to_string(node.id) + " (" +
                   shortened(visible(node.name)) + ")",
               message);
}

Trace read_trace(const std::filesystem::path& file, std::uint32_t rank) {
  const std::string text = text_of(file);
  Trace trace{file.string(), rank, {}, stepcast::sha256(text)};
  std::string_view rest = text;
  if (rest.starts_with("\x1f\x8b")) trace.fail("is compressed with gzip, allowed: unpacked traces");
  for (bool first = true; !rest.empty(); first = false) {
    const std::string at = "at byte " + std::to_string(text.size() - rest.size());
    const auto length = take_varint(rest);
    if (!length || *length > longest_record)
      trace.fail("has no record " + at + ", allowed: records of up to 1 MiB");
    if (*length > rest.size())
      trace.fail("ends inside the record " + at + ", behind " +
                 (trace.nodes.empty() ? std::string("the head")
                                      : "node " + std::to_string(trace.nodes.back().id)));
    const std::string_view record = rest.substr(0, *length);
    rest.remove_prefix(*length);
    if (first) continue;  // GlobalMetadata, of which nothing counts
    if (trace.nodes.size() == most_nodes) trace.fail("has more than 16777216 nodes");
    RawNode raw;
    if (!read_fields(record, raw)) trace.fail("has a broken record " + at);
    Interpreter(trace, raw).run();
    trace.nodes.push_back(std::move(raw.node));
  }
  // Dependencies are looked up by id.
  std::ranges::stable_sort(trace.nodes, {}, &TraceNode::id);
  const auto twice = std::ranges::adjacent_find(trace.nodes, {}, &TraceNode::id);
  if (twice != trace.nodes.end()) trace.fail(*twice, "has the id of another node");
  return trace;
}

}  // namespace stepcast::chakra
