#pragma once
#include <rapidcheck.h>

#include <set>
#include <string>
#include <vector>

#include "stepcast/sim/replay/replay.hpp"

/// Random small jobs: all kinds of groups, any fabric, any rank order.
namespace stepcast::testing {

using namespace literals;

/// A random job on a cluster whose leaves may be partly filled and oversubscribed.
struct Job {
  ClusterSpec cluster;
  ParallelPlan plan;
  PipelineShape shape;
  std::vector<StageProgram> programs;
  CollectiveChoice algorithms = {};
  NetworkForm form = NetworkForm::ports;
  LinkFaults faults = {};
  StallsSpec stalls = {};
  std::int64_t steps = 1;
  std::string schedule = "1f1b";
  bool skip_recurring = true;
  AttentionLoads loads = {};  ///< none: all attention is whole
  /// By expert rank, the variant of the programs that it runs; empty: all run the first.
  std::vector<std::uint32_t> variant_of = {};
  bool kinds = false;  ///< every other node is of another kind, for those who know kinds
};

inline ClusterSpec random_cluster(std::int64_t devices) {
  ClusterSpec c;
  c.devices = devices;
  c.node_devices = 4;
  if (*rc::gen::arbitrary<bool>()) {
    c.node_fabric = MeshFabric{{20_GBps, 1_us}, 1};
  } else {
    c.node_fabric = SwitchFabric{{60_GBps, 1_us}, 1};
  }
  c.network.nic.link = {25_GBps, 2_us};
  c.network.nic.per = *rc::gen::element(NicSpec::Per::device, NicSpec::Per::node);
  c.network.kind =
      *rc::gen::element(NetworkSpec::Kind::leaf_spine, NetworkSpec::Kind::rail_optimized,
                        NetworkSpec::Kind::single_switch);
  c.network.leaf_ports = *rc::gen::element<std::int64_t>(4, 6, 8, 12);
  c.network.oversubscription = *rc::gen::element(1.0, 2.0, 3.0);
  c.network.pod_leaves = *rc::gen::element<std::int64_t>(0, 0, 1, 2);
  c.network.pod_oversubscription = *rc::gen::element(1.0, 2.0, 7.0);
  c.collectives.library =
      *rc::gen::element(CollectiveLibrarySpec::Library::hccl, CollectiveLibrarySpec::Library::nccl);
  c.collectives.step_latency = 5_us;
  c.device.launch.communication = 3_us;
  c.device.cube_cores = 20;
  const double cores = *rc::gen::element(0.0, 0.0, 2.0, 9.0);
  c.collectives.cores.node = cores;
  c.collectives.cores.network = cores / 2;
  return c;
}

inline std::uint32_t add_compute(StageProgram& program, double seconds, double compile = 0) {
  OperatorCost cost;
  cost.compile = compile;
  cost.main = 1e-6 + compile;
  cost.device = seconds;
  program.segments.emplace_back(std::vector<OperatorCost>{cost});
  return static_cast<std::uint32_t>(program.segments.size() - 1);
}

inline std::uint32_t add_call(StageProgram& program, GroupKind group, CollectiveKind kind,
                              Bytes bytes, Stream stream) {
  const auto exposed = stream == Stream::tensor ? ExposedKind::tensor : ExposedKind::data;
  program.calls.push_back({"call", group, {kind, bytes}, stream, exposed, {}});
  return static_cast<std::uint32_t>(program.calls.size() - 1);
}

/// Tensor collectives in each pass, gradients behind the last backward, a world reduction at the
/// end. A chunk per chunk and slice of the plan.
inline StageProgram random_program(const ParallelPlan& plan, std::uint32_t stage) {
  StageProgram program;
  const Bytes boundary{*rc::gen::inRange(0, 4) * 1e6};
  const double compile = *rc::gen::element(0.0, 0.0, 2e-4);
  const auto run = add_compute(program, *rc::gen::inRange(1, 9) * 1e-4, compile);
  const auto weight = add_compute(program, *rc::gen::inRange(1, 9) * 1e-4);
  const auto tensor =
      add_call(program, GroupKind::tensor, CollectiveKind::all_gather, 3_MiB, Stream::tensor);
  const auto expert =
      add_call(program, GroupKind::expert, CollectiveKind::all_to_all, 2_MiB, Stream::expert);
  const auto context =
      add_call(program, GroupKind::context, CollectiveKind::reduce_scatter, 1_MiB, Stream::context);
  const auto data =
      add_call(program, GroupKind::dense_data, CollectiveKind::all_reduce, 5_MiB, Stream::data);
  const auto world =
      add_call(program, GroupKind::world, CollectiveKind::all_reduce, 4_B, Stream::data);
  const bool mirrors = plan.chunk_map().copies() > 1 && plan.pp > 1;
  const auto mirror = mirrors ? add_call(program, GroupKind::mirror, CollectiveKind::all_reduce,
                                         1_MiB, Stream::data)
                              : 0;
  program.slots = 7;
  ChunkProgram chunk;
  chunk.forward = {Compute{run},
                   Communicate{tensor, 0, true},
                   Wait{0},
                   Communicate{expert, 1, true},
                   Communicate{context, 4, true},
                   Compute{run},
                   Wait{4},
                   Wait{1}};
  chunk.backward = {Compute{run}, Communicate{tensor, 0, true}, Compute{run}, Wait{0}};
  chunk.first_forward = chunk.forward;
  chunk.last_backward = chunk.backward;
  chunk.last_backward.push_back(Communicate{data, 2, true});
  chunk.backward_input = chunk.backward;
  chunk.backward_weight = {Compute{weight}};
  chunk.last_backward_weight = {Compute{weight}, Communicate{data, 2, true}};
  const Instructions pair{Communicate{expert, 1, true},
                          Compute{run},
                          Communicate{tensor, 5, true},
                          Wait{1},
                          Compute{run},
                          Wait{5}};
  if (*rc::gen::arbitrary<bool>()) chunk.paired.assign(static_cast<std::size_t>(plan.vpp), pair);
  for (std::uint32_t c = 0; c < plan.vpp; ++c) {
    const Seat seat{{c}, {stage}};
    chunk.send_forward = plan.chunk_map().after(seat) ? boundary : Bytes{0};
    chunk.send_backward = plan.chunk_map().before(seat) ? boundary : Bytes{0};
    program.chunks.insert(program.chunks.end(), static_cast<std::size_t>(plan.slices), chunk);
  }
  program.slices = static_cast<std::uint32_t>(plan.slices);
  program.epilogue = {Compute{run}, Wait{2}};
  if (mirrors) {
    program.epilogue.push_back(Communicate{mirror, 6, true});
    program.epilogue.push_back(Wait{6});
  }
  program.epilogue.insert(program.epilogue.end(),
                          {Communicate{world, 3, true}, Wait{3}, Compute{run}});
  return program;
}

/// A few degraded links of any kind, and failed mesh pairs and NICs that have a way around.
inline LinkFaults random_faults(const ClusterSpec& cluster) {
  const Fabric intact(cluster);
  LinkFaults faults = {};
  std::set<std::uint32_t> failed;
  const auto any_link = [&] { return *rc::gen::inRange(0U, intact.link_count()); };
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    faults.bandwidth_factor[any_link()] = *rc::gen::element(0.25, 0.5, 0.9);
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    const std::uint32_t link = any_link();
    if (!detour_around(intact, {link}, {link}).empty()) failed.insert(link);
  }
  for (const std::uint32_t link : failed) {
    const auto detour = detour_around(intact, {link}, failed);
    if (!detour.empty()) faults.detour[link] = detour;
  }
  return faults;
}

