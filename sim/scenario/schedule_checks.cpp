#include <algorithm>
#include <numeric>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/feasibility.hpp"

// Checks between the schedule, the plan and the batch.
namespace stepcast {
namespace {

constexpr std::int64_t most_micro_batches = 1'000'000;
/// Of orders in memory, about 95 bytes per micro-batch of a chunk with its backward: below 2 GB.
constexpr std::int64_t most_units = 20'000'000, bytes_per_unit = 95;

bool check_micro_batches(const Scenario& scenario, Checks& checks) {
  const ParallelPlan& plan = scenario.workload.plan;
  const TrainingSpec& training = scenario.workload.training;
  const std::int64_t one = training.micro_batch * plan.dp;
  // The nearest two batches that would fit are said, since the product is often not at hand.
  const std::int64_t near = std::max(training.global_batch / one, std::int64_t{1}) * one;
  return checks.require(
      !batch_misfit(training, plan), "training.global_batch",
      "is " + count_text(training.global_batch) + ", must be a multiple of micro_batch*dp = " +
          count_text(training.micro_batch) + "*" + count_text(plan.dp) + " = " + count_text(one) +
          ", allowed: " + count_text(near) + ", " + count_text(near + one));
}

bool check_size(const PipelineShape& shape, Checks& checks) {
  if (!checks.require(shape.micro_batches <= most_micro_batches, "training.global_batch",
                      "gives " + count_text(shape.micro_batches) +
                          " micro-batches, allowed: at most " + count_text(most_micro_batches))) {
    return false;
  }
  // Bounds the memory of the orders before any of them is made.
  const std::int64_t chunks = shape.stages * shape.chunks;
  return checks.require(
      chunks * shape.slices <= most_units / shape.micro_batches, "training.global_batch",
      "gives " + count_text(shape.micro_batches) + " micro-batches on " + count_text(chunks) +
          " chunks, which takes about " +
          human(Bytes{static_cast<double>(shape.micro_batches) * static_cast<double>(chunks) *
                      static_cast<double>(shape.slices) * static_cast<double>(bytes_per_unit)}) +
          " of memory, allowed: at most " + count_text(most_units) + " in all");
}

/// The tokens of slices that are written out.
void check_slice_tokens(const Scenario& scenario, Checks& checks) {
  const ParallelPlan& plan = scenario.workload.plan;
  const std::vector<std::int64_t>& tokens = scenario.schedule.slice_tokens;
  const std::int64_t sum = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
  if (!checks.require(sum == scenario.workload.training.sequence, "schedule.slices",
                      "hold " + count_text(sum) + " tokens, allowed: the " +
                          count_text(scenario.workload.training.sequence) +
                          " of training.sequence"))
    return;
  const std::int64_t part = plan.sequence_parallel ? plan.tp : 1;
  for (const std::int64_t n : tokens)
    if (!checks.require(
            n % part == 0, "schedule.slices",
            "hold " + count_text(n) + " tokens, sequence_parallel needs a multiple of tp = " +
                count_text(part) + ", allowed: " + count_text((n + part - 1) / part * part)))
      return;
}

/// A slice is a whole number of tokens on every rank, and attention sees whole slices.
void check_slices(const Scenario& scenario, std::int64_t slices, Checks& checks) {
  const ParallelPlan& plan = scenario.workload.plan;
  const ScheduleSpec& schedule = scenario.schedule;
  const bool unequal = schedule.balanced_slices || !schedule.slice_tokens.empty();
  checks.require(!unequal || !scenario.synthetic, "schedule.slices",
                 "have tokens but the workload is synthetic, allowed: a number of slices");
  if (scenario.synthetic) return;
  if (!schedule.slice_tokens.empty() && checks.good({"training.sequence"}))
    check_slice_tokens(scenario, checks);
  checks.require(!sliced_context_misfit(slices, plan), "parallel.cp",
                 "is " + count_text(plan.cp) + " but the sequence is cut into " +
                     count_text(slices) + " slices, allowed: cp 1");
  if (unequal || !checks.good({"training.sequence"})) return;
  const std::int64_t parts = slices * (plan.sequence_parallel ? plan.tp : 1);
  checks.require(!slices_misfit(slices, scenario.workload.training, plan), "schedule.slices",
                 "is " + count_text(slices) + ", the " +
                     count_text(scenario.workload.training.sequence) +
                     " tokens of a sequence must be a multiple of " +
                     (plan.sequence_parallel ? "slices*tp = " : "slices = ") + count_text(parts));
}

/// A table of orders is for one shape.
void check_table(const Scenario& scenario, const PipelineShape& table, Checks& checks) {
  const PipelineShape shape = scenario.pipeline_shape();
  // `each` is how much of the key one of them takes.
  const auto same = [&](std::int64_t own, std::int64_t written, const char* path, const char* what,
                        std::int64_t each = 1) {
    checks.require(own == written, path,
                   "gives " + count_text(own) + " " + what + ", " + scenario.schedule.table +
                       " has orders for " + count_text(written) +
                       ", allowed: " + count_text(each * written) +
                       ", or another schedule, such as --set schedule.pipeline=1f1b");
  };
  same(shape.stages, table.stages, "parallel.pp", "stages");
  same(shape.chunks, table.chunks, "parallel.vpp", "chunks per stage");
  same(shape.micro_batches, table.micro_batches, "training.global_batch", "micro-batches",
       std::max<std::int64_t>(scenario.workload.training.global_batch / shape.micro_batches, 1));
  const bool left_out = scenario.schedule.slices == 1 && scenario.schedule.slice_tokens.empty();
  checks.require(left_out || scenario.schedule.slices == table.slices, "schedule.slices",
                 "is " + count_text(scenario.schedule.slices) + ", " + scenario.schedule.table +
                     " has orders for " + count_text(table.slices) + ", allowed: leave it out");
  checks.require_use(scenario.schedule.warm_up.kind == WarmUp::Kind::standard, "schedule.warmup",
                     "means nothing to a table of orders, allowed: standard");
}

/// The replay scales the attention of a unit by the documents of its micro-batch: of one whole
/// micro-batch, and known by its number.
void check_documents(const Scenario& scenario, const PipelineShape& shape, Checks& checks) {
  const bool whole = shape.slices == 1 && !scenario.workload.pairs &&
                     shape.placement != ChunkPlacement::bidirectional;
  checks.require(whole || !scenario.schedule.data.documents, "schedule.data.documents",
                 "are not known in pairs, slices and two directions, allowed: none, or a "
                 "schedule without them");
}

void check_scatter_gather(const Scenario& scenario, Checks& checks) {
  const ParallelPlan& plan = scenario.workload.plan;
  const char* const path = "communication.pipeline.scatter_gather";
  if (!scenario.workload.communication.scatter_gather) return;
  // In what follows each use is one in which the switch would change nothing.
  checks.require_use(!scenario.synthetic, path,
                     "is true, but a synthetic workload says itself what it sends, allowed: false");
  checks.require_use(plan.tp > 1 && !plan.sequence_parallel, path,
                     plan.tp > 1
                         ? "is true, but with sequence_parallel each rank sends its own part "
                           "anyway, allowed: false"
                         : "is true, but tp is 1, allowed: false");
  checks.require_use(plan.pp > 1, path, "is true, but pp is 1: nothing is sent, allowed: false");
  checks.require_use(!scenario.workload.pairs, path,
                     "is true, but the schedule runs pairs, which gather nothing, allowed: false");
}

void check_put_off(const Scenario& scenario, Checks& checks) {
  const ScheduleSpec& schedule = scenario.schedule;
  if (!schedule.put_off) return;
  const bool serves = schedule.table.empty() && pipeline_schedule(schedule.pipeline).puts_off;
  checks.require_use(serves, "schedule.put_off",
                     "is " + count_text(*schedule.put_off) + ", but " + schedule.name() +
                         " says itself when weight gradients run, allowed: auto, or zb_h1, zb_h2");
}

void check_post_validation(const Scenario& scenario, Checks& checks) {
  checks.require_use(!scenario.schedule.post_validation || scenario.workload.plan.pp > 1,
                     "schedule.post_validation",
                     "is true, but pp is 1: there is no other stage to wait for, allowed: false");
}

}  // namespace

/// What Megatron-LM's and MindSpeed's overlap of a forward with a backward asks for.
std::vector<std::string> pair_findings(const Scenario& scenario, const PipelineShape& shape) {
  const WorkloadSpec& spec = scenario.workload;
  std::vector<std::string> findings;
  if (spec.moe.overlap != MoeSpec::Overlap::fb_pair || scenario.synthetic) return findings;
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds) findings.push_back("is fb_pair, which " + what);
  };
  const bool serves = scenario.order_table.has_value();
  const std::string wrong =
      serves ? "" : pairing_rule(pipeline_schedule(scenario.schedule.pipeline), shape);
  require(wrong.empty(), wrong);
  require(!paired_exchange_misfit(spec.moe, spec.plan),
          "hides the exchange of tokens, allowed: none, or ep > 1");
  require(spec.training.recompute != TrainingSpec::Recompute::modules ||
              !spec.training.recomputes(TrainingSpec::Module::moe),
          "has no place for exchanging tokens again, allowed: none, or training.recompute without "
          "moe");
  require(!paired_gradients_misfit(spec.moe, spec.plan),
          "keeps whole gradients, allowed: none, or parallel.zero 0 or 1");
  require(spec.plan.slices == 1, "pairs whole micro-batches, allowed: none, or schedule.slices 1");
  return findings;
}

