#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stepcast/sim/scenario/options.hpp"

/// The engine is the clock and the sharing of links: our own event queue and our own solver, or
/// SimGrid's where Sharing::simgrid asks for it. Settings and measured reasons:
/// docs/models/engine.md. Times are seconds since the start of the run, as doubles.
namespace stepcast {

/// A flow occupies `count` shares of link `link`: it takes count times its own rate there.
struct LinkUse {
  std::uint32_t link;
  std::uint32_t count;
  friend bool operator==(const LinkUse&, const LinkUse&) = default;
};

/// The engine calls its client back in the order of time. At equal times flow ends come first, by
/// ascending tag, then events in the order in which they were posted.
class EngineClient {
 public:
  virtual ~EngineClient() = default;
  virtual void on_event(double now, std::uint64_t tag) = 0;
  virtual void on_flow_end(double now, std::uint64_t tag) = 0;
  /// What comes next, or soon, is most likely this. A client whose state is large may ask the
  /// processor for what it will need; nothing else may follow from it.
  struct Coming {
    std::uint64_t tag;
    bool flow_end;
    bool next;
  };
  virtual void foresee(const Coming& /*what*/) {}
};

/// Seconds (31 years) beyond which a run that stops early is no broken promise but a scenario out
/// of the range of the clock: nothing that anyone trains lies there.
inline constexpr double latest_date = 1e9;
/// Throws InputError that says so.
[[noreturn]] void refuse_late_date();

/// An engine is one run. Flows share links max-min fairly; a lone flow takes exactly max over links
/// of count * bytes / bandwidth. A flow enters the solver when it first meets another one on a
/// link, with the bytes that it has left, so a run in which none meet costs nothing of it. A
/// process makes at most one run in which flows meet in SimGrid: its clock is not reset, and a
/// later run would get other last digits.
class Engine {
 public:
  /// `bandwidths` are in B/s, by link index.
  explicit Engine(std::vector<double> bandwidths, Sharing sharing = Sharing::automatic);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Posts an event; `time` may lie in the past, then it happens now.
  void post(double time, std::uint64_t tag);
  /// Starts a flow of `bytes` > 0 over `path` (not empty) now. Call it from inside a callback
  /// only.
  void start_flow(std::span<const LinkUse> path, double bytes, std::uint64_t tag);
  /// Runs until nothing is pending. Throws EngineError when a started flow did not finish,
  /// InputError when that was beyond latest_date, or something is to happen at no finite date.
  void run(EngineClient& client);
  double now() const;
  /// Nothing of the engine happens before this time; infinity when nothing is pending.
  double earliest() const;
  /// Says whether the clock may be moved: between flows, and with incremental sharing also
  /// while flows share links and none of them begins or ends.
  bool may_shift() const;
  /// Moves the clock and all that is pending; only where it may be, from inside a callback.
  void shift(double time);
  /// Appends what is pending and the flows that are alone, with times relative to `origin`, in
  /// the order of what `name` says of their tags: two states with other tags for the same things
  /// are one state.
  using TagName = std::function<double(std::uint64_t tag)>;
  void append_state(double origin, const TagName& name, std::vector<double>& state) const;

  bool incremental() const;          ///< flows that meet share their links without SimGrid
  std::uint64_t flows() const;       ///< that met another on a link
  std::uint64_t lone_flows() const;  ///< that had their links to themselves all the time
  std::uint64_t events() const;      ///< handled so far
  /// How often flows came to share links so far. What comes at one time is ordered by what it is,
  /// not by who posted it first. For engines that are incremental.
  std::uint64_t entries() const;

  /// The version of the SimGrid library that the build found, `3.32`.
  static std::string simgrid_version();

 private:
  class Driver;
  std::unique_ptr<Driver> driver_;
};

}  // namespace stepcast
