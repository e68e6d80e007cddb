
#include "stepcast/base/errors.hpp"
#include "stepcast/scheduler/stage_order.hpp"

namespace stepcast {
namespace {

std::vector<Option> schedule_options() {
  std::vector<Option> options;
  for (const PipelineSchedule& schedule : pipeline_schedules()) options.push_back({schedule.name});
  return options;
}

}  // namespace

void describe(Visitor& visitor, ScheduleSpec& spec) {
  Choice pipeline = choice_of_name(spec.pipeline, schedule_options());
  // A table of orders takes the place of a name (order_table.hpp).
  pipeline.file = &spec.table;
  visitor.field({"pipeline", pipeline,
                 "order of the units of each stage, or a file that writes it out "
                 "(docs/models/pipeline.md)"});
  std::optional<std::int64_t> group;
  if (spec.pipeline_group_given > 0) group = spec.pipeline_group_given;
  visitor.field({"group", OptionalCount{&group, "auto"},
                 "micro-batches per visit of a chunk; auto: pp", between(1, 1 << 20)});
  spec.pipeline_group_given = group.value_or(0);
  Choice warm_up =
      choice(spec.warm_up.kind, {{"standard"}, {"extra", true, true}, {"less_memory"}});
  warm_up.number = &spec.warm_up.extra;
  visitor.field({"warmup", warm_up,
                 "forward units before the steady phase; extra(n) and less_memory are for "
                 "interleaved_1f1b",
                 between(1, 1 << 20)});
  visitor.field({"put_off", OptionalCount{&spec.put_off, "auto"},
                 "zb_h1 and zb_h2: stage r defers the weight gradients of this many times r "
                 "backwards; auto: 1 and 2",
                 between(1, 1 << 20)});
  visitor.field({"slices",
                 PartsOf{&spec.slices, &spec.slice_tokens, "balanced", &spec.balanced_slices,
                         between(1, 1 << 30)},
                 "parts of the sequence of a micro-batch, for terapipe, seqpipe, seqvpp, "
                 "seqsmartvpp: how many equal ones, the tokens of each, or balanced(n): n whose "
                 "tokens make the pipeline shortest",
                 between(1, 1 << 16)});
  visitor.field({"p2p", choice(spec.p2p, {{"overlapped"}, {"blocking"}}),
                 "whether a stage computes while it sends and receives"});
  visitor.field({"post_validation", &spec.post_validation,
                 "optimizers do not wait for the gradient norm of other stages: steps overlap, and "
                 "the step time is the interval between them (docs/models/pipeline.md)"});
  visitor.section("data", "documents of the training data, and how they are scheduled",
                  [&](Visitor& v) { describe(v, spec.data); });
}

}  // namespace stepcast
