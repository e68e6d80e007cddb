#include "point_classes.hpp"

#include <algorithm>
#include <set>

#include "document.hpp"
#include "plan_keys.hpp"
#include "stepcast/sim/scenario/draft.hpp"

namespace stepcast {
namespace {

enum VariedKey : std::size_t {
  key_tp,
  key_pp,
  key_vpp,
  key_cp,
  key_ep,
  key_etp,
  key_dp,
  key_zero,
  key_batches,
  key_micro_batch,
  key_sequence,
  key_schedule
};
constexpr std::array varied_keys{"parallel.tp",
                                 "parallel.pp",
                                 "parallel.vpp",
                                 "parallel.cp",
                                 "parallel.ep",
                                 "parallel.etp",
                                 "parallel.dp",
                                 "parallel.zero",
                                 "micro_batches",
                                 "training.micro_batch",
                                 "parallel.sequence_parallel",
                                 "schedule.pipeline"};
// Bits of a mask, of which the last ones are for the conditions below and for ZeRO.
constexpr std::size_t most_conditions = 48;

bool same_condition(const FrameworkCondition& a, const FrameworkCondition& b) {
  return a.key == b.key && a.texts == b.texts && a.others == b.others;
}

}  // namespace

const std::map<std::string, std::string>& unsearched_keys() {
  // What a framework says of these is a default of its own that no search varies. A point keeps the
  // neutral value, else the same strategy would cost differently with and without a framework.
  static const std::map<std::string, std::string> keys{
      {"runtime.update", "alone"},
      {"communication.gradient.exchange", "reduce"},
      {"communication.pipeline.scatter_gather", "false"},
      {"parallel.layers_per_chunk", "auto"},
      {"schedule.put_off", "auto"},
      {"schedule.post_validation", "false"},
      {"schedule.slices", "1"}};
  return keys;
}

PointClasses::PointClasses(const Scenario& base, const std::vector<FrameworkRule>& rules,
                           const std::set<std::string>& ruled)
    : devices_{base.cluster.devices},
      global_batch_{base.workload.training.global_batch},
      experts_{base.workload.model.moe ? base.workload.model.moe->experts : 0},
      zero_counts_{ruled.contains(varied_keys[key_zero])},
      sequence_counts_{ruled.contains(varied_keys[key_sequence])} {
  for (const FrameworkRule& rule : rules) {
    zero_counts_ |= rule.key.starts_with("communication.") || rule.key.starts_with("moe.");
    layers_exchange_ |= rule.key == "runtime.layer_order";
    for (const FrameworkCondition& condition : rule.when) {
      const bool varied = std::ranges::find(varied_keys, condition.key) != varied_keys.end();
      const bool known = std::ranges::any_of(conditions_, [&](const FrameworkCondition& other) {
        return same_condition(other, condition);
      });
      if (varied && !known) conditions_.push_back(condition);
    }
  }
  expects(conditions_.size() <= most_conditions, "conditions of sizes are few");
}

PointClasses::Mask PointClasses::asked(std::size_t key, std::string_view text) const {
  Mask mask = 0;
  for (std::size_t i = 0; i < conditions_.size(); ++i)
    if (conditions_[i].key == varied_keys[key] && holds(conditions_[i], text)) mask |= Mask{1} << i;
  return mask;
}

PointClasses::Mask PointClasses::asked(std::size_t key, std::int64_t value) const {
  // A search asks for the same few values millions of times.
  const auto [known, fresh] = known_[key].try_emplace(value, 0);
  const bool word = key == key_sequence;
  if (fresh)
    known->second =
        asked(key, word ? std::string(value == 1 ? "true" : "false") : std::to_string(value));
  return known->second;
}

/// What conditions ask, and what leaves a key nothing to do: groups of one rank, gradients that are
/// not shared out, one expert on a rank.
PointClasses::Mask PointClasses::class_of(const Strategy& s, const std::string& schedule) const {
  const std::int64_t dp = std::max<std::int64_t>(devices_ / (s.tp * s.cp * s.pp), 1);
  const std::int64_t batches = std::max<std::int64_t>(global_batch_ / (s.micro_batch * dp), 1);
  const auto [known, fresh] = known_schedules_.try_emplace(schedule, 0);
  if (fresh) known->second = asked(key_schedule, schedule);
  Mask mask = known->second | asked(key_tp, s.tp) | asked(key_pp, s.pp) | asked(key_vpp, s.vpp) |
              asked(key_cp, s.cp) | asked(key_ep, s.ep) | asked(key_etp, s.etp) |
              asked(key_dp, dp) | asked(key_zero, s.zero) | asked(key_batches, batches) |
              asked(key_micro_batch, s.micro_batch) |
              asked(key_sequence, std::int64_t{s.sequence_parallel});
  // Not conditions of the file: sizes of 1 leave some keys nothing to do, which the reader then
  // drops.
  std::size_t bit = most_conditions;
  const auto add = [&](bool holds) { mask |= Mask{holds} << bit++; };
  add(s.tp > 1);
  add(dp * s.cp > 1);
  add(experts_ > 0 && s.ep > 1);
  add(experts_ > 0 && s.etp > 1);
  add(experts_ > 0 && s.ep == experts_);
  add(layers_exchange_ && s.tp * s.cp * s.ep * s.etp > 1);
  add(pipeline_schedule(schedule).pairs);
  add(sequence_counts_ && s.sequence_parallel);
  const Mask zero = zero_counts_ ? static_cast<Mask>(s.zero) : 0;
  return mask | zero << bit;
}

std::vector<Strategy> PointClasses::points_of(const PlanDimensions& d) const {
  // One strategy stands for its class: whatever the file's conditions ask of it is the same.
  std::map<Mask, Strategy> points;
  Strategy s;
  const auto add_inner = [&] {
    for (const std::int64_t vpp : d.vpp)
      for (s.schedule = 0; s.schedule < d.schedules.size(); ++s.schedule)
        for (const std::int64_t zero : d.zero) {
          s.vpp = vpp, s.zero = zero;
          points.try_emplace(class_of(s, d.schedules[s.schedule]), s);
        }
  };
  const auto add_batches = [&] {
    for (const std::int64_t batch : d.micro_batch)
      for (const std::int64_t sequence : d.sequence_parallel) {
        const std::int64_t dp = devices_ / (s.tp * s.cp * s.pp);
        s.micro_batch = batch, s.sequence_parallel = sequence == 1;
        // A batch that does not divide is no point, so that its class would have none.
        if (global_batch_ % (batch * dp) == 0) add_inner();
      }
  };
  for (const std::int64_t tp : d.tp)
    for (const std::int64_t cp : d.cp)
      for (const std::int64_t pp : d.pp) {
        s.tp = tp, s.cp = cp, s.pp = pp;
        if (devices_ % (tp * cp * pp) != 0) continue;
        for (const std::int64_t ep : d.ep)
          for (const std::int64_t etp : d.etp) {
            s.ep = ep, s.etp = etp;
            add_batches();
          }
      }
  std::vector<Strategy> all;
  all.reserve(points.size());
  for (const auto& [mask, strategy] : points) all.push_back(strategy);
  return all;
}

void PointClasses::put(const Strategy& strategy, const std::string& schedule, std::uint32_t base) {
  bases_[class_of(strategy, schedule)] = base;
}

std::optional<std::uint32_t> PointClasses::base_of(const Strategy& strategy,
                                                   const std::string& schedule) const {
  const auto found = bases_.find(class_of(strategy, schedule));
  if (found == bases_.end()) return {};
  return found->second;
}

double zeros_of(const PlanSpace& space, Strategy s) {
  const std::vector<std::int64_t>& zeros = space.dimensions.zero;
  if (space.classes.empty()) return static_cast<double>(zeros.size());
  return static_cast<double>(std::ranges::count_if(zeros, [&](std::int64_t zero) {
    s.zero = zero;
    // With another zero other rules may apply, which make another base.
    return space.base_of(s) == s.base;
  }));
}

std::map<std::uint32_t, double> points_by_base(const PlanSpace& space, const Strategy& sizes) {
  const PlanDimensions& d = space.dimensions;
  std::map<std::uint32_t, double> points;
  // Other dimensions do not choose a base: the rules of frameworks ask for the sizes of the layout,
  // which `sizes` fixes, and for these three.
  Strategy s = sizes;
  for (const std::int64_t vpp : d.vpp)
    for (s.schedule = 0; s.schedule < d.schedules.size(); ++s.schedule)
      for (const std::int64_t zero : d.zero) {
        s.vpp = vpp, s.zero = zero;
        ++points[space.base_of(s)];
      }
  return points;
}

namespace {

/// A document with the sizes of a point, but those that follow from the others.
Node document_of(const Node& root, const Strategy& s, const std::string& schedule,
                 const std::set<std::string>& ruled) {
  Node document = root;
  const Place place{"the plan"};
  const auto put = [&](const char* path, const std::string& text) {
    put_node(document, path, {.kind = Node::Kind::scalar, .place = place, .text = text});
  };
  const auto values = values_of(s);
  for (std::size_t k = 0; k < fast_key_count; ++k) {
    const std::string path = fast_keys[k].path;
    if (ruled.contains(path)) continue;
    const bool word = path == "parallel.sequence_parallel";
    put(fast_keys[k].path,
        word ? (s.sequence_parallel ? "true" : "false") : std::to_string(values[k]));
  }
  put(schedule_key, schedule);
  return document;
}

/// Bases of one plain base, by the keys that the framework says.
class FramedBases {
 public:
  FramedBases(PlanSpace& space, std::uint32_t plain, const FramedDocument& document,
              const SearchPath& search, Reading& reading)
      : space_{space}, plain_{plain}, document_{document}, search_{search}, reading_{reading} {
    for (const auto& [path, value] : unsearched_keys()) left_out_.insert(path);
  }

