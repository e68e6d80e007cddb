#pragma once
#include <rapidcheck.h>

#include <vector>

#include "stepcast/workloads/segment.hpp"

/// Random operators, clocks and speeds, in microseconds and fractions of them.
namespace stepcast::generate {

inline double microseconds(int most) { return *rc::gen::inRange(0, 1000 * most) * 1e-9; }

/// Zeros, eager and task_queue issue, few launch values or many.
inline std::vector<OperatorCost> operators(std::size_t most) {
  const bool task_queue = *rc::gen::arbitrary<bool>();
  const int launches = *rc::gen::element(1, 3, 1000);
  const int device_bound = *rc::gen::element(1, 8, 40);
  std::vector<OperatorCost> result(*rc::gen::inRange<std::size_t>(0, most + 1));
  for (OperatorCost& op : result) {
    op.main = microseconds(10);
    op.compile = *rc::gen::inRange(0, 4) == 0 ? op.main / 2 : 0;
    op.worker = task_queue ? microseconds(12) : 0;
    op.launch = *rc::gen::inRange(0, launches) * 3e-6;
    op.device = *rc::gen::inRange(0, 4) == 0 ? 0 : microseconds(device_bound);
  }
  return result;
}

inline SpeedFactors speed() {
  return {*rc::gen::element(1.0, 0.25, 1.7, 3.0), *rc::gen::element(1.0, 0.5, 1.3, 4.0)};
}

inline Clocks clocks() { return {microseconds(300), microseconds(300), microseconds(300)}; }

}  // namespace stepcast::generate
