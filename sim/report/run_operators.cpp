#include "stepcast/sim/report/run_operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "stepcast/base/overloaded.hpp"
#include "stepcast/sim/report/names.hpp"
#include "stepcast/workloads/operator_inventory.hpp"

namespace stepcast {
namespace {

/// What the device could do with an operator, whatever the replay made of it.
struct Known {
  std::string shape;
  KernelClass of = KernelClass::given;
  double least = 0;  ///< [s]
  OperatorBound bound = OperatorBound::launch;
};

/// The operators of one stage with what is known of each.
struct StageInventory {
  OperatorInventory inventory;
  std::vector<Known> known;  ///< as long as the inventory

  const Operator* find(std::uint32_t variant, std::uint32_t segment, std::size_t i) const {
    const std::uint32_t place = at(variant, segment, i);
    return place == OperatorInventory::none ? nullptr : &inventory.operators[place];
  }
  std::uint32_t at(std::uint32_t variant, std::uint32_t segment, std::size_t i) const {
    return inventory.of.empty() ? OperatorInventory::none : inventory.of[variant][segment][i];
  }
};

/// Products that stay in BF16 in a step in FP8 are measured by the BF16 peak.
bool in_fp8(const Scenario& scenario, const Operator& op) {
  return scenario.workload.training.precision == TrainingSpec::Precision::fp8_mixed &&
         op.fp8 != Fp8::none && scenario.cluster.device.matmul_peak_fp8.value() > 0;
}

Known known_of(const Scenario& scenario, const Operator& op, const DeviceSpec& stepping) {
  Known known{shape_text(op), class_of(op)};
  const bool fp8 = in_fp8(scenario, op);
  const OperatorForecast alone = forecast_kernels({&op, 1}, scenario.cluster.device, fp8);
  if (alone.time.value() <= 0) return known;
  // What the data sheet allows, whatever the clock of a step.
  known.least = alone.efficiency * alone.time.value();
  // At the clock of a step another resource may be the bound.
  known.bound = forecast_kernels({&op, 1}, stepping, fp8).bound;
  return known;
}

StageInventory inventory_of(const Scenario& scenario, const RecordedRun& run, std::uint32_t stage) {
  StageInventory result;
  if (scenario.synthetic) return result;
  result.inventory = stage_operators(scenario.workload, run.layers, scenario.cluster, Stage{stage});
  const DeviceSpec stepping = in_step(scenario.cluster.device);
  for (const Operator& op : result.inventory.operators)
    result.known.push_back(known_of(scenario, op, stepping));
  return result;
}

/// Documents hide part of the work of such a segment: what is left of it is not counted.
bool depends_on_documents(const StageProgram& program, std::uint32_t segment) {
  return segment < program.attention.size() && program.attention[segment].scales();
}

using Worked = Recording::Worked;

/// How often a rank ran a segment, and how long its device worked on it, in the steps that count.
std::vector<Worked> worked_of(const RecordedRun& run, std::uint32_t rank_class,
                              std::size_t segments) {
  const Recording::RankRecord& record = run.recording.ranks[rank_class];
  const std::size_t steps = run.forecast.timeline.steps.size();
  // Of several steps the first one does not count.
  const double from = steps > 1 ? record.step_ends.front() : -1;
  const double each = 1 / static_cast<double>(std::max<std::size_t>(steps - 1, 1));
  std::vector<Worked> all(segments);
  for (const Recording::Entry& entry : record.entries) {
    if (entry.kind != Recording::Kind::segment || entry.after.device <= from) continue;
    all[entry.what].count += each;
    all[entry.what].seconds += each * entry.worked;
  }
  return all;
}

/// Adds up the rows of one stage; rows of equal name, shape, FLOPs and bytes are one.
class StageRows {
 public:
  StageRows(const RecordedRun& run, const StageInventory& inventory, std::uint32_t stage)
      : run_{run}, inventory_{inventory}, stage_{stage}, program_{run.programs[stage]} {}

  void add_class(std::uint32_t rank_class, double weight) {
    add_worked(run_.network.classes.variant[rank_class],
               worked_of(run_, rank_class, program_.segments.size()), weight);
  }
  /// Sums over all ranks, of which there are that many.
  void add_sums(double ranks) {
    const auto& sums = run_.recording.worked[stage_];
    const std::size_t steps = run_.forecast.timeline.steps.size();
    const double each = 1 / static_cast<double>(std::max<std::size_t>(steps - 1, 1));
    for (std::uint32_t v = 0; v < sums.size(); ++v) add_worked(v, sums[v], each / ranks);
  }
  std::vector<RunOperator> rows(Seconds computing) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      RunOperator& row = rows_[i];
      row.share = computing.value() > 0 ? row.time / computing : 0;
      row.efficiency = row.time.value() > 0 ? least_[i] / row.time.value() : 0;
    }
    std::ranges::stable_sort(rows_, std::greater<>{}, &RunOperator::time);
    return std::move(rows_);
  }

