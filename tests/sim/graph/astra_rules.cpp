#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <tuple>

#include "chakra_jobs.hpp"
#include "sim/graph/chakra_wire.hpp"

// ASTRA-sim's replay as one would write it down from its rules, message by message.
namespace stepcast::graph_tests {
namespace {

using chakra::Field;
using chakra::Reader;

struct Node {
  std::uint64_t type = 0, micros = 0;
  std::vector<std::uint64_t> needs;
  std::uint64_t comm_type = 0, size = 0, source = 0, target = 0, tag = 0, group = 0;
};

void read_attribute(std::string_view bytes, Node& node) {
  Reader reader(bytes);
  std::string name, text;
  std::uint64_t value = 0;
  while (const auto field = reader.next()) {
    if (field->number == 1) name = std::string(field->bytes);
    if (field->number == 29) text = std::string(field->bytes);
    if (field->number == 9 || field->number == 11 || field->number == 13) value = field->value;
  }
  if (name == "comm_type") node.comm_type = value;
  if (name == "comm_size") node.size = value;
  if (name == "comm_src") node.source = value;
  if (name == "comm_dst") node.target = value;
  if (name == "comm_tag") node.tag = value;
  if (name == "pg_name") node.group = std::stoull(text);
}

/// Ids run from 1 in the order of the file.
std::vector<Node> nodes_of(std::string_view file) {
  std::vector<Node> nodes;
  for (bool head = true; !file.empty(); head = false) {
    const std::uint64_t length = *chakra::take_varint(file);
    Reader reader(file.substr(0, length));
    file.remove_prefix(length);
    if (head) continue;
    Node& node = nodes.emplace_back();
    while (const auto field = reader.next()) {
      if (field->number == 3) node.type = field->value;
      if (field->number == 5) node.needs = *chakra::unpacked(field->bytes);
      if (field->number == 7) node.micros = field->value;
      if (field->number == 10) read_attribute(field->bytes, node);
    }
  }
  return nodes;
}

std::map<std::uint64_t, std::vector<std::uint32_t>> groups_of(const std::string& json) {
  std::map<std::uint64_t, std::vector<std::uint32_t>> groups;
  for (std::size_t at = json.find('"'); at != std::string::npos; at = json.find('"', at)) {
    auto& members = groups[std::stoull(json.substr(at + 1))];
    const std::size_t open = json.find('[', at), close = json.find(']', at);
    for (std::size_t i = open; i < close; i = json.find_first_of(",]", i + 1))
      members.push_back(static_cast<std::uint32_t>(std::stoul(json.substr(i + 1))));
    at = close;
  }
  return groups;
}

class Replay {
 public:
  explicit Replay(const ChakraTraces& traces) : groups_{groups_of(traces.groups)} {
    for (const std::string& file : traces.of_rank) {
      Rank& rank = ranks_.emplace_back();
      rank.nodes = nodes_of(file);
      rank.open.resize(rank.nodes.size());
      rank.readers.resize(rank.nodes.size());
      for (std::size_t n = 0; n < rank.nodes.size(); ++n)
        for (const std::uint64_t need : rank.nodes[n].needs) {
          rank.readers[need - 1].push_back(n);
          ++rank.open[n];
        }
    }
  }

  std::vector<std::int64_t> run() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      for (std::size_t n = 0; n < ranks_[r].nodes.size(); ++n)
        if (ranks_[r].open[n] == 0) ranks_[r].ready.insert({n, true});
      at(0, [this, r] { start_ready(r); });
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = std::get<0>(event);
      actions_[std::get<1>(event)]();
    }
    std::vector<std::int64_t> finish;
    for (const Rank& rank : ranks_)
      finish.push_back(rank.done == rank.nodes.size() ? rank.finish : -1);
    return finish;
  }

 private:
  using Event = std::pair<std::int64_t, std::size_t>;
  struct Rank {
    std::vector<Node> nodes;
    std::vector<std::uint32_t> open;
    std::vector<std::vector<std::size_t>> readers;
    std::map<std::size_t, bool> ready;
    bool computing = false, communicating = false;
    std::size_t done = 0;
    std::int64_t finish = 0;
    std::map<std::uint64_t, std::uint32_t> made;  ///< collectives by group
  };
  /// A member of a ring in one collective.
  struct Member {
    bool started = false;
    std::int64_t busy = 0;  ///< until then
    std::uint64_t taken = 0, steps = 0, reducing = 0, message = 0;
    std::uint32_t next = 0;
    std::size_t node = 0;
    std::queue<std::int64_t> arrived;
  };
  using Place = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;  ///< group, nth, rank

  void at(std::int64_t time, std::function<void()> action) {
    events_.push({time, actions_.size()});
    actions_.push_back(std::move(action));
  }
  static std::int64_t message_time(std::uint64_t bytes) {
    constexpr double bandwidth = 50 * 1073741824.0 / 1e9, latency = 500;
    return static_cast<std::int64_t>(
        std::floor(2 * latency + static_cast<double>(bytes) / bandwidth));
  }
  static std::int64_t reduction(std::uint64_t bytes) {
    return 3 * static_cast<std::int64_t>(static_cast<double>(bytes) / (1600 * 1e9) * 1e9);
  }

