#include "stepcast/sim/report/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "micros.hpp"
#include "stepcast/sim/report/names.hpp"
#include "stepcast/sim/report/run_operators.hpp"
#include "stepcast/sim/report/usage.hpp"

namespace stepcast {
namespace {

constexpr std::size_t buffer_size = 1 << 16;
constexpr std::size_t counter_parts = 1000;  ///< of the run, for the links
constexpr double gibibyte = 1024.0 * 1024 * 1024;
/// Threads of a process, in the order in which they are shown.
constexpr int host_thread = 1, worker_thread = 2, compute_thread = 3, first_stream = 4,
              first_channel = first_stream + static_cast<int>(streams);
constexpr const char* thread_names[] = {"",
                                        "host",
                                        "host worker",
                                        "compute",
                                        "tensor",
                                        "expert",
                                        "data",
                                        "context",
                                        "expert outer",
                                        "to host",
                                        "from host",
                                        "send forward",
                                        "send backward",
                                        "send forward, mirrored",
                                        "send backward, mirrored"};
static_assert(std::size(thread_names) == 4 + streams + channels);

int thread_of(Channel channel) { return first_channel + static_cast<int>(channel); }

const char* category(const Recording::Piece& piece) {
  // Names of rows in the viewer, which colours equal names alike.
  static constexpr const char* exposed[] = {"exposed tensor", "exposed expert",  "exposed pipeline",
                                            "exposed data",   "exposed context", "exposed offload"};
  static_assert(std::size(exposed) == exposed_kinds);
  switch (piece.part) {
    case WaitPart::exposed:
      return exposed[static_cast<std::size_t>(piece.kind)];
    case WaitPart::bubble:
      return "bubble";
    case WaitPart::host_stall:
      return "host stall";
    case WaitPart::compile_stall:
      return "compile stall";
    case WaitPart::other_idle:
      break;
  }
  return "other idle";
}

/// Of a segment: what stands before and behind the efficiency of one run of it.
struct SegmentArgs {
  explicit SegmentArgs(const SegmentWork& work) : least{work.least} {
    if (work.launches == 0) return;
    head = fmt::format(R"(,"args":{{"launches":{},"flops":{:.9g},"bytes":{:.9g})", work.launches,
                       work.flops, work.bytes);
    bound = fmt::format(R"(,"bound":"{}")", name(work.bound));
    if (!work.shape.empty()) shape = R"(,"shape":")" + work.shape + "\"";
  }

  void write(double worked, std::string& text) const {
    text.clear();
    if (head.empty()) return;
    text = head;
    if (worked > 0 && least > 0) {
      std::array<char, 32> digits;
      char* const end = put_short(digits.data(), least / worked);
      text.append(",\"efficiency\":").append(std::string_view(digits.data(), end)).append(bound);
    }
    text.append(shape).append("}");
  }

  std::string head, bound, shape;
  double least;
};

class TraceWriter {
 public:
  TraceWriter(const Scenario& scenario, const RecordedRun& run, std::uint32_t ranks,
              const std::function<void(std::string_view)>& out)
      : scenario_{scenario}, run_{run}, ranks_{ranks}, out_{out} {}

  void write() {
    end(put(buffer_.data(), R"({"displayTimeUnit":"ms","traceEvents":[)"));
    for (std::uint32_t c = 0; c < run_.recording.ranks.size(); ++c) {
      if (shows(c)) rank(c);
    }
    links();
    flush();
    out_("\n]}\n");
  }

 private:
  bool shows(std::uint32_t c) const {
    return c < ranks_ && !run_.recording.ranks[c].entries.empty();
  }

  void rank(std::uint32_t c) {
    names(c);
    host(c);
    compute(c);
    streams_of(c);
    dependencies(c);
    memory(c);
  }