/// Nodes of eight with wires: a torus, a full mesh with slow and fast sides, or a graph whose
/// devices and two switches pass on what is not for them.
inline void wire_nodes(Job& job) {
  ClusterSpec& c = job.cluster;
  const LinkSpec fast{20_GBps, 1_us}, slow{12_GBps, 2_us};
  const std::vector<GridDimension> sides{{4, fast}, {2, slow}};
  GraphFabric graph{.switches = 2};
  for (std::int64_t d = 0; d < 8; ++d) {
    graph.links.push_back({{d, (d + 1) % 8}, d == 3 ? slow : fast});
    graph.links.push_back({{d, 8 + d % 2}, slow});
  }
  c.node_fabric = *rc::gen::element<NodeFabric>(TorusFabric{sides}, FullMeshFabric{sides}, graph);
  c.node_devices = 8;
  c.devices = (c.devices + 7) / 8 * 8;
  c.collectives.library = CollectiveLibrarySpec::Library::hccl;
}

/// Routers or leaves of few NICs in groups that are joined pair by pair.
inline void make_dragonfly(Job& job) {
  NetworkSpec& network = job.cluster.network;
  network.kind = *rc::gen::element(NetworkSpec::Kind::dragonfly, NetworkSpec::Kind::dragonfly_plus);
  network.leaf_ports = *rc::gen::element<std::int64_t>(1, 2, 4);
  network.dragonfly = {.group_routers = *rc::gen::inRange<std::int64_t>(2, 4),
                       .global_links = *rc::gen::inRange<std::int64_t>(1, 3),
                       .local = {15_GBps, 1_us},
                       .global = {10_GBps, 2_us}};
}

