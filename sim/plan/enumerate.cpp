#include "enumerate.hpp"

#include <algorithm>

#include "launchable.hpp"
#include "layer_costs.hpp"
#include "point_classes.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/replay/fleet_pace.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

/// Bytes of weights, gradients and optimizer on the mean stage under this zero, as far as they stay
/// on the device whatever the layout is: the fullest stage has no less. `parameters` are the
/// piece_parameters() of the scenario. What is offloaded leaves the part at hand on the device,
/// which is not counted here. Of experts that live on the host only those that work in a step are
/// on the device, without their states.
double least_states(const Scenario& scenario, const std::array<PieceCost, plan_pieces>& parameters,
                    std::int64_t zero) {
  const WorkloadSpec& spec = scenario.workload;
  const ParallelPlan& plan = spec.plan;
  const PieceCounts counts = model_pieces(spec.model);
  const double weight = least_weight_bytes(spec.communication);
  const double gradient = gradient_bytes(spec.communication);
  // States on the host, or of experts that live there, are not on the device.
  const double states = spec.training.offload_optimizer ? 0 : optimizer_state_bytes(spec.training);
  const double expert_states = spec.training.offload_experts ? 0 : states;
  const double active = active_experts(spec.model, spec.training, spec.moe);
  const auto bytes = [&](double count, double replicas, double kept) {
    return count * (weight / shards(zero, Shards::parameters, replicas) +
                    gradient / shards(zero, Shards::gradients, replicas) +
                    kept / shards(zero, Shards::optimizer, replicas));
  };
  const auto dense_ranks = static_cast<double>(plan.dp * plan.cp);
  const auto expert_ranks = static_cast<double>(plan.edp());
  // Experts have replicas of their own.
  double sum = 0;
  for (std::size_t i = 0; i < plan_pieces; ++i)
    sum += counts[i] * (bytes(parameters[i].dense, dense_ranks, states) +
                        bytes(active * parameters[i].expert, expert_ranks, expert_states));
  // The mean stage: no layout has less on its fullest one.
  return sum / static_cast<double>(plan.pp);
}

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::size_t most_refused = 64;

/// Points that share unit times and the number of stages; vpp, schedule and zero are open.
struct Family {
  Strategy strategy;
  BaseCosts::Sized* sized;
  PlanScore bound;
  double points;  ///< of the base: others of these sizes may have another
};

class Enumerator {
 public:
  /// What is kept: at most `most` points with a bound below `limit`, the best by estimate or bound.
  struct Keeping {
    std::size_t most = std::numeric_limits<std::size_t>::max();
    PlanScore limit{infinite};
    bool by_bound = false;
  };
  Enumerator(const PlanSpace& space, std::vector<BaseCosts>& costs, const Keeping& keeping)
      : space_{space},
        dims_{space.dimensions},
        costs_{costs},
        launchable_{space},
        keeping_{keeping} {
    for (const std::string& name : dims_.schedules) {
      schedules_.push_back(&pipeline_schedule(name));
    }
  }

  /// Families come in ascending order of their bounds, so that the list fills with good points
  /// early and refuses more.
  Enumeration run() {
    result_.counts.points = space_.points();
    // Bases of framework classes are reached from the plain ones.
    for (std::uint32_t base = 0; base < space_.plain_bases; ++base) branch_base(base);
    std::ranges::stable_sort(families_, {}, &Family::bound);
    for (const Family& family : families_) expand(family);
    std::ranges::stable_sort(result_.kept, {}, [&](const PlanPoint& p) { return key(p); });
    return std::move(result_);
  }

