#pragma once
#include <functional>
#include <string>
#include <string_view>

/// What a command is doing, for those who wait. Nothing is printed here.
namespace stepcast {

/// Says that the work named so begins and that before it ended, in words that a user reads
/// ("replaying the step"). Costs nothing where nobody watches; processes of their own do not tell.
void begin_phase(std::string_view name);
/// Says what came of the phase at hand, in words; `text` is asked for where somebody watches.
void tell_result(const std::function<std::string()>& text);
/// The last one begun in this process while somebody watched; empty: none.
const std::string& current_phase();

/// While it lives, `told(name)` is called at each beginning, and `result(text)` with what came of
/// it. One at a time.
class PhaseWatch {
 public:
  using Told = std::function<void(std::string_view name)>;
  using Result = std::function<void(std::string text)>;
  explicit PhaseWatch(Told told, Result result = {});
  ~PhaseWatch();
  PhaseWatch(const PhaseWatch&) = delete;
  PhaseWatch& operator=(const PhaseWatch&) = delete;
};

}  // namespace stepcast
