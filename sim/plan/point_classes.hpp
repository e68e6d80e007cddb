#pragma once
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include "stepcast/sim/plan/plan.hpp"
#include "stepcast/sim/scenario/framed_document.hpp"

/// Points that differ in sizes alone and of which a framework says the same are one class.
namespace stepcast {

class PointClasses {
 public:
  /// Of the points of a plain base; `rules` are all that may hold, `ruled` the sizes that they
  /// give.
  PointClasses(const Scenario& base, const std::vector<FrameworkRule>& rules,
               const std::set<std::string>& ruled);

  /// One point of each class of the space, in the order of the classes.
  std::vector<Strategy> points_of(const PlanDimensions& dimensions) const;
  void put(const Strategy& strategy, const std::string& schedule, std::uint32_t base);
  /// The base of the point's class; nothing where no such point was in the space.
  std::optional<std::uint32_t> base_of(const Strategy& strategy, const std::string& schedule) const;

 private:
  using Mask = std::uint64_t;
  Mask class_of(const Strategy& strategy, const std::string& schedule) const;
  Mask asked(std::size_t key, std::int64_t value) const;
  Mask asked(std::size_t key, std::string_view text) const;

  std::int64_t devices_, global_batch_, experts_;
  bool zero_counts_ = false, sequence_counts_ = false, layers_exchange_ = false;
  std::vector<FrameworkCondition> conditions_;  ///< of keys that points vary
  std::unordered_map<Mask, std::uint32_t> bases_;
  /// Answers of asked(), by key and value: points are many, their values few.
  mutable std::array<std::unordered_map<std::int64_t, Mask>, 16> known_;
  mutable std::unordered_map<std::string, Mask> known_schedules_;
};

/// How many values of zero make points of the strategy's own base.
double zeros_of(const PlanSpace& space, Strategy strategy);
/// How many points of these sizes, which leave vpp, schedule and zero open, each base has.
std::map<std::uint32_t, double> points_by_base(const PlanSpace& space, const Strategy& sizes);

/// Gives the space a base for each set of keys that the framework says of some class of its points;
/// `documents` are those of the plain bases. What is wrong goes to `reading`.
void add_framed_bases(PlanSpace& space, const std::vector<FramedDocument>& documents,
                      const SearchPath& search, Reading& reading);

/// Keys that the search does not know, with the values that leave them out: what a framework says
/// of them is left out of the points.
const std::map<std::string, std::string>& unsearched_keys();

}  // namespace stepcast
