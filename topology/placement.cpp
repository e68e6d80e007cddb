#include "stepcast/topology/placement.hpp"

#include <algorithm>
#include <string_view>

#include "narrow.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

/// Where a dimension stands in the rank order, fastest first.
std::size_t position(const ParallelPlan& plan, std::string_view key) {
  const auto found = std::ranges::find(plan.order, key);
  expects(found != plan.order.end(), "the rank order names every dimension");
  return static_cast<std::size_t>(found - plan.order.begin());
}

std::int64_t expert_size(const ParallelPlan& plan, ExpertDigit digit) {
  switch (digit) {
    case ExpertDigit::none:
      return 1;
    case ExpertDigit::etp:
      return plan.etp;
    // Replicas of a sharded optimizer cut the data dimension in two: inner shard, outer replica.
    case ExpertDigit::ep:
      return plan.ep;
    case ExpertDigit::edp_shard:
      return plan.edp() / plan.shard_groups();
    case ExpertDigit::edp_replica:
      return plan.shard_groups();
    case ExpertDigit::edp:
      break;
  }
  return plan.edp();
}

/// The factors of what the group spans; a group never spans dp and its two parts at once.
std::int64_t span_size(const ParallelPlan& plan, GridSpan over) {
  return (over.tp ? plan.tp : 1) * (over.cp ? plan.cp : 1) * (over.dp ? plan.dp : 1) *
         (over.pp ? plan.pp : 1) * (over.dp_shard ? plan.dp / plan.shard_groups() : 1) *
         (over.dp_replica ? plan.shard_groups() : 1);
}

}  // namespace

Placement::Placement(const ParallelPlan& plan) : plan_{plan}, world_{narrow(plan.world())} {
  expects(plan.etp * plan.ep * plan.edp() == plan.stage_ranks(),
          "etp * ep divides the ranks of a stage");
  size_ = {narrow(plan.tp), narrow(plan.cp), narrow(plan.dp), narrow(plan.pp)};
  size_[data_replica] = narrow(plan.shard_groups());
  size_[data_shard] = size_[data] / size_[data_replica];
  // Mixed-radix number: the stride of a dimension is the product of all that run faster.
  constexpr std::array<std::string_view, 4> keys{"tp", "cp", "dp", "pp"};
  std::array<std::size_t, 4> places{};
  for (std::size_t i = 0; i < keys.size(); ++i) places[i] = position(plan, keys[i]);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    stride_[i] = 1;
    for (std::size_t j = 0; j < keys.size(); ++j)
      if (places[j] < places[i]) stride_[i] *= size_[j];
  }
  // Successive data ranks share out a shard; replicas of it are that many further.
  stride_[data_shard] = stride_[data];
  stride_[data_replica] = stride_[data] * size_[data_shard];
  // `order` says which expert digit runs faster: ep or edp, as ep stands to dp.
  const bool edp_first = places[data] < position(plan, "ep");
  const std::uint32_t etp = narrow(plan.etp);
  ep_stride_ = edp_first ? etp * narrow(plan.edp()) : etp;
  edp_stride_ = edp_first ? etp : etp * narrow(plan.ep);
}

std::uint32_t Placement::digit(Rank rank, Dimension d) const {
  return rank.value / stride_[d] % size_[d];
}

std::uint32_t Placement::in_stage(Rank rank) const {
  // The pipeline digit taken out of the mixed-radix number.
  const std::uint32_t below = rank.value % stride_[pipeline];
  return rank.value / (stride_[pipeline] * size_[pipeline]) * stride_[pipeline] + below;
}

Rank Placement::from_stage(std::uint32_t index, std::uint32_t stage) const {
  // The inverse of in_stage(): the pipeline digit goes back to its place.
  const std::uint32_t stride = stride_[pipeline];
  return {index / stride * stride * size_[pipeline] + stage * stride + index % stride};
}

Stage Placement::stage_of(Rank rank) const { return {digit(rank, pipeline)}; }