  /// Once enough is kept, a family whose bound is no better than the worst kept point cannot add
  /// anything.
  void expand(const Family& family) {
    // Families come by ascending bound: from here on most are only counted.
    const PlanScore limit = threshold();
    if (family.bound >= limit) {
      result_.counts.bounded += family.points;
      result_.dropped_bound = std::min(result_.dropped_bound, family.bound);
      return;
    }
    Strategy s = family.strategy;
    Scenario scenario = scenario_of(space_, s);
    // Groups of parameters and bytes of chunks are the same for all layouts of the family.
    const LayerCosts costs = paced(scenario, s, family.sized->costs);
    Shared shared{costs, FamilyNetwork(scenario, costs, costs_[s.base].times),
                  FamilyBytes(dims_.zero, family.sized->chunks)};
    for (const std::int64_t vpp : dims_.vpp) {
      if (only_ != nullptr && only_->vpp != vpp) continue;
      s.vpp = scenario.workload.plan.vpp = vpp;
      // Schedules by where they place chunks: those of one placement share a layout.
      std::array<std::vector<std::uint32_t>, 3> by_placement;
      for (s.schedule = 0; s.schedule < schedules_.size(); ++s.schedule) {
        if (only_ != nullptr && only_->schedule != s.schedule) continue;
        // Another base may have these values of zero.
        const double zeros = zeros_of(space_, s);
        if (zeros == 0) continue;
        scenario.schedule.pipeline = dims_.schedules[s.schedule];
        place_chunks(scenario);
        if (const Misfit wrong = wrong_schedule(scenario)) {
          refuse(wrong, zeros);
        } else {
          const ChunkPlacement placement = schedules_[s.schedule]->placement;
          by_placement[static_cast<std::size_t>(placement)].push_back(s.schedule);
        }
      }
      for (const auto& schedules : by_placement)
        if (!schedules.empty())
          expand_layout({s, family.sized, family.bound, family.points}, scenario, schedules,
                        shared);
    }
  }

  /// Families wait for all of them to be known, because the one with the least bound goes first.
  Family family_of(const Strategy& s, double points) {
    Scenario scenario = scenario_of(space_, s);
    // A bound of the family must hold for the weakest of its schedules.
    scenario.workload.pairs = weakest_form(schedules_, scenario) == UnitForm::paired;
    BaseCosts::Sized& costs = sized(scenario, s);
    PlanPoint point;
    point.devices = scenario.cluster.devices;
    set_rates(point, s.base);
    return Family{s, &costs,
                  score(point, family_bound(scenario, paced(scenario, s, costs.costs),
                                            weakest_form(schedules_, scenario))),
                  points};
  }

  Enumeration& result() { return result_; }
  void only(const Strategy& strategy) { only_ = &strategy; }

 private:
  using Values = std::vector<std::int64_t>;
  void refuse(const std::string& reason, double points) {
    result_.counts.infeasible[reason] += points;
  }

  /// A wrong size refuses all points below it at once; most of a space of millions falls this way.
  void branch_base(std::uint32_t base) {
    const Scenario& scenario = space_.bases[base].scenario;
    // Points are counted in products: a refusal says how many fall with it.
    const auto experts = static_cast<double>(dims_.ep.size() * dims_.etp.size());
    const auto batches =
        static_cast<double>(dims_.micro_batch.size() * dims_.sequence_parallel.size());
    const double whole = inner() * experts * batches;
    if (!keeps_constraints(scenario, space_.spec)) {
      refuse("the model is outside plan.constraints",
             whole * static_cast<double>(dims_.tp.size() * dims_.cp.size() * dims_.pp.size()));
      return;
    }
    Strategy s;
    s.base = base;
    for (const std::int64_t tp : dims_.tp)
      for (const std::int64_t cp : dims_.cp)
        for (const std::int64_t pp : dims_.pp) {
          s.tp = tp, s.cp = cp, s.pp = pp;
          if (const Misfit wrong = wrong_sizes(scenario, s, space_.spec)) {
            refuse(wrong, whole);
          } else {
            branch_experts(s);
          }
        }
  }

  /// What no schedule or zero can mend, such as states that do not fit, is refused before they are
  /// tried.
  void branch_experts(Strategy s) {
    const Scenario& scenario = space_.bases[s.base].scenario;
    const double points =
        inner() * static_cast<double>(dims_.micro_batch.size() * dims_.sequence_parallel.size());
    for (const std::int64_t ep : dims_.ep)
      for (const std::int64_t etp : dims_.etp) {
        s.ep = ep, s.etp = etp;
        if (const Misfit wrong = wrong_experts(scenario, s)) {
          refuse(wrong, points);
          // Experts of a group must be cut alike by nodes where the dispatch goes by them.
        } else if (const Misfit uneven =
                       expert_parts_misfit(scenario_of(space_, s).workload.plan)) {
          refuse(uneven, points);
          // With rules of a framework states may differ within the sizes: they are asked per class.
        } else if (!framed() && states(scenario_of(space_, s), s) > capacity(scenario)) {
          refuse("memory: parameters and optimizer alone", points);
        } else {
          branch_batch(s);
        }
      }
  }