 private:
  void add_worked(std::uint32_t variant, const std::vector<Worked>& worked, double weight) {
    for (std::uint32_t s = 0; s < worked.size(); ++s) {
      const Segment& segment = program_.segment(s, variant);
      if (worked[s].count == 0 || segment.device_time() <= 0) continue;
      for (std::size_t i = 0; i < segment.size(); ++i) {
        // Kernels share the time of their segment as they share its cost.
        const double part = segment.operators()[i].device / segment.device_time();
        add(variant, s, i, weight * worked[s].count, weight * worked[s].seconds * part);
      }
    }
  }

  void add(std::uint32_t variant, std::uint32_t segment, std::size_t i, double launches,
           double seconds) {
    const std::uint32_t place = inventory_.at(variant, segment, i);
    const bool is_known = place != OperatorInventory::none;
    if (!is_known && seconds <= 0) return;  // the host alone
    const std::string& called = operator_name(program_, segment, i);
    Known known = is_known ? inventory_.known[place] : Known{};
    if (depends_on_documents(program_, segment)) known.least = 0;
    RunOperator row{.stage = stage_, .name = called, .of = known.of, .shape = known.shape};
    if (is_known) {
      row.flops = inventory_.inventory.operators[place].flops.value();
      row.bytes = inventory_.inventory.operators[place].bytes.value();
      row.bound = known.bound;
      row.fused = inventory_.inventory.operators[place].fused;
    }
    const auto [found, fresh] =
        places_.try_emplace({called, known.shape, row.flops, row.bytes}, rows_.size());
    if (fresh) {
      rows_.push_back(std::move(row));
      least_.push_back(0);
    }
    rows_[found->second].launches += launches;
    rows_[found->second].time += Seconds{seconds};
    least_[found->second] += launches * known.least;
  }

  const RecordedRun& run_;
  const StageInventory& inventory_;
  std::uint32_t stage_;
  const StageProgram& program_;
  std::map<std::tuple<std::string, std::string, double, double>, std::size_t> places_;
  std::vector<RunOperator> rows_;
  std::vector<double> least_;  ///< per step, as long as rows_ [s]
};

/// Six digits: the rows of an expert are a mean.
std::string size(double number) { return fmt::format("{:.6g}", number); }

std::string product(double m, double k, double n) {
  return size(m) + "x" + size(k) + "x" + size(n);
}
std::string shape_of(const MatmulWork& w) { return product(w.m, w.k, w.n); }
std::string shape_of(const GroupedMatmulWork& w) {
  return size(w.groups) + " of " + product(w.m, w.k, w.n);
}
std::string shape_of(const AttentionWork& w) {
  const std::string dims =
      w.qk_dim == w.v_dim ? size(w.qk_dim) : size(w.qk_dim) + "/" + size(w.v_dim);
  return fmt::format("{}x{} heads {}x{}x{}", size(w.sequences), size(w.heads), size(w.query_length),
                     size(w.key_length), dims);
}
std::string shape_of(const LinearAttentionWork& w) {
  return fmt::format("{}x{} heads {}x{}/{} chunks of {}", size(w.sequences), size(w.heads),
                     size(w.length), size(w.key_dim), size(w.value_dim), size(w.chunk));
}
std::string shape_of(const SparseAttentionWork& w) {
  return fmt::format("{}x{} heads {}x{}x{}/{}", size(w.sequences), size(w.heads),
                     size(w.query_length), size(w.keys), size(w.qk_dim), size(w.v_dim));
}
std::string shape_of(const MemoryBoundWork& w) { return w.row > 0 ? "rows of " + size(w.row) : ""; }
std::string shape_of(const FixedWork&) { return ""; }
std::string shape_of(const FusedWork& w) { return size(w.tiles) + " tiles"; }

KernelClass class_of_vector(OperatorRole role, const MemoryBoundWork& work) {
  switch (work.kind) {
    case VectorKind::norm:
    case VectorKind::norm_backward:
    case VectorKind::persistent_norm:
    case VectorKind::persistent_norm_backward:
    case VectorKind::block_norm:
      return KernelClass::norm;
    case VectorKind::activation:
    case VectorKind::activation_backward:
    case VectorKind::block_activation:
      return KernelClass::activation;
    case VectorKind::gather:
    case VectorKind::scatter_add:
      // Rows are copied by index elsewhere, too, such as embeddings; routing is what experts need.
      return role == OperatorRole::other ? KernelClass::elementwise : KernelClass::routing;
    case VectorKind::elementwise:
      break;
  }
  return KernelClass::elementwise;
}

