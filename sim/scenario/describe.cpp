#include <algorithm>
#include <functional>

#include "stepcast/base/format_version.hpp"
#include "stepcast/sim/scenario/breakdown.hpp"
#include "stepcast/sim/scenario/draft.hpp"
#include "stepcast/sim/scenario/launch_source.hpp"

namespace stepcast {
namespace {

constexpr double most_steps = 100'000;

void describe(Visitor& visitor, SimulateSpec& spec) {
  visitor.field({"steps", &spec.steps,
                 "steps replayed one after another; of several the first is reported apart",
                 between(1, most_steps)});
  visitor.field({"engine", choice(spec.engine, {{"fast"}, {"simgrid"}}),
                 "simgrid: the judge. Every rank, operator and message by itself on SimGrid's own "
                 "hosts and links; slow"});
  visitor.field({"fold", choice(spec.fold, {{"auto"}, {"off"}}),
                 "auto: ranks that behave alike are simulated once"});
  visitor.field(
      {"network", choice(spec.network, {{"ports"}, {"pairwise"}}),
       "ports: one flow per collective phase over the ports of its members; pairwise: one "
       "per message, up to 1048576 in a step"});
  visitor.field({"sharing", choice(spec.sharing, {{"auto"}, {"simgrid"}, {"incremental"}}),
                 "who shares links among the flows that meet; the rates are the same. incremental: "
                 "solves only what a change moves; auto: what costs less, which is that"});
}

/// `{value, tolerance}`; `Value` is the type that the value is written in.
template <class Value>
void expectation(Visitor& visitor, std::string_view key, std::string_view doc,
                 std::optional<Expectation>& target, const Range& range,
                 const std::function<void(Visitor&)>& more = {}) {
  optional_part(visitor, key, doc, target, [&](Visitor& v, Expectation& part) {
    Value value{part.value};
    v.field({"value", &value, "what is expected", range, true});
    if constexpr (std::is_same_v<Value, double>) {
      part.value = value;
    } else {
      part.value = value.value();
    }
    constexpr Tolerance::Of of = std::is_same_v<Value, Seconds> ? Tolerance::Of::time
                                 : std::is_same_v<Value, Bytes> ? Tolerance::Of::size
                                                                : Tolerance::Of::number;
    v.field({"tolerance", Tolerance{&part.tolerance, &part.relative, of},
             "how far the result may be off"});
    if (more) more(v);
  });
}

void describe_breakdown(Visitor& visitor, std::vector<double>& breakdown) {
  const std::vector<std::string>& names = breakdown_names();
  breakdown.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    Seconds time{breakdown[i]};
    visitor.field({names[i], &time, "mean over ranks", at_least(0)});
    breakdown[i] = time.value();
  }
}

void describe(Visitor& visitor, ExpectSpec& spec) {
  expectation<Seconds>(visitor, "step_time", "time of one step", spec.step_time, positive());
  expectation<double>(visitor, "mfu", "model FLOPs utilisation", spec.mfu, fraction());
  expectation<Bytes>(
      visitor, "peak_memory", "of the fullest device", spec.peak_memory, positive(),
      [&](Visitor& v) {
        v.field(
            {"counts",
             choice(spec.memory_count, {{"budget"}, {"allocated"}, {"first_step"}, {"device"}}),
             "what was measured (docs/models/memory.md); allocated: tensors; first_step: with "
             "moments from its update on; device: also the reserve and what the allocator keeps"});
      });
  expectation<double>(visitor, "bubble_ratio", "pipeline idle over step time", spec.bubble_ratio,
                      // An expectation of zero exposed time is a valid one, of time or size in all
                      // it is not.
                      between(0, 1));
  visitor.section("exposed", "exposed communication by kind", [&](Visitor& v) {
    for (std::size_t k = 0; k < exposed_kinds; ++k) {
      expectation<Seconds>(v, name(static_cast<ExposedKind>(k)),
                           "time in which a rank waits for it", spec.exposed[k], at_least(0));
    }
  });
  bool breakdown = !spec.breakdown.empty();
  visitor.optional_section("breakdown", "where the time went when the values were taken", breakdown,
                           [&](Visitor& v) { describe_breakdown(v, spec.breakdown); });
  if (!breakdown) spec.breakdown.clear();
  visitor.field({"source", &spec.source, "what the numbers are and where they are published"});
}

// Where operators come from: a table of times, a graph of ours or traces of others; the last two
// say the job as well.
void describe_times(Visitor& visitor, ScenarioDraft& draft) {
  visitor.one_of(
      draft.workload_source,
      {{"chunks", [&](Visitor& v) { describe(v, draft.synthetic); }},
       {"graph",
        [&](Visitor& v) {
          v.field({"graph", &draft.graph, "task graph that run --graph wrote: it says the rest"});
        }},
       {"chakra", [&](Visitor& v) {
          v.field({"chakra", &draft.graph, "folder of Chakra execution traces, one per rank"});
        }}});
}

void describe_workload(Visitor& visitor, ScenarioDraft& draft) {
  visitor.one_of(draft.source, {{"model",
                                 [&](Visitor& v) {
                                   v.section("model", "what is trained", [&](Visitor& w) {
                                     describe_model(w, draft.scenario.workload.model,
                                                    draft.hf_config, draft.model_source);
                                   });
                                 }},
                                {"workload", [&](Visitor& v) {
                                   v.section("workload",
                                             "measured or synthetic times instead of a model",
                                             [&](Visitor& w) { describe_times(w, draft); });
                                 }}});
}

}  // namespace