/// What would run instead, as settings: a larger batch, or on one stage the plainest schedule.
std::string instead(const Scenario& scenario, const PipelineShape& shape) {
  const std::string& name = scenario.schedule.pipeline;
  const std::int64_t each = scenario.workload.training.global_batch / shape.micro_batches;
  PipelineShape other = shape;
  // Rules ask for a number of micro-batches per stage, so that two rounds more meet any of them.
  const std::int64_t most = shape.micro_batches + 2 * shape.stages;
  for (++other.micro_batches; other.micro_batches <= most; ++other.micro_batches)
    if (pipeline_schedule(name).rule(other).empty())
      return ", such as --set training.global_batch=" + count_text(each * other.micro_batches);
  if (shape.stages > 1 || name == "1f1b") return {};
  return std::string(", such as --set schedule.pipeline=1f1b") +
         (shape.chunks > 1 ? " --set parallel.vpp=1" : "");
}

void check_schedule(const Scenario& scenario, Checks& checks) {
  if (!checks.good({"training.global_batch", "training.micro_batch", "parallel.tp", "parallel.cp",
                    "parallel.pp", "parallel.dp", "parallel.vpp", "schedule.pipeline",
                    "schedule.group", "schedule.slices"})) {
    return;
  }
  // Without whole micro-batches there is no shape to ask a schedule about.
  if (!check_micro_batches(scenario, checks)) return;
  const PipelineShape shape = scenario.pipeline_shape();
  if (!check_size(shape, checks)) return;
  if (scenario.order_table) {
    check_table(scenario, scenario.order_table->shape, checks);
  } else {
    const std::string wrong = pipeline_schedule(scenario.schedule.pipeline).rule(shape);
    if (!wrong.empty())
      checks.fail("schedule.pipeline",
                  scenario.schedule.pipeline + " " + wrong + instead(scenario, shape));
  }
  check_slices(scenario, shape.slices, checks);
  for (const std::string& finding : pair_findings(scenario, shape))
    checks.fail("moe.overlap", finding);
  check_documents(scenario, shape, checks);
  check_scatter_gather(scenario, checks);
  check_put_off(scenario, checks);
  check_post_validation(scenario, checks);
}

}  // namespace stepcast
