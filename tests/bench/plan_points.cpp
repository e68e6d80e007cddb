#include <cstdlib>
#include <iostream>
#include <span>

#include "sim/plan/random_points.hpp"

/// plan_points FILE [COUNT [SEED]]: estimates and bounds of random feasible points of a plan's
/// space against their simulations.
int main(int argc, char** argv) {
  using namespace stepcast;
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  if (arguments.size() < 2) {
    std::cerr << "usage: plan_points FILE [COUNT [SEED]]\n";
    return 2;
  }
  const auto number = [&](std::size_t i, std::uint64_t otherwise) {
    return arguments.size() > i ? std::strtoull(arguments[i], nullptr, 10) : otherwise;
  };
  const PlanSpace space = read_plan(arguments[1], {}, {}, default_search_path({}));
  const auto compared =
      stepcast::testing::RandomPoints(space, number(3, 1)).compare(number(2, 500));
  std::cout << compared.simulations.size() << " feasible of " << compared.drawn << " drawn, space "
            << space.points() << ", rank correlation " << compared.rank_correlation()
            << ", worst estimate " << 100 * compared.worst() << " % off, " << compared.broken.size()
            << " bounds above the simulation, " << compared.failed << " not simulated\n";
  for (const std::string& point : compared.broken) std::cout << "  " << point << '\n';
}