inline Job random_job() {
  Job job;
  job.plan.tp = *rc::gen::element(1, 2, 4);
  job.plan.pp = *rc::gen::inRange(1, 5);
  job.plan.cp = *rc::gen::element(1, 1, 2);
  job.plan.dp = *rc::gen::element(1, 2, 3, 4, 6, 16);
  job.plan.ep = *rc::gen::arbitrary<bool>() ? job.plan.dp : 1;
  if (*rc::gen::arbitrary<bool>()) job.plan.order = {"tp", "cp", "ep", "pp", "dp"};
  const std::int64_t nodes = (job.plan.world() + 3) / 4;
  job.cluster = random_cluster(nodes * 4);
  job.shape = {job.plan.pp, 1, *rc::gen::inRange(1, 7), job.plan.pp};
  for (std::uint32_t s = 0; s < job.plan.pp; ++s)
    job.programs.push_back(random_program(job.plan, s));
  return job;
}

/// Experts of unequal loads: ranks work longer or shorter, get more or fewer tokens, and reach each
/// other through the parts of their group.
inline void load_unevenly(Job& job) {
  constexpr double loads[] = {1, 0.5, 2.5};
  job.plan.ep = job.plan.dp;
  Skew skew;
  for (std::int64_t e = 0; e < job.plan.ep; ++e) {
    job.variant_of.push_back(*rc::gen::inRange(0U, 3U));
    skew.factor.push_back(loads[job.variant_of.back()]);
  }
  ParallelPlan cut = job.plan;
  cut.expert_part = job.cluster.node_devices;
  if (Placement(cut).cuts_experts_evenly()) job.plan = cut;
  for (StageProgram& program : job.programs) {
    for (std::size_t v = 1; v < std::size(loads); ++v) {
      auto& variant = program.variants.emplace_back();
      for (const Segment& segment : program.segments) {
        std::vector<OperatorCost> operators = segment.operators();
        for (OperatorCost& op : operators) op.device *= loads[v];
        variant.emplace_back(operators);
      }
    }
    skew.senders = *rc::gen::arbitrary<bool>();
    for (StageCall& call : program.calls)
      if (call.group == GroupKind::expert) call.call.skew = skew;
    if (job.plan.expert_part == 0) continue;
    const auto inner = add_call(program, GroupKind::expert_inner, CollectiveKind::all_to_all, 2_MiB,
                                Stream::expert);
    program.calls.back().call.skew = skew;
    const auto outer = add_call(program, GroupKind::expert_outer, CollectiveKind::reduce_scatter,
                                1_MiB, Stream::expert_outer);
    Instructions& code = program.chunks.front().forward;
    for (const std::uint32_t call : {outer, inner}) {
      code.push_back(Communicate{call, program.slots, true});
      code.push_back(Wait{program.slots++});
    }
    program.chunks.front().first_forward = code;
  }
}

