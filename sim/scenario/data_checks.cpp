#include <cmath>

#include "stepcast/sim/scenario/checks.hpp"

namespace stepcast {
namespace {

constexpr double most_documents = 1 << 24;  // of one step: seconds and a gigabyte

/// Documents that one step draws, at most about.
double documents_of(const DocumentSpec& spec, double tokens, double sequences) {
  switch (spec.distribution) {
    case DocumentSpec::Distribution::lognormal:  // as if all were as short as the median
      return tokens / std::max(1.0, spec.mean * std::exp(-spec.sigma * spec.sigma / 2));
    case DocumentSpec::Distribution::fixed:
      return tokens / static_cast<double>(spec.length);
    case DocumentSpec::Distribution::file:
      break;
  }
  double sum = 0;
  for (const std::int64_t length : spec.lengths) sum += static_cast<double>(length);
  return std::max(sequences, tokens * static_cast<double>(spec.lengths.size()) / sum);
}

std::string text(double n) { return std::to_string(static_cast<std::int64_t>(n)); }

void check_without_documents(const DataSpec& data, Checks& checks) {
  const std::string why = " but there are no schedule.data.documents, allowed: ";
  checks.require_use(data.packing == "none", "schedule.data.packing",
                     "is " + data.packing + why + "none");
  checks.require_use(data.mask == DataSpec::Mask::causal, "schedule.data.mask",
                     "is document" + why + "causal");
  checks.require_use(data.context_split == DataSpec::ContextSplit::zigzag,
                     "schedule.data.context_split", "is per_document" + why + "zigzag");
}

/// How context ranks share a sequence moves attention of documents alone: under the causal mask the
/// work of a rank is the same for both.
void check_split(const Scenario& scenario, Checks& checks) {
  const DataSpec& data = scenario.schedule.data;
  const bool documents = checks.require_use(
      data.context_split == DataSpec::ContextSplit::zigzag || data.mask == DataSpec::Mask::document,
      "schedule.data.context_split",
      "is per_document but under the causal mask every context rank has the same work, "
      "allowed: zigzag, or mask: document");
  if (documents && checks.good({"parallel.cp"}))
    checks.require_use(
        data.context_split == DataSpec::ContextSplit::zigzag || scenario.workload.plan.cp > 1,
        "schedule.data.context_split",
        "is per_document but there is one context rank, allowed: zigzag, or parallel.cp > 1");
}

/// Packings that level attention change nothing where all sequences cost the same, or where
/// nothing can be levelled.
void check_levelling(const Scenario& scenario, Checks& checks) {
  const DataSpec& data = scenario.schedule.data;
  const bool slots = data.packing == "slot_balanced";
  if (!slots && data.packing != "attention_aware") return;
  const auto require = [&](bool good, const std::string& why) {
    return checks.require_use(good, "schedule.data.packing", "is " + data.packing + why);
  };
  if (!require(data.mask == DataSpec::Mask::document,
               " but the causal mask makes all sequences the same work, allowed: none, sequential, "
               "best_fit, or mask: document"))
    return;
  const ParallelPlan& plan = scenario.workload.plan;
  const TrainingSpec& training = scenario.workload.training;
  if (!slots || !checks.good_below("parallel") || !checks.good({"training.global_batch"})) return;
  if (!require(plan.dp > 1,
               " but there is one replica, which keeps all its sequences, allowed: none, "
               "sequential, best_fit, attention_aware, or dp > 1"))
    return;
  require(training.global_batch > plan.dp,
          " but every replica has one sequence in the step, which only changes its place, allowed: "
          "none, sequential, best_fit, attention_aware, or more sequences");
}

}  // namespace

void check_data(const Scenario& scenario, Checks& checks) {
  const DataSpec& data = scenario.schedule.data;
  if (!checks.good_below("schedule.data")) return;
  if (!data.documents) return check_without_documents(data, checks);
  if (!checks.require(!scenario.synthetic, "schedule.data.documents",
                      "are given but the workload has no operators, allowed: none"))
    return;
  const TrainingSpec& training = scenario.workload.training;
  if (!checks.good({"training.sequence", "training.global_batch"})) return;
  const auto sequences = static_cast<double>(training.global_batch);
  const double tokens = sequences * static_cast<double>(training.sequence);
  // A sequence takes at least one document, and a step no fewer than its tokens need on average.
  const double drawn = std::max(sequences, documents_of(*data.documents, tokens, sequences));
  checks.require(drawn <= most_documents, "schedule.data.documents",
                 "make about " + text(drawn) + " documents of one step of " + text(tokens) +
                     " tokens, allowed: at most " + text(most_documents));
  check_levelling(scenario, checks);
  check_split(scenario, checks);
}

}  // namespace stepcast