  std::shared_ptr<const PointClasses> classes() {
    auto classes = std::make_shared<PointClasses>(space_.bases[plain_].scenario, document_.rules(),
                                                  space_.ruled);
    for (const Strategy& s : classes->points_of(space_.dimensions)) {
      const std::string& schedule = space_.dimensions.schedules[s.schedule];
      const std::uint32_t base = base_with(
          document_.keys_of(document_of(document_.root(), s, schedule, space_.ruled), left_out_));
      classes->put(s, schedule, has_ruled(s, base) ? base : PlanSpace::no_base);
    }
    return classes;
  }

 private:
  /// Whether the ruled sizes of a point are those that the framework says of its others.
  bool has_ruled(const Strategy& s, std::uint32_t base) const {
    const auto values = values_of(s);
    for (std::size_t k = 0; k < fast_key_count; ++k)
      if (space_.ruled.contains(fast_keys[k].path) &&
          values[k] != fast_keys[k].of(space_.bases[base].scenario))
        return false;
    return true;
  }

  std::uint32_t base_with(const std::vector<std::pair<std::string, Node>>& keys) {
    std::string text;
    for (const auto& [path, value] : keys) text += path + "=" + flow_text(value) + "\n";
    // Many classes end with the same keys, and reading a document is what takes the time.
    const auto [known, fresh] = bases_.try_emplace(text, 0);
    if (!fresh) return known->second;
    Node document = document_.root();
    for (const auto& [path, value] : keys) put_node(document, path, value);
    PlanBase base = space_.bases[plain_];
    base.scenario = read_values(document, search_, reading_);
    base.scenario.stalls = {.host_sync = base.scenario.stalls.host_sync};  // the framework's own
    space_.bases.push_back(std::move(base));
    return known->second = static_cast<std::uint32_t>(space_.bases.size() - 1);
  }

