#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>

#include "examine.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"

// The laws of docs/models/laws.md on random scenarios. The numbers of cases are STEPCAST_LAW_CASES
// and the environment's LAW_CASES; LAW_SEED draws others.
namespace stepcast::laws {
namespace {

std::size_t from_environment(const char* name, std::size_t otherwise) {
  const char* text = std::getenv(name);
  const auto number = text == nullptr ? std::nullopt : parse_count(text);
  return number ? static_cast<std::size_t>(*number) : otherwise;
}

std::uint64_t seed() { return from_environment("LAW_SEED", 20261122); }
std::size_t cases() { return from_environment("LAW_CASES", STEPCAST_LAW_CASES); }

constexpr std::size_t full_count = 400;
constexpr int least_hits = 10;
/// Part of the cases in which rounding may grow until it shows, and what chance adds to that: two
/// standard deviations.
constexpr double most_growing = 0.05;
double growing_by_chance(double n) { return 2 * std::sqrt(n * most_growing * (1 - most_growing)); }

TEST(Laws, GeneratorHitsEveryFeatureNightly) {
  std::map<std::string, int> hits;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < cases(); ++i) {
    const ValidCase c = valid_case(seed(), i);
    EXPECT_LE(c.scenario.workload.plan.world(), 64);
    refused += c.refused;
    for (const std::string& feature : c.draft.features) ++hits[feature];
  }
  std::cout << cases() << " valid scenarios, " << refused << " drafts refused by the reader\n";
  for (const std::string& feature : all_features()) {
    std::cout << "  " << hits[feature] << " x " << feature << "\n";
    if (cases() >= full_count) {
      EXPECT_GE(hits[feature], least_hits) << feature;
    }
  }
}

/// All cases together.
struct Sum {
  std::map<std::string, int> counts;
  std::map<std::string, std::pair<double, std::string>> slowest;  ///< part of the step, command

  void add(const Findings& findings, const std::string& command) {
    for (const auto& [what, count] : findings.counts) counts[what] += count;
    for (const auto& [what, part] : findings.slower)
      if (auto& most = slowest[what]; part > most.first) most = {part, command};
  }
  void print() const {
    for (const auto& [what, count] : counts) std::cout << "  " << count << " x " << what << "\n";
    for (const auto& [what, most] : slowest)
      std::cout << "  a faster " << what << " takes up to " << 100 * most.first
                << " % longer where links are shared or time decides: " << most.second << "\n";
  }
};

// What the laws are about has to occur: that nothing is shared, and that something is.
void expect_enough(std::map<std::string, int>& counts) {
  for (const char* what : {"flows alone", "flows meet", "ranks folded", "micro-batches skipped",
                           "faster link by law", "faster device by law", "faster host by law"})
    EXPECT_GE(counts[what], least_hits) << what;
}

TEST(Laws, HoldForRandomScenarios) {
  const auto job = [](std::size_t i) { return text_of(examine(valid_case(seed(), i))); };
  Sum sum;
  std::fflush(stdout);  // or every worker prints what is still buffered
  run_in_workers(cases(), usable_processors(), job, [&](const WorkerAnswer& answer) {
    const auto command = [&] { return command_of(valid_case(seed(), answer.index).draft); };
    if (answer.failed()) {
      ADD_FAILURE() << "case " << answer.index << ": " << answer.failure << "\n  " << command();
      return;
    }
    const Findings findings = findings_of(answer.text);
    std::string all;
    for (const std::string& broken : findings.broken) all += "\n  " + broken;
    if (!all.empty()) ADD_FAILURE() << "case " << answer.index << ": " << command() << all;
    sum.add(findings, findings.slower.empty() ? "" : command());
  });
  std::cout << cases() << " scenarios of seed " << seed() << "\n";
  const auto n = static_cast<double>(cases());
  EXPECT_LE(sum.counts["rounding grows"], most_growing * n + growing_by_chance(n));
  if (cases() >= full_count) expect_enough(sum.counts);
  sum.print();
}

}  // namespace
}  // namespace stepcast::laws