KernelClass class_of_role(OperatorRole role, const MemoryBoundWork& work) {
  using enum OperatorRole;
  constexpr std::array norms{norm,        post_norm,     embedding_norm,
                             hidden_norm, norm_backward, post_norm_backward};
  constexpr std::array routed{top_k,     top_k_backward,    permute, permute_backward,
                              unpermute, unpermute_backward};
  constexpr std::array losses{loss_maximum, loss_exponentials, loss};
  const auto among = [role](const auto& list) {
    return std::ranges::find(list, role) != list.end();
  };
  // By role first, as a norm and a loss may be written out in elementwise kernels.
  if (among(norms)) return KernelClass::norm;
  if (among(routed)) return KernelClass::routing;
  if (among(losses)) return KernelClass::loss;
  if (role == rope || role == rope_backward) return KernelClass::rotary;
  if (role == activation || role == activation_backward) return KernelClass::activation;
  return class_of_vector(role, work);
}

}  // namespace

const char* name(KernelClass which) {
  static constexpr std::array names{
      "matmul",    "grouped matmul", "attention", "linear attention", "sparse attention",
      "norm",      "activation",     "rotary",    "routing",          "loss",
      "optimizer", "elementwise",    "given"};
  static_assert(names.size() == kernel_classes);
  return names[static_cast<std::size_t>(which)];
}

KernelClass class_of(const Operator& op) {
  // No role of their own, as nothing else looks for them.
  const auto begins = [&](const char* text) { return op.name.starts_with(text); };
  if (begins("optimizer") || begins("gradient norm")) return KernelClass::optimizer;
  if (begins("sort") || begins("unsort")) return KernelClass::routing;
  if (begins("loss")) return KernelClass::loss;
  if (begins("index top-k") || begins("index loss")) return KernelClass::sparse_attention;
  return std::visit(
      Overloaded{[](const MatmulWork&) { return KernelClass::matmul; },
                 [](const GroupedMatmulWork& w) {
                   return w.batched ? KernelClass::matmul : KernelClass::grouped_matmul;
                 },
                 [](const AttentionWork&) { return KernelClass::attention; },
                 [](const LinearAttentionWork&) { return KernelClass::linear_attention; },
                 [](const SparseAttentionWork&) { return KernelClass::sparse_attention; },
                 [&](const MemoryBoundWork& w) { return class_of_role(op.role, w); },
                 [](const FixedWork&) { return KernelClass::given; },
                 [](const FusedWork& w) {
                   for (const FusedStage& stage : w.stages) {
                     if (std::holds_alternative<AttentionWork>(stage.work))
                       return KernelClass::attention;
                     if (std::holds_alternative<GroupedMatmulWork>(stage.work))
                       return KernelClass::grouped_matmul;
                     if (std::holds_alternative<MatmulWork>(stage.work)) return KernelClass::matmul;
                   }
                   return KernelClass::elementwise;
                 }},
      op.work);
}

std::string shape_text(const Operator& op) {
  return std::visit([](const auto& work) { return shape_of(work); }, op.work);
}

std::vector<RunOperator> run_operators(const Scenario& scenario, const RecordedRun& run) {
  const RankClasses& classes = run.network.classes;
  std::vector<RunOperator> all;
  for (std::uint32_t stage = 0; stage < run.programs.size(); ++stage) {
    const StageInventory inventory = inventory_of(scenario, run, stage);
    StageRows rows(run, inventory, stage);
    double ranks = 0;
    for (std::size_t c = 0; c < classes.stage.size(); ++c)
      if (classes.stage[c].value == stage) ranks += static_cast<double>(classes.ranks[c]);
    // Without entries of single ranks there are sums over all of them.
    if (!run.recording.whole()) rows.add_sums(ranks);
    for (std::uint32_t c = 0; run.recording.whole() && c < classes.stage.size(); ++c)
      if (classes.stage[c].value == stage)
        rows.add_class(c, static_cast<double>(classes.ranks[c]) / ranks);
    for (RunOperator& row : rows.rows(run.forecast.stages[stage].times.computing))
      all.push_back(std::move(row));
  }
  return all;
}

std::vector<std::vector<SegmentWork>> segment_work(const Scenario& scenario, const RecordedRun& run,
                                                   std::uint32_t stage) {
  const StageInventory inventory = inventory_of(scenario, run, stage);
  const StageProgram& program = run.programs[stage];
  std::vector<std::vector<SegmentWork>> all(program.variants.size() + 1);
  for (std::uint32_t v = 0; v < all.size(); ++v) {
    for (std::uint32_t s = 0; s < program.segments.size(); ++s) {
      SegmentWork& work = all[v].emplace_back();
      const std::vector<OperatorCost>& costs = program.segment(s, v).operators();
      double longest = 0;
      for (std::size_t i = 0; i < costs.size(); ++i) {
        const Operator* op = inventory.find(v, s, i);
        if (op == nullptr) continue;
        const Known& known = inventory.known[inventory.at(v, s, i)];
        ++work.launches;
        work.flops += op->flops.value();
        work.bytes += op->bytes.value();
        work.least += depends_on_documents(program, s) ? 0 : known.least;
        // The longest operator gives its segment bound and shape.
        if (costs[i].device <= longest) continue;
        longest = costs[i].device;
        work.bound = known.bound;
        work.shape = known.shape;
      }
    }
  }
  return all;
}

}  // namespace stepcast
