#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "stepcast/base/ids.hpp"
#include "stepcast/topology/fabric.hpp"
#include "stepcast/topology/parallel_plan.hpp"

namespace stepcast {

/// The position of a rank in the plan.
struct Coordinates {
  std::uint32_t tp = 0, cp = 0, dp = 0, pp = 0;  ///< first factorisation
  std::uint32_t etp = 0, ep = 0, edp = 0;        ///< second one, over the ranks of the stage
};

/// The placement says where ranks live and with whom they talk, by arithmetic. Rank r lives on
/// device r; `parallel.order` says which coordinate runs fastest. Inside a stage the expert
/// factorisation runs over the same rank order, etp fastest, then ep and edp (edp before ep when
/// `order` puts dp before ep).
class Placement {
 public:
  explicit Placement(const ParallelPlan& plan);

  std::uint32_t world() const { return world_; }
  DeviceId device_of(Rank rank) const { return DeviceId{rank.value}; }
  Stage stage_of(Rank rank) const;
  Coordinates coordinates(Rank rank) const;
  /// The first rank of a stage, with all other coordinates zero.
  Rank first_of(Stage stage) const;
  /// The ranks of the group of that kind that `rank` belongs to, ascending. Sizes: tp,
  /// cp, dp, pp, ep, etp, edp, dp*cp (dense_data), world, and dense_data and edp cut into
  /// `ParallelPlan::shard_groups`. `embedding` has the first and the last
  /// stage of the replica, and a rank between them is alone; `mirror` has stages s and pp - 1 - s
  /// of the replica; `expert_inner` and `expert_outer` are the whole expert group and the rank
  /// alone where the plan does not cut it.
  std::vector<Rank> group(GroupKind kind, Rank rank) const;
  std::uint32_t group_size(GroupKind kind) const;  ///< that of group_size() of the plan
  /// A number that is the same for two ranks iff they share the group of that kind (its smallest
  /// rank).
  std::uint64_t group_key(GroupKind kind, Rank rank) const;
  /// Says whether every expert group has equally many ranks in each part that it touches.
  bool cuts_experts_evenly() const;
  /// The rank of the same replica on another stage.
  Rank on_stage(Rank rank, Stage stage) const;

  const ParallelPlan& plan() const { return plan_; }

 private:
  enum Dimension : std::size_t { tensor, context, data, pipeline, data_shard, data_replica };
  static constexpr std::array dimensions{tensor, context, data, pipeline, data_shard, data_replica};
  std::uint32_t digit(Rank rank, Dimension d) const;
  std::uint32_t in_stage(Rank rank) const;  ///< index among the ranks of the stage, in rank order
  Rank from_stage(std::uint32_t index, std::uint32_t stage) const;
  std::vector<Rank> mirrored(Rank rank) const;
  std::vector<Rank> ends(Rank rank) const;
  static bool spans(GridSpan over, Dimension d);
  std::uint32_t expert_stride(ExpertDigit digit) const;  ///< over the ranks of a stage
  std::vector<Rank> along(Rank rank, GridSpan over) const;
  std::vector<Rank> along_experts(Rank rank, std::uint32_t size, std::uint32_t stride) const;
  /// The expert group of `rank`, part by part.
  std::vector<std::vector<Rank>> expert_parts(Rank rank) const;
  std::vector<Rank> part_of_experts(GroupKind kind, Rank rank) const;

  ParallelPlan plan_;
  std::uint32_t world_;
  std::array<std::uint32_t, dimensions.size()> size_{}, stride_{};  ///< by Dimension
  std::uint32_t ep_stride_ = 1, edp_stride_ = 1;                    ///< over the ranks of a stage
};

/// Ranks of a group of that kind; embedding and mirror: on a stage that shares it.
std::int64_t group_size(const ParallelPlan& plan, GroupKind kind);

}  // namespace stepcast