Coordinates Placement::coordinates(Rank rank) const {
  expects(rank.value < world_, "the rank exists");
  // The second factorisation counts ranks of one stage alone.
  const std::uint32_t index = in_stage(rank);
  return {.tp = digit(rank, tensor),
          .cp = digit(rank, context),
          .dp = digit(rank, data),
          .pp = digit(rank, pipeline),
          .etp = index % narrow(plan_.etp),
          .ep = index / ep_stride_ % narrow(plan_.ep),
          .edp = index / edp_stride_ % narrow(plan_.edp())};
}

Rank Placement::first_of(Stage stage) const { return {stage.value * stride_[pipeline]}; }

Rank Placement::on_stage(Rank rank, Stage stage) const {
  return {rank.value + (stage.value - stage_of(rank).value) * stride_[pipeline]};
}

bool Placement::spans(GridSpan over, Dimension d) {
  return std::array{over.tp, over.cp, over.dp, over.pp, over.dp_shard, over.dp_replica}[d];
}

std::vector<Rank> Placement::along(Rank rank, GridSpan over) const {
  // One dimension after another multiplies the ranks found so far.
  std::vector<Rank> ranks{rank};
  for (const Dimension d : dimensions) {
    if (!spans(over, d)) continue;
    std::vector<Rank> wider;
    // Unsigned arithmetic wraps around: a smaller digit goes down by strides.
    for (const Rank r : ranks)
      for (std::uint32_t i = 0; i < size_[d]; ++i)
        wider.push_back({r.value + (i - digit(r, d)) * stride_[d]});
    ranks = std::move(wider);
  }
  // Dimensions out of order of their strides come out unsorted; groups are ascending by contract.
  if (!std::ranges::is_sorted(ranks)) std::ranges::sort(ranks);
  return ranks;
}

std::vector<Rank> Placement::along_experts(Rank rank, std::uint32_t size,
                                           std::uint32_t stride) const {
  const std::uint32_t index = in_stage(rank);
  // Taking the own digit away leaves the first member of the group.
  const std::uint32_t first = index - index / stride % size * stride;
  std::vector<Rank> ranks;
  for (std::uint32_t i = 0; i < size; ++i)
    ranks.push_back(from_stage(first + i * stride, stage_of(rank).value));
  return ranks;
}

std::vector<std::vector<Rank>> Placement::expert_parts(Rank rank) const {
  std::vector<std::vector<Rank>> parts;
  std::uint32_t last = 0;
  for (const Rank member : along_experts(rank, narrow(plan_.ep), ep_stride_)) {
    // A part is a node or super-node of so many devices; without a cut all is one part.
    const std::uint32_t part =
        plan_.expert_part > 0 ? device_of(member).value / narrow(plan_.expert_part) : 0;
    if (parts.empty() || part != last) parts.emplace_back();
    parts.back().push_back(member);
    last = part;
  }
  return parts;
}

bool Placement::cuts_experts_evenly() const {
  for (std::uint32_t r = 0; r < world_; ++r) {
    // Each group once, by its smallest rank.
    if (group_key(GroupKind::expert, Rank{r}) != r) continue;
    const auto parts = expert_parts(Rank{r});
    if (parts.size() != narrow(plan_.ep) / parts.front().size() ||
        std::ranges::any_of(parts, [&](const auto& p) { return p.size() != parts.front().size(); }))
      return false;
  }
  return true;
}

std::vector<Rank> Placement::part_of_experts(GroupKind kind, Rank rank) const {
  const auto parts = expert_parts(rank);
  for (const auto& part : parts) {
    const auto found = std::ranges::find(part, rank);
    if (found == part.end()) continue;
    if (kind == GroupKind::expert_inner) return part;
    // Across parts go the ranks of equal place in each: one of every part.
    const auto index = static_cast<std::size_t>(found - part.begin());
    std::vector<Rank> across;
    for (const auto& other : parts) {
      expects(other.size() == part.size(), "an expert group is cut into equal parts");
      across.push_back(other[index]);
    }
    return across;
  }
  expects(false, "a rank belongs to its expert group");
  return {};
}

