#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stepcast/topology/platform.hpp"

/// SimGrid with nothing of ours in between: a platform of named hosts and links, actors on its
/// hosts, executions and communications. It is what the fast engine is held against
/// (docs/models/judge.md).
namespace stepcast {

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

  /// An actor on a host; a servant ends with the last actor that is none.
  virtual void add_actor(std::uint32_t host, const std::string& name, std::function<void()> code,
                         bool servant) = 0;
  /// Runs until all actors but servants have ended; throws what an actor threw. Throws EngineError
  /// when actors wait for each other for ever.
  virtual void run() = 0;

  // From inside actors alone.
  virtual double clock() const = 0;
  virtual void sleep(double until) = 0;
  virtual void work(double seconds) = 0;  ///< on the host of the actor
  /// Bytes from host to host, over its route; returns when they are through.
  virtual void send(std::uint32_t from, std::uint32_t to, double bytes) = 0;
  /// So many bytes of each flow, all at once: returns the date at which the last of them has
  /// arrived, each a latency after its bytes, when all bytes are through.
  struct Part {
    FlowId flow;
    double bytes, latency;
    /// Bytes of the whole flow over these: two flows get equal rates of the former.
    double weight = 1;
  };
  virtual double move(const std::vector<Part>& parts) = 0;
  /// An actor stops at it until another one lets it go on.
  class Barrier {
   public:
    virtual ~Barrier() = default;
    virtual void stop() = 0;
    virtual void let_go() = 0;
  };
  virtual std::shared_ptr<Barrier> barrier() = 0;

  virtual std::uint64_t communications() const = 0;

  // Of the one world that the process has.
  static double now() { return world().clock(); }
  static void sleep_until(double date) { world().sleep(date); }
  static void execute(double seconds) { world().work(seconds); }
  static ReferenceWorld& world();

  /// Actors wait here until something has changed.
  class Signal {
   public:
    /// Returns when `condition` holds; it is asked at once and after each tell().
    void wait_until(const std::function<bool()>& condition);
    void tell();

   private:
    std::vector<std::shared_ptr<Barrier>> waiting_;
  };
};

/// A process makes one world at most, and none beside a run of Engine in which flows met. It lives
/// to the end of the process; module `simgrid` is loaded for it.
ReferenceWorld& make_reference_world(const Platform& platform);

}  // namespace stepcast
