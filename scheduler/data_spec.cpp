
#include "stepcast/base/errors.hpp"
#include "stepcast/scheduler/packing.hpp"

namespace stepcast {
namespace {

constexpr Range tokens = between(1, 1 << 30);
constexpr Range seed_range = between(0, 9007199254740992);  // 2^53

void describe(Visitor& visitor, DocumentSpec& spec) {
  // Each distribution has its own keys; the file's lengths are taken in its order, so that a run
  // can be repeated.
  using Distribution = DocumentSpec::Distribution;
  auto which = static_cast<std::size_t>(spec.distribution);
  const auto as = [&spec](Distribution d) { spec.distribution = d; };
  visitor.alternatives(
      "distribution", "lognormal, all alike, or the lengths of a file in its order", which,
      {{"lognormal",
        [&](Visitor& v) {
          as(Distribution::lognormal);
          v.field({"mean", &spec.mean, "mean length [tokens]", tokens, true});
          v.field({"sigma", &spec.sigma, "of the logarithm of the length", between(0, 3)});
          v.field({"seed", &spec.seed, "another seed, another corpus", seed_range});
        }},
       {"fixed",
        [&](Visitor& v) {
          as(Distribution::fixed);
          v.field({"length", &spec.length, "of every document [tokens]", tokens, true});
        }},
       {"file", [&](Visitor& v) {
          as(Distribution::file);
          v.field({"file", &spec.file, "path of a text file with one length [tokens] per line",
                   any_number(), true});
        }}});
}

}  // namespace

void describe(Visitor& visitor, DataSpec& spec) {
  optional_part(visitor, "documents", "lengths of the documents; none: full sequences",
                spec.documents, [](Visitor& v, auto& part) { describe(v, part); });
  std::vector<Option> options;
  for (const Packing& known : packings()) options.push_back({known.name});
  visitor.field({"packing", choice_of_name(spec.packing, options),
                 "how documents fill sequences (docs/models/packing.md)"});
  visitor.field({"mask", choice(spec.mask, {{"causal"}, {"document"}}),
                 "what attention sees: the sequence so far, or the document so far"});
  visitor.field({"context_split", choice(spec.context_split, {{"zigzag"}, {"per_document"}}),
                 "what a context rank holds: two slices of the sequence, or of each document"});
}

}  // namespace stepcast