/// The job with another schedule, on as many stages, chunks and slices as that serves.
inline void reschedule(Job& job, std::int64_t most_rounds) {
  const PipelineSchedule& schedule = *rc::gen::elementOf(pipeline_schedules());
  constexpr int any_size = 100;  // else the first shapes are always the smallest, and refused
  const auto count = [](std::int64_t low, std::int64_t most) {
    return *rc::gen::resize(any_size, rc::gen::inRange(low, std::max(low, most) + 1));
  };
  do {
    job.shape.stages = count(1, 4);
    job.shape.chunks = count(schedule.chunks.low, std::min<std::int64_t>(schedule.chunks.high, 3));
    job.shape.slices = count(schedule.slices.low, std::min<std::int64_t>(schedule.slices.high, 3));
    job.shape.micro_batches = count(1, job.shape.stages * most_rounds);
    job.shape.group = job.shape.stages;
    job.shape.placement = schedule.placement;
  } while (!schedule.rule(job.shape).empty());
  job.schedule = schedule.name;
  job.plan.pp = job.shape.stages;
  job.plan.vpp = job.shape.chunks;
  job.plan.slices = job.shape.slices;
  job.plan.chunk_placement = job.shape.placement;
  job.cluster.devices = (job.plan.world() + 3) / 4 * 4;
  job.programs.clear();
  for (std::uint32_t s = 0; s < job.plan.pp; ++s)
    job.programs.push_back(random_program(job.plan, s));
}

/// Stragglers, damped clocks, pausing and waiting hosts; few enough that some ranks stay alike.
inline StallsSpec random_stalls(const Job& job) {
  const auto some = [](auto make) {
    using List = std::vector<decltype(make())>;
    List list;
    if (*rc::gen::arbitrary<bool>()) list.push_back(make());
    return list;
  };
  const auto rank = [&] { return *rc::gen::inRange<std::int64_t>(0, job.plan.world()); };
  const auto maybe = [] { return *rc::gen::inRange(0, 4) == 0; };
  StallsSpec s;
  s.slow_devices = some([&] {
    return StallsSpec::SlowDevices{{rank()}, *rc::gen::element(0.8, 1.3, 2.0)};
  });
  s.slow_hosts = some([&] { return StallsSpec::SlowHosts{{rank() / 4}, 30}; });
  s.throttling = some([&] {
    return StallsSpec::Throttling{{rank()}, 1.5, 1_ms, 4_ms, *rc::gen::element(0_ms, 7_ms)};
  });
  if (maybe()) s.gc_pauses = {1_ms, 5_ms, *rc::gen::arbitrary<bool>(), 3};
  if (maybe()) s.data_loader = {5_ms, *rc::gen::inRange(0, 3)};
  if (maybe()) s.checkpoint = {2, 3_ms};
  if (maybe()) s.compute_jitter = {0.1, 5};
  s.host_sync = *rc::gen::element(StallsSpec::HostSyncAt::none, StallsSpec::HostSyncAt::step,
                                  StallsSpec::HostSyncAt::unit);
  return s;
}

/// All of them make their kind of any group of the job.
inline CollectiveChoice random_algorithms() {
  CollectiveChoice choice;
  const auto set = [&](CollectiveKind kind, const std::string& algorithm) {
    choice.algorithm[static_cast<std::size_t>(kind)] = algorithm;
  };
  set(CollectiveKind::all_reduce, *rc::gen::element<std::string>("auto", "ring", "nhr", "hd"));
  set(CollectiveKind::all_gather, *rc::gen::element<std::string>("auto", "ring", "mesh", "hd"));
  set(CollectiveKind::all_to_all, *rc::gen::element<std::string>("auto", "pairwise"));
  return choice;
}

