#include "stepcast/base/phases.hpp"

#include <unistd.h>

#include <utility>

namespace stepcast {
namespace {

/// Who is told, the process that is, and what was told last.
struct Listener {
  PhaseWatch::Told told;
  PhaseWatch::Result result;
  pid_t process{};
  std::string last;
};

Listener& listener() {
  static Listener one;
  return one;
}

}  // namespace

void begin_phase(std::string_view name) {
  Listener& one = listener();
  // A forked process has the listener of its parent, which is not to be told.
  if (!one.told || one.process != getpid()) return;
  one.last = name;
  one.told(name);
}

void tell_result(const std::function<std::string()>& text) {
  const Listener& one = listener();
  if (one.result && one.process == getpid()) one.result(text());
}

const std::string& current_phase() { return listener().last; }

PhaseWatch::PhaseWatch(Told told, Result result) {
  listener() = {std::move(told), std::move(result), getpid(), {}};
}
PhaseWatch::~PhaseWatch() { listener() = {}; }

}  // namespace stepcast