  /// With one tensor rank sequence parallelism changes nothing, so that the point would be there
  /// twice.
  void branch_batch(Strategy s) {
    const Scenario& scenario = space_.bases[s.base].scenario;
    for (const std::int64_t micro_batch : dims_.micro_batch)
      for (const std::int64_t sp : dims_.sequence_parallel) {
        s.micro_batch = micro_batch, s.sequence_parallel = sp == 1;
        const bool asked = !space_.ruled.contains("parallel.sequence_parallel");
        if (asked && s.tp == 1 && sp == 1 && dims_.sequence_parallel.size() > 1) {
          refuse("sequence parallelism without a tensor group", inner());
        } else if (const Misfit wrong = wrong_batch(scenario, s, space_.spec)) {
          refuse(wrong, inner());
        } else if (framed()) {
          branch_classes(s);
        } else {
          families_.push_back(family_of(s, inner()));
        }
      }
  }

  /// What a framework says may depend on the sizes that a family leaves open: there is one for each
  /// of its bases.
  void branch_classes(const Strategy& sizes) {
    for (const auto& [base, count] : points_by_base(space_, sizes)) {
      if (base == PlanSpace::no_base) {
        result_.counts.points -= count;
        continue;
      }
      Strategy s = sizes;
      s.base = base;
      const Scenario& scenario = space_.bases[base].scenario;
      Misfit wrong = wrong_point(scenario, s, space_.spec);
      if (!wrong) wrong = expert_parts_misfit(scenario_of(space_, s).workload.plan);
      if (!wrong && states(scenario_of(space_, s), s) > capacity(scenario))
        wrong = "memory: parameters and optimizer alone";
      if (wrong) {
        refuse(wrong, count);
      } else {
        families_.push_back(family_of(s, count));
      }
    }
  }

  /// Unit times are the cost of the search; only the sizes that change a layer make new ones.
  BaseCosts::Sized& sized(const Scenario& scenario, const Strategy& s) {
    static const ParallelPlan usual;
    const ParallelPlan& plan = scenario.workload.plan;
    // Groups of layers lie alike when pipeline and replicas run slowest, whatever their sizes.
    const bool same_groups = plan.order == usual.order;  // whatever the stages and replicas
    const std::array<std::int64_t, 8> key{s.tp,
                                          s.cp,
                                          s.ep,
                                          s.etp,
                                          s.micro_batch,
                                          s.sequence_parallel,
                                          same_groups ? 0 : s.pp,
                                          same_groups ? 0 : plan.dp};
    auto& known = costs_[s.base].layers;
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    BaseCosts::Sized fresh{layer_costs(scenario, costs_[s.base].times), {}, {}};
    return known.emplace(key, std::move(fresh)).first->second;
  }

  /// Of the devices of the cluster's fleet: a forecast is a step at its pace.
  LayerCosts paced(const Scenario& scenario, const Strategy& s, const LayerCosts& costs) {
    if (!counts_fleet(scenario)) return costs;
    const ParallelPlan& plan = scenario.workload.plan;
    const std::int64_t devices = plan.world() / plan.pp;
    auto& known = costs_[s.base].slowest;
    auto found = known.find(devices);
    if (found == known.end())
      found = known
                  .emplace(devices, least_slowest(*scenario.cluster.fleet, devices,
                                                  scenario.cluster.node_devices))
                  .first;
    return costs.at(least_pace(found->second, scenario.pipeline_shape()));
  }

