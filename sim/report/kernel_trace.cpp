#include "stepcast/sim/report/kernel_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "stepcast/base/csv.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/report/names.hpp"
#include "stepcast/workloads/operator_inventory.hpp"

namespace stepcast {
namespace {

constexpr double per_microsecond = 1e6;
constexpr std::array<const char*, streams> stream_names{
    "tensor", "expert", "data", "context", "expert outer", "to host", "from host"};

/// What a communication is called by profilers of its kind (`hcom_allReduce_`).
std::string profiler_communication(const std::string& of) {
  static constexpr std::array collectives{"hcom_allReduce_", "hcom_reduceScatter_",
                                          "hcom_allGather_", "hcom_alltoall_",
                                          "hcom_broadcast_", "hcom_batchSendRecv_"};
  static_assert(collectives.size() == collective_kinds);
  for (std::size_t k = 0; k < collective_kinds; ++k)
    if (of == name(static_cast<CollectiveKind>(k))) return collectives[k];
  static constexpr std::array<std::pair<const char*, const char*>, 3> names{
      {{"send", "hcom_send_"}, {"receive", "hcom_receive_"}, {"copy", "MEMCPY_ASYNC"}}};
  const auto* found = std::ranges::find(names, of, &std::pair<const char*, const char*>::first);
  expects(found != names.end(), "every communication has a name");
  return found->second;
}

/// A name that no class has is that of a given time.
KernelClass class_of_name(const std::string& of) {
  for (std::size_t k = 0; k < kernel_classes; ++k)
    if (of == name(static_cast<KernelClass>(k))) return static_cast<KernelClass>(k);
  return KernelClass::given;
}

/// What this rank does in a transfer of a trace: the sends of a Chakra trace have the streams of
/// the host link, which nothing else has there (sim/graph/chakra_program.cpp). Elsewhere both ends
/// make the same call, which profilers show as one that receives.
const char* role(const StageCall& transfer) {
  const bool sends = transfer.stream == Stream::to_host || transfer.stream == Stream::from_host;
  return sends ? "send" : "receive";
}

/// Takes one class of ranks apart into kernels.
class Tracer {
 public:
  Tracer(const Scenario& scenario, const RecordedRun& run, std::uint32_t rank_class)
      : scenario_{scenario},
        run_{run},
        class_{rank_class},
        stage_{run.network.classes.stage[rank_class].value},
        program_{run.programs[stage_]} {
    const std::vector<double>& ends = run.recording.ranks[rank_class].step_ends;
    // Of the last step, which begins where the one before it ends.
    from_ = ends.size() > 1 ? ends[ends.size() - 2] : 0;
    to_ = ends.back();
    if (!scenario.synthetic)
      inventory_ = stage_operators(scenario.workload, run.layers, scenario.cluster, Stage{stage_});
  }

  KernelTrace trace() {
    compute();
    communications();
    std::ranges::stable_sort(trace_.kernels, {}, &TracedKernel::start);
    trace_.step = to_ - from_;
    return std::move(trace_);
  }

 private:
  void add(std::string name, std::string of, bool communication, std::string stream, double start,
           double end) {
    // What began in the step before counts from the beginning of this one.
    if (end <= start || end <= from_) return;
    trace_.kernels.push_back({std::move(name), std::move(of), communication, std::move(stream),
                              std::max(start, from_) - from_, end - std::max(start, from_)});
  }

  void compute() {
    const std::uint32_t variant = run_.network.classes.variant[class_];
    for (const Recording::Entry& entry : run_.recording.ranks[class_].entries) {
      if (entry.kind != Recording::Kind::segment || entry.worked <= 0) continue;
      const Segment& segment = program_.segment(entry.what, variant);
      // All kernels of a segment took longer, or shorter, by the same factor.
      const double scale = segment.device_time() > 0 ? entry.worked / segment.device_time() : 0;
      double at = entry.after.device - entry.worked;
      for (std::size_t i = 0; i < segment.size(); ++i) {
        const double end = at + scale * segment.operators()[i].device;
        kernel(variant, entry.what, i, at, end, scale);
        at = end;
      }
    }
  }

  void kernel(std::uint32_t variant, std::uint32_t segment, std::size_t i, double from, double to,
              double scale) {
    const std::uint32_t place =
        inventory_.of.empty() ? OperatorInventory::none : inventory_.of[variant][segment][i];
    KernelClass of = KernelClass::given;
    double starting = 0;
    if (place != OperatorInventory::none) {
      const Operator& op = inventory_.operators[place];
      of = class_of(op);
      // Profilers show the start of a kernel as a gap before it.
      starting = std::min(to - from, scale * start_of(op.launch));
    }
    add(operator_name(program_, segment, i), name(of), false, "compute", from + starting, to);
  }

