#include "stepcast/sim/plan/plan.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "stepcast/sim/scenario/searched_keys.hpp"

namespace stepcast {
namespace {

/// Hands a description on, with the keys marked that may hold several values in a plan.
class SeveralValues : public Visitor {
 public:
  SeveralValues(Visitor& to, std::string path) : to_{to}, path_{std::move(path)} {}

  void field(const Field& field) override {
    Field marked = field;
    // Only what the search can vary may be a list in a plan.
    if (const SearchedKey* key = searched_key(path_ + std::string(field.key)))
      marked.several = key->several;
    to_.field(marked);
  }
  void section(std::string_view key, std::string_view doc, const Body& body) override {
    to_.section(key, doc, below(std::string(key) + ".", body));
  }
  void section_or(std::string_view key, std::string_view doc, std::string_view word, bool& present,
                  const Body& body) override {
    // A plan's own section takes the place of the scenario's, which is for readers of scenarios.
    if (path_.empty() && key == "plan") return describe_search(doc);
    to_.section_or(key, doc, word, present, below(std::string(key) + ".", body));
  }
  void alternatives(std::string_view key, std::string_view doc, std::size_t& current,
                    const std::vector<Alternative>& bodies) override {
    to_.alternatives(key, doc, current, each_below(bodies));
  }
  void one_of(std::size_t& current, const std::vector<Alternative>& bodies) override {
    to_.one_of(current, each_below(bodies));
  }
  // No key of a list's entries takes several values.
  void list(std::string_view key, std::string_view doc, std::size_t size, const Resize& resize,
            const Entry& body) override {
    to_.list(key, doc, size, resize, body);
  }
  void optional_list(std::string_view key, std::string_view doc, std::size_t size,
                     const Resize& resize, const Entry& body) override {
    to_.optional_list(key, doc, size, resize, body);
  }
  void paths(std::string_view key, std::string_view doc, const PathMap& map) override {
    to_.paths(key, doc, map);
  }

 private:
  Body below(const std::string& key, const Body& body) const {
    return [path = path_ + key, body](Visitor& to) {
      SeveralValues inner{to, path};
      body(inner);
    };
  }
  std::vector<Alternative> each_below(std::vector<Alternative> bodies) const {
    // Alternatives have no key of their own in the path.
    for (Alternative& alternative : bodies) alternative.body = below("", alternative.body);
    return bodies;
  }
  void describe_search(std::string_view doc) {
    to_.section("plan", doc, [](Visitor& to) {
      PlanSpec spec;
      const Node* search = nullptr;
      describe_plan(to, spec, search);
    });
  }

  Visitor& to_;
  std::string path_;
};

}  // namespace

void describe_plan(Visitor& visitor, PlanSpec& spec, const Node*& search) {
  // Only a bound against typing errors: each simulated point costs a forecast.
  constexpr double most_points = 100'000;
  visitor.field(
      {"objective",
       choice(spec.objective, {{"step_time"},
                               {"tokens_per_device"},
                               {"pareto"},
                               {"cost"},
                               {"throughput"},
                               {"energy"},
                               {"memory"}}),
       "what is best; pareto: time against memory and devices; cost: the price of a token "
       "(cluster.costs); throughput: tokens per second; energy: that of a token "
       "(cluster.device.power); memory: of the fullest device, of equal ones the faster"});
  visitor.field({"frontier", &spec.frontier,
                 "two of time, throughput, cost, energy, memory, devices; empty: time, memory and "
                 "devices, or time and cost where cost is the objective"});
  visitor.field(
      {"runs_in", choice(spec.runs_in, {{"any"}, {"megatron"}, {"mindspeed"}, {"mindformers"}}),
       "framework whose launch file (stepcast export) starts the plan: points that it cannot say "
       "are left out"});
  visitor.field({"memory_reserve", &spec.memory_reserve,
                 "kept free on each device, next to cluster.device.memory.reserve", at_least(0)});
  visitor.field({"top", &spec.top, "points that are simulated at least", between(1, most_points)});
  visitor.field({"shortlist", &spec.shortlist, "points that are timed without contention",
                 between(1, most_points)});
  visitor.field(
      {"simulations", &spec.simulations,
       "points that are simulated at most to prove that none is better, and again for the frontier",
       between(1, most_points)});
  visitor.field({"placements", &spec.placements,
                 "points whose layers and recomputation an integer programme places",
                 between(0, 1000)});
  visitor.field({"seeds", &spec.seeds,
                 "runs of each finalist under the plan's stalls, which decide; 0: no stalls",
                 between(0, most_seeds)});
  visitor.field(
      {"quantile", &spec.quantile, "of the steps of a finalist that decides", fraction()});
  visitor.field(
      {"finalists", &spec.finalists, "best points that are run with all seeds", between(1, 1000)});
  visitor.field(
      {"baseline", &spec.baseline,
       "scenario that the winner is compared with, beside the plan or on the search path"});
  visitor.section("constraints", "what a point must keep", [&](Visitor& v) {
    v.field({"tensor_in_node", &spec.tensor_in_node, "a tensor group stays inside one node"});
    v.field({"least_micro_batches", &spec.least_micro_batches, "micro-batches of a replica",
             between(1, 1 << 30)});
    v.field({"least_parameters", OptionalNumber{&spec.least_parameters, "none"}, "of the model",
             at_least(0)});
    v.field({"most_parameters", OptionalNumber{&spec.most_parameters, "none"}, "of the model",
             at_least(0)});
    v.field({"least_flops_per_token", OptionalNumber{&spec.least_flops_per_token, "none"},
             "FLOPs of training one token", at_least(0)});
    v.field({"most_flops_per_token", OptionalNumber{&spec.most_flops_per_token, "none"},
             "FLOPs of training one token", at_least(0)});
  });
  visitor.paths("search", "other keys with several values, by their paths",
                {"scenario", describe_varied_keys, true, &search});
}

void describe_plan_file(Visitor& visitor) {
  SeveralValues marked{visitor, {}};
  describe_scenario_file(marked);
}

}  // namespace stepcast