  PlanSpace& space_;
  std::uint32_t plain_;
  const FramedDocument& document_;
  const SearchPath& search_;
  Reading& reading_;
  std::set<std::string> left_out_;
  std::map<std::string, std::uint32_t> bases_;
};

}  // namespace

void add_framed_bases(PlanSpace& space, const std::vector<FramedDocument>& documents,
                      const SearchPath& search, Reading& reading) {
  if (std::ranges::none_of(documents, &FramedDocument::framed)) return;
  std::vector<std::shared_ptr<const PointClasses>> classes;
  for (std::uint32_t plain = 0; plain < space.plain_bases; ++plain) {
    const FramedDocument& document = documents[plain];
    classes.push_back(document.framed()
                          ? FramedBases(space, plain, document, search, reading).classes()
                          : nullptr);
    for (const FrameworkRule& rule : document.rules()) {
      const auto found = unsearched_keys().find(rule.key);
      if (found != unsearched_keys().end() &&
          std::ranges::none_of(space.neutral,
                               [&](const auto& known) { return known.first == rule.key; }))
        space.neutral.emplace_back(*found);
    }
  }
  space.classes = std::move(classes);
}

std::uint32_t PlanSpace::base_of(const Strategy& strategy) const {
  const std::uint32_t plain = bases.at(strategy.base).plain;
  if (classes.empty() || !classes.at(plain)) return plain;
  // Classes hold points of the space; others are asked for by who looks beside it.
  return classes[plain]
      ->base_of(strategy, dimensions.schedules.at(strategy.schedule))
      .value_or(plain);
}

}  // namespace stepcast