  double start_of(LaunchClass launch) const {
    const DeviceSpec& device = scenario_.cluster.device;
    switch (launch) {
      case LaunchClass::matmul:
        return device.launch.matmul.value();
      case LaunchClass::vector:
        return device.launch.vector.value();
      case LaunchClass::in_kernel:
        return device.tile_task.value();
      case LaunchClass::communication:
        break;  // no kernel of the compute stream
    }
    return 0;
  }

  void communications() {
    const Recording& recording = run_.recording;
    double device = 0;
    for (const Recording::Entry& entry : recording.ranks[class_].entries) {
      const double before = std::exchange(device, entry.after.device);
      if (entry.kind != Recording::Kind::wait || entry.communication == Recording::none) continue;
      const auto& each = recording.communications[entry.communication];
      const Recording::Member* members = recording.members_of(each);
      // A receive lasts from where the stage waits for it, or from where it is on its way.
      if (each.network == Recording::none && each.members > 1 && members[1].rank_class == class_)
        add("receive " + unit_name(each.unit), "receive", true, "receive",
            std::min(before, each.start), each.arrival);
    }
    for (const Recording::Communication& each : recording.communications) {
      const Recording::Member* members = recording.members_of(each);
      for (std::uint32_t m = 0; m < each.members; ++m)
        if (members[m].rank_class == class_ && members[m].entry != Recording::none)
          issued(each, members[m]);
    }
  }

  void issued(const Recording::Communication& each, const Recording::Member& mine) {
    if (each.network == Recording::none) {
      add("send " + unit_name(each.unit), "send", true, "send", mine.arrived, each.end);
      return;
    }
    const StageCall& call = program_.calls[mine.call];
    if (call.over_host_link())
      add(call.name, "copy", true, "copy", mine.arrived, each.end);
    else if (call.call.kind == CollectiveKind::send_recv)
      add(call.name, role(call), true, role(call), mine.arrived, each.end);
    else
      add(call.name, name(call.call.kind), true,
          stream_names[static_cast<std::size_t>(call.stream)], mine.arrived, each.end);
  }

  const Scenario& scenario_;
  const RecordedRun& run_;
  std::uint32_t class_, stage_;
  const StageProgram& program_;
  OperatorInventory inventory_;
  double from_ = 0, to_ = 0;
  KernelTrace trace_;
};

}  // namespace

/// Types that classified() puts into the same class again when the file is read.
const char* profiler_type(KernelClass which) {
  static constexpr std::array types{"MatMulV3",
                                    "GroupedMatmul",
                                    "FlashAttentionScore",
                                    "ChunkGatedDeltaRule",
                                    "SparseFlashAttention",
                                    "RmsNorm",
                                    "SwiGlu",
                                    "RotaryMul",
                                    "MoeTokenPermute",
                                    "CrossEntropyLoss",
                                    "ApplyAdamW",
                                    "Add",
                                    "Given"};
  static_assert(types.size() == kernel_classes);
  return types[static_cast<std::size_t>(which)];
}

KernelTrace kernel_trace(const Scenario& scenario, const RecordedRun& run, Rank rank) {
  const std::vector<std::uint32_t>& classes = run.network.classes.class_of;
  expects(rank.value < classes.size(), "the job has this rank");
  return Tracer(scenario, run, classes[rank.value]).trace();
}

std::string kernel_details_csv(const KernelTrace& trace, Rank rank) {
  // Columns of the Ascend profiler's kernel_details.csv; shapes are not modelled and stay N/A.
  std::string text =
      "Device_id,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Input "
      "Shapes,Input Data Types,Output Shapes,Output Data Types\n";
  for (const TracedKernel& kernel : trace.kernels) {
    const std::string type = kernel.communication ? profiler_communication(kernel.of)
                                                  : profiler_type(class_of_name(kernel.of));
    // Attention counts as a cube kernel, as the profiler has it.
    const bool cube = kernel.of == name(KernelClass::matmul) ||
                      kernel.of == name(KernelClass::grouped_matmul) ||
                      kernel.of == name(KernelClass::attention) ||
                      kernel.of == name(KernelClass::linear_attention) ||
                      kernel.of == name(KernelClass::sparse_attention);
    const char* core = kernel.communication ? "COMMUNICATION" : cube ? "AI_CORE" : "AI_VECTOR_CORE";
    text += fmt::format("{},{},{},{},{},{:.6f},{:.6f},N/A,N/A,N/A,N/A\n", rank.value, kernel.stream,
                        csv_cell(kernel.name), type, core, kernel.start * per_microsecond,
                        kernel.duration * per_microsecond);
  }
  return text;
}

}  // namespace stepcast