  /// Parameters are counted once for all points that cut them alike; the largest zero leaves least.
  double states(const Scenario& scenario, const Strategy& s) {
    auto& known = costs_[s.base].parameters;
    const std::array<std::int64_t, 4> key{s.tp, s.ep, s.etp, s.cp};
    auto found = known.find(key);
    if (found == known.end()) found = known.emplace(key, piece_parameters(scenario)).first;
    return least_states(scenario, found->second, *std::ranges::max_element(dims_.zero));
  }

  double capacity(const Scenario& scenario) const {
    // What runtime and driver take, and what the user keeps free, is not the model's.
    const DeviceSpec& device = scenario.cluster.device;
    return (device.memory_capacity - device.memory_reserve - space_.spec.memory_reserve).value();
  }

  bool framed() const { return !space_.classes.empty(); }
  /// What the layouts of a family share.
  struct Shared {
    const LayerCosts& costs;
    FamilyNetwork network;
    FamilyBytes bytes;
  };

  /// Schedules of one placement share the layers of their stages, which is the dear part of a
  /// layout.
  void expand_layout(const Family& family, Scenario& scenario,
                     const std::vector<std::uint32_t>& schedules, Shared& shared) {
    // Pairs hold a layer more than the orders alone would.
    const bool paired = scenario.workload.moe.overlap == MoeSpec::Overlap::fb_pair;
    scenario.schedule.pipeline = dims_.schedules[schedules.front()];
    place_chunks(scenario);
    BaseCosts::Sized& sized = *family.sized;
    const PlanLayout layout = lay_out(scenario, shared.costs, sized.ends, shared.bytes);
    const EstimateInput input{scenario, shared.costs, shared.network,
                              costs_[family.strategy.base].idle};
    const LayoutEstimate estimate(input, layout);
    PlanPoint point;
    point.strategy = family.strategy;
    point.devices = scenario.cluster.devices;
    set_rates(point, family.strategy.base);
    point.capacity = Bytes{capacity(scenario)};
    for (const std::uint32_t schedule : schedules) {
      point.strategy.schedule = schedule;
      scenario.schedule.pipeline = dims_.schedules[schedule];
      // Bytes in flight depend on the schedule and not on zero.
      const std::vector<double> held =
          held_bytes(layout, moments_.of(*schedules_[schedule], scenario.pipeline_shape(), paired));
      for (const std::int64_t zero : dims_.zero) {
        if (only_ != nullptr && only_->zero != zero) continue;
        point.strategy.zero = zero;
        // With rules of a framework the point may be of another base.
        if (framed() && space_.base_of(point.strategy) != point.strategy.base) continue;
        if (const Misfit wrong = wrong_zero(scenario.workload, zero)) {
          refuse(wrong, 1);
          continue;
        }
        consider(point, estimate, peak_memory(layout, held, zero));
      }
    }
  }

  /// The bound comes before the estimate, because it is cheaper and settles most points.
  void consider(PlanPoint& point, const LayoutEstimate& layout, double peak) {
    const PipelineSchedule& schedule = *schedules_[point.strategy.schedule];
    point.peak = Bytes{peak};
    point.bound = Seconds{layout.bound(schedule, point.strategy.zero)};
    // A point that memory refuses keeps its bound: recomputing layers may mend it.
    const PlanScore bound = score(point, point.bound.value());
    if (point.peak > point.capacity) {
      refuse("memory", 1);
      remember_refused(point, bound);
      return;
    }
    // The estimate is asked only where the bound leaves a chance.
    if (bound >= threshold()) {
      result_.counts.bounded += 1;
      result_.dropped_bound = std::min(result_.dropped_bound, bound);
      return;
    }
    if (const std::string& wrong = launchable_.refusal(point); !wrong.empty()) {
      refuse(wrong, 1);
      return;
    }
    point.estimate = Seconds{layout.estimate(schedule, point.strategy.zero)};
    result_.counts.estimated += 1;
    keep(point);
  }