  void names(std::uint32_t c) {
    const RankClasses& classes = run_.network.classes;
    event(
        "{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":\"stage {}, rank "
        "{} (stands for {})\"}}}}",
        c + 1, classes.stage[c].value, classes.representative[c].value, classes.ranks[c]);
    // Ranks stand stage by stage.
    event(R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})", c + 1,
          classes.stage[c].value * classes.class_of.size() + c);
    for (int t = host_thread; t < static_cast<int>(std::size(thread_names)); ++t) {
      event(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})", c + 1,
            t, thread_names[t]);
      event(
          "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_sort_index\",\"args\":{{\"sort_"
          "index\":{}}}}}",
          c + 1, t, t);
    }
  }

  /// The host unit by unit, with what made it wait or pause apart.
  void host(std::uint32_t c) {
    const Recording::RankRecord& record = run_.recording.ranks[c];
    // Main thread and worker are each one span per unit, which grows entry by entry.
    struct Open {
      double from = 0, to = 0;
    } main, worker;
    std::uint32_t unit = Recording::none;
    const auto close = [&] {
      const std::string name =
          "issue " + (unit == Recording::none ? "step" : unit_name(record.units[unit].unit));
      span(c, host_thread, main.from, main.to, name, "host");
      span(c, worker_thread, worker.from, worker.to, name, "host");
    };
    Clocks before;
    for (const Recording::Entry& entry : record.entries) {
      // Waits and pauses cut the span of the unit, so that they can be seen.
      const bool apart =
          entry.kind == Recording::Kind::sync || entry.kind == Recording::Kind::pause;
      if (entry.unit != unit || apart) {
        close();
        unit = entry.unit;
        main = {before.main, before.main};
        worker = {before.worker, before.worker};
      }
      if (apart) {
        span(c, host_thread, before.main, entry.after.main,
             entry.kind == Recording::Kind::sync ? "wait for device" : "pause", "host wait");
        main.from = entry.after.main;
      }
      main.to = entry.after.main;
      // The worker is behind the main thread only where a queue lies between them.
      if (entry.after.worker > std::max(before.worker, entry.after.main)) {
        if (worker.to <= worker.from) worker.from = std::max(before.worker, before.main);
        worker.to = entry.after.worker;
      }
      before = entry.after;
    }
    close();
  }

  void compute(std::uint32_t c) {
    const Recording::RankRecord& record = run_.recording.ranks[c];
    const StageProgram& program = run_.programs[run_.network.classes.stage[c].value];
    // Names and arguments are made once per segment, since a trace has thousands of runs of each.
    std::vector<std::string> segments;
    for (std::uint32_t s = 0; s < program.segments.size(); ++s)
      segments.push_back(segment_name(program, s));
    const std::vector<SegmentWork>& work = work_of(c);
    const std::vector<SegmentArgs> args(work.begin(), work.end());
    std::string text;
    for (const Recording::UnitSpan& u : record.units)
      span(c, compute_thread, u.start, u.end, unit_name(u.unit), "unit");
    // Entries of other kinds belong to streams.
    for (const Recording::Entry& entry : record.entries) {
      if (entry.kind != Recording::Kind::segment) continue;
      args[entry.what].write(entry.worked, text);
      span(c, compute_thread, entry.after.device - entry.worked, entry.after.device,
           segments[entry.what], "computing", text);
    }
    for (const Recording::Piece& piece : record.pieces)
      span(c, compute_thread, piece.from, piece.to, category(piece), category(piece));
  }

  void streams_of(std::uint32_t c) {
    const Recording::RankRecord& record = run_.recording.ranks[c];
    const StageProgram& program = run_.programs[run_.network.classes.stage[c].value];
    const CallNames names(run_, scenario_.workload.model, c);
    std::vector<std::string> args;
    args.reserve(program.calls.size());
    for (const StageCall& call : program.calls)
      args.push_back(fmt::format(R"(,"args":{{"bytes":{:.9g},"group":"{}"}})",
                                 call.call.bytes.value(), name(call.group)));
    for (std::uint32_t e = 0; e < record.entries.size(); ++e) {
      const Recording::Entry& entry = record.entries[e];
      // Only those that started something; the receiver's side is found below as a member.
      if (entry.kind != Recording::Kind::issue || entry.communication == Recording::none) continue;
      const auto& communication = run_.recording.communications[entry.communication];
      const auto* members = run_.recording.members_of(communication);
      const auto* mine = std::find_if(members, members + communication.members, [&](const auto& m) {
        return m.rank_class == c && m.entry == e;
      });
      // Entries of a folded class may be of a member that is not recorded.
      if (mine == members + communication.members) continue;
      if (communication.network == Recording::none) {
        const int thread = thread_of(communication.channel);
        span(c, thread, communication.start, communication.end, transfer_name(communication),
             "pipeline");
      } else {
        const StageCall& call = program.calls[mine->call];
        const int thread = first_stream + static_cast<int>(call.stream);
        const std::string called = names.of_entry(e, mine->call);
        // Waiting for the others is no work of the network and is drawn apart.
        if (mine->arrived < communication.start)
          span(c, thread, mine->arrived, communication.start, "rendezvous " + called, "rendezvous");
        span(c, thread, communication.start, communication.end, called, name(call.kind),
             args[mine->call]);
      }
      arrows(c, e);
    }
  }

  /// An end of an arrow.
  struct Point {
    std::uint32_t rank_class;
    int thread;
    double time;
  };

  /// One end at (process, thread, time), the other likewise.
  void arrow(const Point& from, const Point& to, std::string_view name) {
    const auto write_end = [&](std::string_view which, const Point& point) {
      char* text = begin(which, name.size());
      text = put_place(text, point.rank_class, point.thread, point.time);
      text = put(text, ",\"id\":");
      text = put_number(text, arrows_);
      text = put(text, R"(,"name":")");
      text = put(text, name);
      end(put(text, R"(","cat":"arrow"})"));
    };
    ++arrows_;
    write_end(R"({"ph":"s","pid":)", from);
    // The arrow ends at the span around its end, not at the next one.
    write_end(R"({"ph":"f","bp":"e","pid":)", to);
  }

  /// From the sender to the receiver, and from the last to arrive at a collective to the others.
  void arrows(std::uint32_t c, std::uint32_t entry) {
    const std::uint32_t id = run_.recording.ranks[c].entries[entry].communication;
    const auto& communication = run_.recording.communications[id];
    const auto* members = run_.recording.members_of(communication);
    if (communication.network == Recording::none) {
      if (communication.members < 2 || !shows(members[1].rank_class)) return;
      return arrow({c, thread_of(communication.channel), communication.start},
                   {members[1].rank_class, compute_thread, communication.arrival}, "transfer");
    }
    // The last one to arrive lets all others begin.
    const auto* last =
        std::max_element(members, members + communication.members,
                         [](const auto& x, const auto& y) { return x.arrived < y.arrived; });
    if (last->rank_class != c || last->entry != entry) return;
    const StageCall& call = run_.programs[run_.network.classes.stage[c].value].calls[last->call];
    const int thread = first_stream + static_cast<int>(call.stream);
    for (const auto* m = members; m != members + communication.members; ++m) {
      if (m == last || !shows(m->rank_class) || m->arrived >= communication.start) continue;
      arrow({c, thread, communication.start}, {m->rank_class, thread, communication.start},
            "rendezvous");
    }
  }

  /// Between the compute stream and the streams of collectives, where one waits for the other: to a
  /// collective from what it reads, and from one to what reads it.
  void dependencies(std::uint32_t c) {
    const Recording::RankRecord& record = run_.recording.ranks[c];
    const StageProgram& program = run_.programs[run_.network.classes.stage[c].value];
    double reached = 0;  // by the compute stream
    for (const Recording::Entry& entry : record.entries) {
      const double before = std::exchange(reached, entry.after.device);
      if (entry.communication == Recording::none) continue;
      const auto& communication = run_.recording.communications[entry.communication];
      const auto* members = run_.recording.members_of(communication);
      const auto* mine = std::find_if(members, members + communication.members,
                                      [&](const auto& m) { return m.rank_class == c; });
      if (communication.network == Recording::none || mine == members + communication.members)
        continue;
      const int thread = first_stream + static_cast<int>(program.calls[mine->call].stream);
      if (entry.kind == Recording::Kind::wait && entry.after.device > before &&
          communication.end <= entry.after.device)
        arrow({c, thread, communication.end}, {c, compute_thread, entry.after.device}, "wait");
      if (entry.kind == Recording::Kind::issue && entry.after_compute && mine->arrived == before)
        arrow({c, compute_thread, before}, {c, thread, mine->arrived}, "input");
    }
  }

  void memory(std::uint32_t c) {
    for (const MemoryMoment& moment : memory_over_time(scenario_, run_, c)) {
      char* text = put_number(begin(R"({"ph":"C","pid":)", 0), c + 1);
      text = put_micros(put(text, ",\"ts\":"), moment.time);
      text = put(text, R"(,"name":"memory","args":{"GiB":)");
      end(put(put_fixed<4>(text, moment.bytes / gibibyte), "}}"));
    }
  }

  /// Of each kind of link the busiest class.
  void links() {
    const double part = run_.recording.end / static_cast<double>(counter_parts);
    std::set<LinkKind> seen;
    event(R"({{"ph":"M","pid":0,"name":"process_name","args":{{"name":"links"}}}})");
    for (const LinkUsage& usage : link_usage(run_, counter_parts)) {
      if (usage.bytes <= 0 || !seen.insert(usage.kind).second) continue;
      double before = -1;
      for (std::size_t i = 0; i < usage.share.size(); ++i) {
        const double percent = 100 * usage.share[i];
        // Counters keep their value until the next event.
        if (percent == before) continue;
        before = percent;
        event(
            "{{\"ph\":\"C\",\"pid\":0,\"ts\":{:.6f},\"name\":\"{} "
            "({})\",\"args\":{{\"%\":{:.3f}}}}}",
            static_cast<double>(i) * part * microseconds, name(usage.kind), usage.name, percent);
      }
    }
  }

  /// By segment of the class's program; each stage is looked up once.
  const std::vector<SegmentWork>& work_of(std::uint32_t c) {
    const std::uint32_t stage = run_.network.classes.stage[c].value;
    const auto [place, fresh] = work_.try_emplace(stage);
    if (fresh) place->second = segment_work(scenario_, run_, stage);
    return place->second[run_.network.classes.variant[c]];
  }

  std::string transfer_name(const Recording::Communication& c) const {
    return (carries_output(c.channel) ? "send forward " : "send backward ") + unit_name(c.unit);
  }

  /// What lasts no time is left out. `args` is JSON, with the comma before it, or empty.
  void span(std::uint32_t c, int thread, double from, double to, std::string_view name,
            std::string_view category, std::string_view args = {}) {
    if (to <= from) return;
    char* text = begin(R"({"ph":"X","pid":)", name.size() + category.size() + args.size());
    text = put_place(text, c, thread, from);
    text = put(text, ",\"dur\":");
    text = put_micros(text, to - from);
    text = put(text, R"(,"name":")");
    text = put(text, name);
    text = put(text, R"(","cat":")");
    text = put(text, category);
    text = put(text, "\"");
    text = put(text, args);
    end(put(text, "}"));
  }
  static char* put(char* at, std::string_view text) {
    return std::copy(text.begin(), text.end(), at);
  }
  static char* put_place(char* at, std::uint32_t c, int thread, double time) {
    at = put_number(at, c + 1);
    at = put(at, ",\"tid\":");
    at = put_number(at, static_cast<std::uint32_t>(thread));
    at = put(at, ",\"ts\":");
    return put_micros(at, time);
  }
  template <class... Values>
  void event(fmt::format_string<Values...> text, Values&&... values) {
    const std::string written = fmt::format(text, std::forward<Values>(values)...);
    end(begin(written, 0));
  }
  /// Where to write on, with room for `more` bytes, two numbers and what stands between them.
  char* begin(std::string_view text, std::size_t more) {
    constexpr std::size_t room = 2 * fixed_room + 256;
    if (const std::size_t need = text.size() + more + room; need > buffer_.size() - used_) {
      flush();
      if (need > buffer_.size()) buffer_.resize(need);
    }
    char* const at = put(buffer_.data() + used_, first_ ? "\n" : ",\n");
    first_ = false;
    return put(at, text);
  }
  void end(const char* at) { used_ = static_cast<std::size_t>(at - buffer_.data()); }
  void flush() {
    out_({buffer_.data(), used_});
    used_ = 0;
  }

  const Scenario& scenario_;
  const RecordedRun& run_;
  std::uint32_t ranks_;
  const std::function<void(std::string_view)>& out_;
  std::vector<char> buffer_ = std::vector<char>(buffer_size);
  std::size_t used_ = 0;
  std::map<std::uint32_t, std::vector<std::vector<SegmentWork>>> work_;  ///< by stage
  std::uint32_t arrows_ = 0;
  bool first_ = true;
};

}  // namespace

void write_trace(const Scenario& scenario, const RecordedRun& run, std::uint32_t ranks,
                 const std::function<void(std::string_view)>& out) {
  TraceWriter(scenario, run, ranks, out).write();
}

}  // namespace stepcast