const std::vector<std::string>& breakdown_names() {
  static const std::vector<std::string> names = [] {
    // Parts of a step in the order in which reports show them: they add up to the step time.
    std::vector<std::string> list{"computing"};
    for (std::size_t k = 0; k < exposed_kinds; ++k)
      list.emplace_back(name(static_cast<ExposedKind>(k)));
    list.insert(list.end(), {"bubble", "host_stall", "compile_stall", "other_idle", "fleet"});
    return list;
  }();
  return names;
}

std::string part_word(std::size_t place) {
  std::string word = breakdown_names()[place];
  std::ranges::replace(word, '_', ' ');
  return word;
}

void describe_model(Visitor& visitor, ModelSpec& model, std::string& hf_config,
                    std::size_t& source) {
  visitor.one_of(source,
                 {{"layers", [&](Visitor& v) { describe(v, model); }},
                  {"hf_config", [&](Visitor& v) {
                     describe_format_version(v);
                     v.field({"name", Identifier{&model.name}, "name of the model"});
                     v.field({"hf_config", &hf_config, "path of a Hugging Face config.json"});
                   }}});
}

namespace {

// In the order of the reference page, which is the order of the content hash too: moving a section
// changes every hash.
void describe_job(Visitor& visitor, Scenario& s) {
  visitor.section("parallel", "how the work is spread over the ranks",
                  [&](Visitor& v) { describe(v, s.workload.plan); });
  visitor.section("training", "what one step is",
                  [&](Visitor& v) { describe(v, s.workload.training); });
  visitor.section("schedule", "order of the work of a pipeline",
                  [&](Visitor& v) { describe(v, s.schedule); });
  visitor.section("moe", "how experts are reached",
                  [&](Visitor& v) { describe(v, s.workload.moe); });
  visitor.section("communication", "collectives of a step",
                  [&](Visitor& v) { describe(v, s.workload.communication); });
  visitor.section("runtime", "how the host drives the device",
                  [&](Visitor& v) { describe(v, s.workload.runtime); });
}

}  // namespace

void describe_content(Visitor& visitor, ScenarioDraft& draft) {
  Scenario& s = draft.scenario;
  if (!draft.job_only) {
    visitor.section("cluster", "devices, hosts and network",
                    [&](Visitor& v) { describe(v, s.cluster); });
    // Stalls that change nothing are no section: their hash is that of a scenario without.
    describe_workload(visitor, draft);
  }
  if (!s.graph && !draft.names_graph) describe_job(visitor, s);  // a graph says it
  bool stalls = s.stalls != StallsSpec{};
  visitor.optional_section("stalls", "slow or pausing devices, hosts and links", stalls,
                           [&](Visitor& v) { describe(v, s.stalls); });
  visitor.section("simulate", "how the step is simulated",
                  [&](Visitor& v) { describe(v, s.simulate); });
}

void describe_framework_key(Visitor& visitor, ScenarioDraft& draft) {
  visitor.field({"framework", &draft.framework,
                 "whose rules say what no key says: a name that stepcast list frameworks shows, a "
                 "path, a mapping that extends one, or none; left out: the usual one of the device",
                 any_number(), false, Several::no, true});
}

void describe_launch_key(Visitor& visitor, LaunchSource& spec, bool& present) {
  visitor.optional_section(
      "launch", "a launch file that says what no other key says", present, [&](Visitor& v) {
        v.field({"file", &spec.file, "launch script, list of arguments, recipe or config.json",
                 any_number(), true});
        v.field({"cluster", &spec.cluster, "cluster file or the name of a preset"});
        v.field(
            {"devices", &spec.devices, "size of the job; 0: as the launch file says", at_least(0)});
        v.field({"from", &spec.from, "kind of the launch file, where its name does not tell"});
        v.field(
            {"deepspeed", &spec.deepspeed, "DeepSpeed's JSON beside a config.json or a script"});
        v.field({"arguments", &spec.arguments, "words that the script is started with"});
        v.field({"environment", &spec.environment, "NAME=VALUE that the script finds set"});
        v.field({"ignore_unknown", &spec.ignore_unknown, "pass over flags that are not known"});
      });
}

void describe(Visitor& visitor, ScenarioDraft& draft) {
  Scenario& s = draft.scenario;
  describe_format_version(visitor, true);
  visitor.field({"name", Identifier{&s.name}, "name of the scenario; absent: that of its file"});
  describe_framework_key(visitor, draft);
  describe_content(visitor, draft);
  const auto described = [](Visitor& v, auto& part) { describe(v, part); };
  optional_part(visitor, "expect", "what stepcast check holds the result to", s.expect, described);
  LaunchSource launch;
  // Read elsewhere, by what turns a launch file into keys; here it only has to be known.
  describe_launch_key(visitor, launch, draft.launches);
  optional_part(visitor, "campaign", "a run of many steps, for stepcast campaign", s.campaign,
                described);
  // Keys of a plan are known so that a plan file can extend a scenario and be told from one with a
  // typing error.
  bool searched = false;
  visitor.optional_section("plan", "what stepcast plan searches: only a plan has keys here",
                           searched, [](Visitor&) {});
}

}  // namespace stepcast