/// The rank and that of the stage which is as far from the last as its own is from the first.
std::vector<Rank> Placement::mirrored(Rank rank) const {
  const std::uint32_t stage = stage_of(rank).value, other = size_[pipeline] - 1 - stage;
  if (stage == other) return {rank};
  return {on_stage(rank, Stage{std::min(stage, other)}),
          on_stage(rank, Stage{std::max(stage, other)})};
}

/// Those of the first and the last stage; a rank between them is alone.
std::vector<Rank> Placement::ends(Rank rank) const {
  const Stage last{size_[pipeline] - 1}, stage = stage_of(rank);
  if (last.value == 0 || (stage.value != 0 && stage != last)) return {rank};
  return {on_stage(rank, Stage{0}), on_stage(rank, last)};
}

std::uint32_t Placement::expert_stride(ExpertDigit digit) const {
  // Digits of a rank among experts, fastest first: inside an expert, over experts, then their
  // replicas, shards before replicas.
  switch (digit) {
    case ExpertDigit::none:
    case ExpertDigit::etp:
      return 1;
    case ExpertDigit::ep:
      return ep_stride_;
    case ExpertDigit::edp_replica:
      return edp_stride_ * narrow(expert_size(plan_, ExpertDigit::edp_shard));
    case ExpertDigit::edp:
    case ExpertDigit::edp_shard:
      break;
  }
  return edp_stride_;
}

std::vector<Rank> Placement::group(GroupKind kind, Rank rank) const {
  expects(rank.value < world_, "the rank exists");
  // One table says of each kind how its groups lie; the forms share code, so that a new kind is a
  // row there.
  const GroupKindInfo row = info(kind);
  switch (row.form) {
    case GroupForm::grid:
      return along(rank, row.over);
    case GroupForm::experts:
      return along_experts(rank, group_size(kind), expert_stride(row.digit));
    case GroupForm::expert_part:
      return part_of_experts(kind, rank);
    case GroupForm::ends:
      return ends(rank);
    case GroupForm::mirror:
      break;
  }
  return mirrored(rank);
}

std::uint32_t Placement::group_size(GroupKind kind) const {
  if (info(kind).form == GroupForm::expert_part)
    return static_cast<std::uint32_t>(part_of_experts(kind, Rank{0}).size());
  return narrow(stepcast::group_size(plan_, kind));
}

std::uint64_t Placement::group_key(GroupKind kind, Rank rank) const {
  // The smallest rank of the group, for most kinds without listing the group.
  const GroupKindInfo row = info(kind);
  switch (row.form) {
    case GroupForm::grid: {
      std::uint32_t value = rank.value;
      // Zeroing the digits that the group spans gives its smallest rank.
      for (const Dimension d : dimensions)
        if (spans(row.over, d)) value -= digit(rank, d) * stride_[d];
      return value;
    }
    case GroupForm::experts: {
      const std::uint32_t index = in_stage(rank), stride = expert_stride(row.digit);
      const std::uint32_t first = index - index / stride % group_size(kind) * stride;
      return from_stage(first, stage_of(rank).value).value;
    }
    case GroupForm::expert_part:
      return part_of_experts(kind, rank).front().value;
    case GroupForm::ends:
      return ends(rank).front().value;
    case GroupForm::mirror:
      break;
  }
  return mirrored(rank).front().value;
}

std::int64_t group_size(const ParallelPlan& plan, GroupKind kind) {
  const GroupKindInfo row = info(kind);
  switch (row.form) {
    case GroupForm::grid:
      return span_size(plan, row.over);
    case GroupForm::experts:
      return expert_size(plan, row.digit);
    case GroupForm::expert_part:
      // How many ranks a part has depends on where nodes end, not on sizes alone.
      return Placement(plan).group_size(kind);
    case GroupForm::ends:
    case GroupForm::mirror:
      break;
  }
  // Both kinds join two stages, which are one where there is no pipeline.
  return std::min<std::int64_t>(2, plan.pp);
}

}  // namespace stepcast
