#pragma once
#include <cstddef>

#include "stepcast/base/kinds.hpp"

/// The kinds of group that a rank belongs to: one row per kind. How a plan makes groups of them:
/// placement.hpp.
namespace stepcast {

/// `expert_data` replicates expert parameters (edp). `dense_data` = data x context: the replicas of
/// the dense parameters. `expert_inner`: those of an expert group that live in one part of the
/// fabric (`ParallelPlan::expert_part`); `expert_outer`: those of like index in each part.
/// `dense_shard`: the part of `dense_data` that shares out what zero shards
/// (`ParallelPlan::shard_groups`); `dense_replica`: those of like index in each part;
/// `expert_shard` and `expert_replica`: likewise of `expert_data`.
enum class GroupKind {
  tensor,
  context,
  data,
  pipeline,
  expert,
  expert_tensor,
  expert_data,
  dense_data,
  embedding,
  mirror,  ///< the two holders of the same chunks in a bidirectional placement
  world,
  expert_inner,
  expert_outer,
  dense_shard,
  dense_replica,
  expert_shard,
  expert_replica
};

/// How the members of a group lie in the plan.
enum class GroupForm {
  grid,         ///< they differ in the dimensions of `over` alone
  experts,      ///< they differ in one digit of the expert factorisation alone
  expert_part,  ///< an expert group cut by the parts of the fabric that it touches
  ends,         ///< the first and the last stage of a replica
  mirror        ///< two stages of a replica, as far from the first as from the last
};

/// Dimensions of the first factorisation; dp is that of the shards, fastest, times that of their
/// groups.
struct GridSpan {
  bool tp = false, cp = false, dp = false, pp = false;
  bool dp_shard = false, dp_replica = false;
};
/// A digit of the expert factorisation; edp is edp_shard, fastest, times edp_replica.
enum class ExpertDigit { none, etp, ep, edp, edp_shard, edp_replica };

/// How the groups of a kind lie among the ranks, and their word in files and reports.
struct GroupKindInfo {
  const char* name = nullptr;  ///< in reports
  GroupForm form = GroupForm::grid;
  GridSpan over = {};                     ///< of `grid`
  ExpertDigit digit = ExpertDigit::none;  ///< of `experts`
};

/// The row of a kind.
constexpr GroupKindInfo info(GroupKind kind) {
  using enum GroupForm;
  switch (kind) {
    case GroupKind::tensor:
      return {.name = "tensor", .over = {.tp = true}};
    case GroupKind::context:
      return {.name = "context", .over = {.cp = true}};
    case GroupKind::data:
      return {.name = "data", .over = {.dp = true}};
    case GroupKind::pipeline:
      return {.name = "pipeline", .over = {.pp = true}};
    case GroupKind::expert:
      return {.name = "expert", .form = experts, .digit = ExpertDigit::ep};
    case GroupKind::expert_tensor:
      return {.name = "expert_tensor", .form = experts, .digit = ExpertDigit::etp};
    case GroupKind::expert_data:
      return {.name = "expert_data", .form = experts, .digit = ExpertDigit::edp};
    case GroupKind::dense_data:
      return {.name = "dense_data", .over = {.cp = true, .dp = true}};
    case GroupKind::embedding:
      return {.name = "embedding", .form = ends};
    case GroupKind::mirror:
      return {.name = "mirror", .form = mirror};
    case GroupKind::world:
      return {.name = "world", .over = {.tp = true, .cp = true, .dp = true, .pp = true}};
    case GroupKind::expert_inner:
      return {.name = "expert_inner", .form = expert_part};
    case GroupKind::expert_outer:
      return {.name = "expert_outer", .form = expert_part};
    case GroupKind::dense_shard:
      return {.name = "dense_shard", .over = {.cp = true, .dp_shard = true}};
    case GroupKind::dense_replica:
      return {.name = "dense_replica", .over = {.dp_replica = true}};
    case GroupKind::expert_shard:
      return {.name = "expert_shard", .form = experts, .digit = ExpertDigit::edp_shard};
    case GroupKind::expert_replica:
      return {.name = "expert_replica", .form = experts, .digit = ExpertDigit::edp_replica};
  }
  return {};
}

inline constexpr std::size_t group_kinds = count_kinds<GroupKind>();
constexpr const char* name(GroupKind kind) { return info(kind).name; }

}  // namespace stepcast
