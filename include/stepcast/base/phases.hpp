#pragma once
#include <functional>
#include <string>
#include <string_view>

/// What a command is doing, for those who wait. Nothing is printed here.
namespace stepcast {

/// Says that the work named so begins and that before it ended, in words that a user reads
/// ("replaying the step"). Costs nothing where nobody watches; processes of their own do not tell.
void begin_phase(std::string_view name);
/// The last one begun in this process while somebody watched; empty: none.
const std::string& current_phase();

/// While it lives, `told(name)` is called at each beginning. One at a time.
class PhaseWatch {
 public:
  using Told = std::function<void(std::string_view name)>;
  explicit PhaseWatch(Told told);
  ~PhaseWatch();
  PhaseWatch(const PhaseWatch&) = delete;
  PhaseWatch& operator=(const PhaseWatch&) = delete;
};

}  // namespace stepcast
