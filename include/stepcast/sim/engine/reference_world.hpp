#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stepcast/topology/platform.hpp"

/// SimGrid with nothing of ours in between: a platform of named hosts and links, executions on its
/// hosts, communications over its links, and its clock. It is what the fast engine is held against
/// (docs/models/judge.md).
namespace stepcast {

/// Hosts, links and activities of SimGrid alone, for the judge: one per process, as SimGrid's clock
/// is.
class ReferenceWorld {
 public:
  virtual ~ReferenceWorld() = default;

  /// These links SimGrid has between two hosts, by index in Platform::links. Throws EngineError
  /// when there are none.
  virtual const std::vector<std::uint32_t>& route(std::uint32_t from, std::uint32_t to) = 0;
  virtual double bandwidth(std::uint32_t link) const = 0;  ///< [B/s], as SimGrid has it

  /// A flow that loads each of these links `count` times with its rate; before run() alone.
  struct Use {
    std::uint32_t link, count;
    friend auto operator<=>(const Use&, const Use&) = default;
  };
  using FlowId = std::uint32_t;
  virtual FlowId add_flow(const std::vector<Use>& uses) = 0;

  /// What follows an activity; no activity has a stack of its own.
  using Then = std::function<void()>;
  /// Runs `begin` at date 0, and then what follows from it, until nothing is under way. Throws what
  /// was thrown on the way.
  virtual void run(Then begin) = 0;

  // While it runs alone.
  virtual double clock() const = 0;
  /// Goes on at that date, at once where it has passed.
  virtual void at(double date, Then then) = 0;
  /// Executes for so long on a host.
  virtual void work(std::uint32_t host, double seconds, Then then) = 0;
  /// Bytes from host to host, over its route; goes on when they are through.
  virtual void send(std::uint32_t from, std::uint32_t to, double bytes, Then then) = 0;
  /// So many bytes of a flow.
  struct Part {
    FlowId flow;
    double bytes, latency;
    /// Bytes of the whole flow over these: two flows get equal rates of the former.
    double weight = 1;
  };
  /// All parts at once; goes on when the last of them has arrived, each a latency after its bytes.
  virtual void move(const std::vector<Part>& parts, Then then) = 0;

  virtual std::uint64_t communications() const = 0;
};

/// A process makes one world at most, and none beside a run of Engine in which flows met. It lives
/// to the end of the process; module `simgrid` is loaded for it.
ReferenceWorld& make_reference_world(const Platform& platform);

/// The next world writes what its hosts and links do into this file, by SimGrid's own tracing
/// (Paje): how fast each works, at each date at which that changes.
void trace_reference_world(const std::string& file);

/// The next world has hosts, links and routes of this platform file of SimGrid, those that the
/// platform names; the file may have more of each. A file that SimGrid refuses ends the process.
void read_reference_world(const std::string& file);

}  // namespace stepcast
