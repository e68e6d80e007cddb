#include "stepcast/workloads/training_spec.hpp"

#include <algorithm>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr Range batch = between(1, 1 << 30);

}  // namespace

void describe(Visitor& visitor, TrainingSpec& spec) {
  visitor.field(
      {"sequence", &spec.sequence, "tokens of one sequence; required with a model", batch});
  visitor.field({"global_batch", &spec.global_batch, "sequences of one step", batch, true});
  visitor.field({"micro_batch", &spec.micro_batch, "sequences of one micro-batch", batch});
  visitor.field({"precision", choice(spec.precision, {{"bf16"}, {"fp16"}, {"fp8_mixed"}}),
                 "of the matrix products"});
  Choice recompute = choice(spec.recompute, {{"none"}, {"selective"}, {"full"}, {"table"}});
  recompute.table = &spec.recompute_layers;
  recompute.table_option = static_cast<std::size_t>(TrainingSpec::Recompute::table);
  visitor.field({"recompute", recompute,
                 "activations computed again in the backward pass; or a table of layers",
                 between(0, 100000)});
  visitor.field({"attention", choice(spec.attention, {{"fused"}, {"unfused"}}),
                 "fused: one kernel, causal blocks left out; unfused: products, softmax and "
                 "dropout over the whole matrix of scores"});
}

void describe(Visitor& visitor, MoeSpec& spec) {
  visitor.field({"dispatch",
                 choice(spec.dispatch, {{"flat"},
                                        {"two_hop", false},
                                        {"two_hop_dedup", false},
                                        {"hierarchical_allgather", false},
                                        {"allgather", false}}),
                 "how tokens reach their experts; flat: one all-to-all"});
  visitor.field({"overlap",
                 choice(spec.overlap,
                        {{"none"}, {"shared_expert"}, {"chunks", false, true}, {"fb_pair", false}}),
                 "what runs while tokens travel"});
  visitor.section("routing", "how many tokens each expert gets", [](Visitor& v) {
    std::size_t current = 0;
    const Visitor::Body nothing = [](Visitor&) {};
    v.alternatives("distribution", "uniform: all experts alike", current,
                   {{"uniform", nothing}, {"zipf", nothing, false}, {"file", nothing, false}});
  });
  visitor.reserved("capacity_factor", "tokens beyond it are dropped", "none");
  visitor.field(
      {"wire_precision", only_first({{"bf16"}, {"fp8", false}}), "of tokens that travel"});
}

void describe(Visitor& visitor, CollectiveChoice& choice) {
  std::vector<Option> options{{"auto"}};
  for (const NamedAlgorithm& algorithm : collective_algorithms())
    options.push_back({algorithm.name});
  for (std::size_t i = 0; i < collective_kinds; ++i) {
    std::string& chosen = choice.algorithm[i];
    const Choice names{options,
                       [options, &chosen] {
                         const auto found = std::ranges::find(options, chosen, &Option::name);
                         expects(found != options.end(), "an algorithm of the table");
                         return static_cast<std::size_t>(found - options.begin());
                       },
                       [options, &chosen](std::size_t index) { chosen = options[index].name; }};
    visitor.field({name(static_cast<CollectiveKind>(i)), names, "algorithm of this collective"});
  }
}

double gradient_bytes(const CommunicationSpec& spec) {
  return spec.gradient_precision == CommunicationSpec::GradientPrecision::fp32 ? 4 : 2;
}

void describe(Visitor& visitor, CommunicationSpec& spec) {
  visitor.section("gradient", "gradient reduction", [&](Visitor& v) {
    v.field({"precision", choice(spec.gradient_precision, {{"fp32"}, {"bf16"}}),
             "of gradients, accumulated and sent"});
    v.field(
        {"overlap", &spec.gradient_overlap, "reduce buckets while the backward pass still runs"});
    v.field({"bucket", OptionalCount{&spec.bucket, "auto"},
             "elements of one bucket; auto: more for more replicas (docs/models/data_parallel.md)",
             between(1e6, 1e15)});
  });
  visitor.section("tensor", "tensor parallel collectives", [](Visitor& v) {
    v.field({"overlap", only_first({{"none"}, {"chunks", false, true}}),
             "matrix products overlapped with their collective"});
  });
  visitor.section("algorithm", "of each collective; auto: the library's own selection",
                  [&](Visitor& v) { describe(v, spec.algorithms); });
}

void describe(Visitor& visitor, RuntimeSpec& spec) {
  visitor.field({"dispatch", choice(spec.dispatch, {{"eager"}, {"task_queue"}, {"graph_sink"}}),
                 "how the host issues operators"});
  visitor.field(
      {"fusion", only_first({{"none"}, {"pattern", false}, {"dvm", false}}), "operator fusion"});
  visitor.field(
      {"host_speed", &spec.host_speed, "all host times are divided by it", between(1e-6, 1e6)});
}

}  // namespace stepcast