  /// `kept` is a heap with the worst point in front.
  void keep(const PlanPoint& point) {
    auto& kept = result_.kept;
    const auto better = [&](const PlanPoint& a, const PlanPoint& b) { return key(a) < key(b); };
    // What is dropped without being simulated bounds what the plan can prove.
    const auto drop = [&](const PlanPoint& p) {
      result_.dropped_bound = std::min(result_.dropped_bound, score(p, p.bound.value()));
    };
    if (kept.size() >= keeping_.most && key(point) >= key(kept.front())) return drop(point);
    kept.push_back(point);
    std::ranges::push_heap(kept, better);
    if (kept.size() <= keeping_.most) return;
    std::ranges::pop_heap(kept, better);
    drop(kept.back());
    kept.pop_back();
  }

  /// Points that are taken back are ordered by their bounds: their estimates have dropped them
  /// already.
  PlanScore key(const PlanPoint& point) const {
    return score(point, (keeping_.by_bound ? point.bound : point.estimate).value());
  }

  /// Points with a bound at or above this are not kept.
  PlanScore threshold() const {
    if (result_.kept.size() < keeping_.most) return keeping_.limit;
    return std::min(keeping_.limit, key(result_.kept.front()));
  }

  /// Points that memory refuses may fit with some layers recomputed, so that the most promising
  /// ones are kept for the placement.
  void remember_refused(const PlanPoint& point, PlanScore bound) {
    const auto excess = [](const PlanPoint& p) { return p.peak - p.capacity; };
    // For the case that nothing fits: the point that lacks least memory.
    if (!result_.nearest || excess(point) < excess(*result_.nearest)) result_.nearest = point;
    auto& refused = result_.refused;
    const auto place = std::ranges::upper_bound(
        refused, bound, {}, [&](const PlanPoint& p) { return score(p, p.bound.value()); });
    // The list is short and ordered: what is behind its end need not be looked at.
    if (refused.size() == most_refused && place == refused.end()) return;
    refused.insert(place, point);
    if (refused.size() > most_refused) refused.pop_back();
  }

  PlanScore score(const PlanPoint& point, double time) const {
    return plan_score(space_.spec, point, Seconds{time});
  }
  void set_rates(PlanPoint& point, std::uint32_t base) const {
    point.tokens = costs_[base].tokens;
    point.cost_rate = costs_[base].cost_rate;
    point.energy_rate = costs_[base].energy_rate;
  }
  double inner() const {
    return static_cast<double>(dims_.vpp.size() * dims_.schedules.size() * dims_.zero.size());
  }

  const PlanSpace& space_;
  const PlanDimensions& dims_;
  std::vector<BaseCosts>& costs_;
  std::vector<const PipelineSchedule*> schedules_;
  MomentTable moments_;
  Launchable launchable_;
  std::vector<Family> families_;
  Enumeration result_;
  const Strategy* only_ = nullptr;  ///< the one point that counts
  Keeping keeping_;
};

}  // namespace

/// A frontier may hold any feasible point, so that with `pareto` none is dropped.
Enumeration enumerate(const PlanSpace& space, std::vector<BaseCosts>& costs) {
  Enumerator::Keeping keeping;
  // A shortlist bounds what is timed later.
  if (space.spec.objective != PlanSpec::Objective::pareto)
    keeping.most = static_cast<std::size_t>(space.spec.shortlist);
  return Enumerator(space, costs, keeping).run();
}

/// By bound, because these points were dropped for estimates that may be wrong.
Enumeration enumerate_below(const PlanSpace& space, std::vector<BaseCosts>& costs, PlanScore limit,
                            std::size_t most) {
  return Enumerator(space, costs, {most, limit, true}).run();
}

std::optional<PlanPoint> estimate_point(const PlanSpace& space, std::vector<BaseCosts>& costs,
                                        const Strategy& strategy) {
  const Scenario& base = space.bases[strategy.base].scenario;
  // Outside the rules there is no estimate.
  if (!keeps_constraints(base, space.spec) || wrong_point(base, strategy, space.spec)) return {};
  Enumerator enumerator(space, costs, {});
  enumerator.only(strategy);
  enumerator.expand(enumerator.family_of(strategy, 1));
  const auto& kept = enumerator.result().kept;
  if (kept.empty()) return {};
  return kept.front();
}

double estimate_all(const PlanSpace& space, std::vector<BaseCosts>& costs) {
  return Enumerator(space, costs, {}).run().counts.estimated;
}

}  // namespace stepcast