/// Attention of unequal replicas and context ranks; the second compute of a unit is attention.
inline void add_loads(Job& job) {
  const Placement placement(job.plan);
  const auto micro_batches = static_cast<std::size_t>(job.shape.micro_batches);
  const bool repeats = *rc::gen::arbitrary<bool>();
  const auto sequences = *rc::gen::inRange<std::uint32_t>(1, 5);
  for (std::uint32_t s = 0; s < sequences; ++s) {
    auto& loads = job.loads.sequences.emplace_back();
    for (std::size_t m = 0; m < micro_batches; ++m) {
      loads.push_back({*rc::gen::element(0.05, 0.3, 1.0), *rc::gen::element(0.5, 1.0)});
      if (repeats) loads.back() = loads.front();
    }
  }
  for (std::uint32_t r = 0; r < placement.world(); ++r) {
    const Coordinates c = placement.coordinates(Rank{r});
    job.loads.of_rank.push_back((c.dp + c.cp) % sequences);
  }
  for (StageProgram& program : job.programs) {
    AttentionScaling scaling;
    scaling.fixed = 5e-6;
    scaling.work = program.segments.front().device_time() - scaling.fixed;
    scaling.floor = 2e-5;
    scaling.half = 0.1;
    program.attention.assign(program.segments.size(), {});
    program.attention.push_back(scaling);
    program.segments.push_back(program.segments.front());
    const auto attention = static_cast<std::uint32_t>(program.segments.size() - 1);
    for (ChunkProgram& chunk : program.chunks) {
      chunk.forward.push_back(Compute{attention});
      chunk.backward.push_back(Compute{attention});
      chunk.first_forward = chunk.forward;
      chunk.last_backward.push_back(Compute{attention});
    }
  }
}

/// Step time, then the parts of every stage, summed over its ranks.
inline std::vector<double> result_of(const Job& job, Fold fold) {
  const Fabric fabric(job.cluster, job.faults);
  const Placement placement(job.plan);
  const StallPlan stalls = plan_stalls(job.stalls, placement, job.cluster);
  const bool loaded = !job.loads.sequences.empty();
  const auto keys = loaded ? told_apart(stalls.keys(), job.loads.of_rank) : stalls.keys();
  std::vector<std::uint32_t> variants;
  for (std::uint32_t r = 0; r < placement.world() && !job.variant_of.empty(); ++r)
    variants.push_back(job.variant_of[placement.coordinates(Rank{r}).ep]);
  const NetworkMap network = build_network_map(
      {placement, fabric, job.programs, job.algorithms, fold, keys, job.form, variants});
  const auto orders = stage_orders(pipeline_schedule(job.schedule), job.shape);
  const Timeline t = replay({job.programs,
                             network,
                             job.cluster.host,
                             job.shape,
                             orders,
                             ScheduleSpec::PointToPoint::overlapped,
                             {},
                             &stalls,
                             job.steps,
                             job.skip_recurring,
                             loaded ? &job.loads : nullptr});
  std::vector<double> parts(static_cast<std::size_t>(job.plan.pp) * 7);
  for (std::size_t c = 0; c < t.classes.size(); ++c) {
    const RankTimes& times = t.classes[c];
    const Seconds all[] = {times.computing,    times.exposed_total(), times.bubble,
                           times.host_stall,   times.compile_stall,   times.other_idle,
                           times.communication};
    for (std::size_t k = 0; k < 7; ++k) {
      parts[network.classes.stage[c].value * 7 + k] += all[k].value() * network.classes.ranks[c];
    }
  }
  parts.push_back(t.step_time.value());
  return parts;
}

}  // namespace stepcast::testing