  void start_ready(std::uint32_t r) {
    Rank& rank = ranks_[r];
    std::vector<std::size_t> start;
    for (const auto& [n, unused] : rank.ready) {
      const std::uint64_t type = rank.nodes[n].type;
      bool& slot = type == chakra::comp ? rank.computing : rank.communicating;
      if (type != chakra::receive && slot) continue;
      if (type != chakra::receive) slot = true;
      start.push_back(n);
    }
    for (const std::size_t n : start) rank.ready.erase(n);
    for (const std::size_t n : start) begin(r, n);
  }

  void begin(std::uint32_t r, std::size_t n) {
    const Node& node = ranks_[r].nodes[n];
    const auto ends = std::tuple(node.tag, node.source, node.target, node.size);
    if (node.type == chakra::comp) {
      const auto micros = static_cast<std::int64_t>(node.micros);
      at(now_ + std::max<std::int64_t>(1, micros * 1000), [this, r, n] { end(r, n); });
    } else if (node.type == chakra::send) {
      at(now_ + message_time(node.size), [this, r, n, ends] {
        auto& [messages, waiting] = mail_[ends];
        if (waiting.empty())
          ++messages;
        else {
          const std::size_t reader = waiting.front();
          waiting.pop();
          end(static_cast<std::uint32_t>(std::get<2>(ends)), reader);
        }
        end(r, n);
      });
    } else if (node.type == chakra::receive) {
      auto& [messages, waiting] = mail_[ends];
      if (messages == 0) return waiting.push(n);
      --messages;
      at(now_, [this, r, n] { end(r, n); });
    } else {
      begin_ring(r, n);
    }
  }

  void begin_ring(std::uint32_t r, std::size_t n) {
    const Node& node = ranks_[r].nodes[n];
    const auto& members = groups_.at(node.group);
    const std::uint64_t size = members.size();
    const Place place{node.group, ranks_[r].made[node.group]++, r};
    Member& member = rings_[place];
    const auto own = std::ranges::find(members, r) - members.begin();
    member.next = members[(static_cast<std::size_t>(own) + 1) % size];
    member.node = n;
    member.started = true;
    member.message = node.comm_type == chakra::all_gather ? node.size : node.size / size;
    member.steps = node.comm_type == chakra::all_reduce   ? 2 * (size - 1)
                   : node.comm_type == chakra::all_to_all ? size * (size - 1) / 2
                                                          : size - 1;
    const bool reduces =
        node.comm_type == chakra::all_reduce || node.comm_type == chakra::reduce_scatter;
    member.reducing = reduces ? size - 1 : 0;
    member.busy = now_ + 10;
    send_on(place, member.busy);
    while (!member.arrived.empty()) {
      const std::int64_t time = std::max(member.arrived.front(), member.busy);
      member.arrived.pop();
      take(place, time);
    }
  }

  void send_on(const Place& place, std::int64_t time) {
    const Member& member = rings_[place];
    const Place next{std::get<0>(place), std::get<1>(place), member.next};
    at(time + message_time(member.message), [this, next] {
      Member& to = rings_[next];
      if (to.started)
        take(next, std::max(now_, to.busy));
      else
        to.arrived.push(now_);
    });
  }

  /// The predecessor's next message is there and nothing else is at work.
  void take(const Place& place, std::int64_t time) {
    Member& member = rings_[place];
    const std::uint64_t k = member.taken++;
    member.busy = time + 10 + (k < member.reducing ? reduction(member.message) : 0);
    if (member.taken < member.steps) return send_on(place, member.busy);
    at(member.busy, [this, r = std::get<2>(place), n = member.node] { end(r, n); });
  }

  void end(std::uint32_t r, std::size_t n) {
    Rank& rank = ranks_[r];
    ++rank.done;
    rank.finish = now_;
    const std::uint64_t type = rank.nodes[n].type;
    if (type == chakra::comp) rank.computing = false;
    if (type == chakra::send || type == chakra::collective) rank.communicating = false;
    for (const std::size_t reader : rank.readers[n])
      if (--rank.open[reader] == 0) rank.ready.insert({reader, true});
    start_ready(r);
  }

  std::map<std::uint64_t, std::vector<std::uint32_t>> groups_;
  std::vector<Rank> ranks_;
  std::map<Place, Member> rings_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>,
           std::pair<std::uint64_t, std::queue<std::size_t>>>
      mail_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::function<void()>> actions_;
  std::int64_t now_ = 0;
};

}  // namespace

std::vector<std::int64_t> astra_finish(const ChakraTraces& traces) { return Replay(traces).run(); }

}  // namespace stepcast::graph_tests
