#include <algorithm>

#include "megatron.hpp"

// Parallel sizes, the optimizer's sharding, the schedule.
namespace stepcast::launch {
namespace {

void import_context(MegatronLaunch& launch) {
  const Setting* algorithm = launch.args.find({"--context-parallel-algo", "--cp-comm-type"});
  if (launch.cp == 1) {
    if (const Setting* given = launch.flag("--context-parallel-algo"))
      launch.draft.note(*given, "counts only with context parallelism, and its size is 1");
    return;
  }
  // Megatron-LM sends keys and values around a ring unless told otherwise.
  const std::string name = algorithm == nullptr ? "p2p" : launch.args.text(algorithm->name, "p2p");
  if (algorithm != nullptr && algorithm->words.size() > 1 && algorithm->name == "--cp-comm-type")
    return launch.args.fail(
        *algorithm,
        "differs by layer, which no value of parallel.context_algorithm says, allowed: one word");
  std::string key;
  const Setting* degree = nullptr;
  // Names of Megatron-LM and MindSpeed for the same four forms.
  if (name == "p2p" || name == "megatron_cp_algo") key = "ring";
  if (name == "a2a" || name == "ulysses_cp_algo") key = "ulysses";
  if (name == "all_gather" || name == "allgather" || name == "kvallgather_cp_algo")
    key = "allgather";
  if (name == "a2a+p2p" || name == "hybrid_cp_algo") {
    degree = launch.args.find({"--ulysses-degree-in-cp", "--hierarchical-context-parallel-sizes"});
    const auto sizes =
        degree == nullptr ? std::vector<std::int64_t>{} : launch.args.counts(degree->name);
    if (sizes.empty())
      return launch.args.fail(
          *algorithm, "needs --ulysses-degree-in-cp or --hierarchical-context-parallel-sizes");
    key = "hybrid(" + std::to_string(sizes.front()) + ")";
  }
  if (key.empty())
    return launch.args.fail(*algorithm,
                            "is '" + name +
                                "', which no value of parallel.context_algorithm says, allowed: "
                                "ring, ulysses, all-gather and hybrid forms");
  launch.draft.set("parallel.context_algorithm", key, {algorithm, degree});
  // Only MindSpeed joins the blocks of a ring by statements.
  if (!launch.mindspeed() || key == "ulysses" || key == "allgather") return;
  const Setting* update = launch.flag("--use-fused-ring-attention-update");
  launch.draft.set("runtime.kernels.ring", update == nullptr ? "statements" : "fused", {update});
}

/// Groups of data ranks that keep all optimizer states each.
void import_instances(MegatronLaunch& launch) {
  const Setting* instances = launch.flag("--num-distributed-optimizer-instances");
  if (instances == nullptr) return;
  const std::int64_t count = launch.args.count_or(instances->name, 1);
  if (count <= 1) return;
  if (launch.draft.says("parallel.zero", "0"))
    return launch.args.fail(*instances, "needs --use-distributed-optimizer, allowed: 1");
  launch.draft.set("parallel.dp_replicate", count, {instances});
}

void import_sharding(MegatronLaunch& launch) {
  Draft& draft = launch.draft;
  const Setting* fsdp = launch.args.find({"--use-megatron-fsdp", "--use-custom-fsdp"});
  const Setting* strategy = launch.flag("--data-parallel-sharding-strategy");
  const Setting* whole = launch.args.find({"--use-torch-fsdp2", "--layerzero"});
  const Setting* distributed = launch.flag("--use-distributed-optimizer");
  const Setting* reduce = launch.flag("--overlap-grad-reduce");
  const Setting* gather = launch.flag("--overlap-param-gather");
  // Megatron's FSDP says its own level; the flags of the distributed optimizer do nothing beside
  // it.
  if (fsdp != nullptr) {
    const std::string name =
        launch.args.text("--data-parallel-sharding-strategy", "optim_grads_params");
    const std::int64_t zero = name == "no_shard"             ? 0
                              : name == "optim"              ? 1
                              : name == "optim_grads"        ? 2
                              : name == "optim_grads_params" ? 3
                                                             : -1;
    if (zero < 0)
      return launch.args.fail(
          "--data-parallel-sharding-strategy",
          "is '" + name + "', allowed: no_shard, optim, optim_grads, optim_grads_params");
    draft.set("parallel.zero", zero, {fsdp, strategy});
    draft.set("communication.gradient.overlap", true, {fsdp});
    return;
  }
  if (strategy != nullptr) draft.note(*strategy, "counts only with --use-megatron-fsdp");
  if (whole != nullptr) {
    draft.set("parallel.zero", 3, {whole});
    draft.set("communication.gradient.overlap", true, {whole});
    return;
  }
  draft.set("parallel.zero", distributed != nullptr ? 1 : 0, {distributed});
  draft.set("communication.gradient.overlap", reduce != nullptr, {reduce, gather});
  if (gather != nullptr && (reduce == nullptr || distributed == nullptr))
    launch.args.fail(*gather, "needs --overlap-grad-reduce and --use-distributed-optimizer");
  // Without the flag parameters are gathered before the step begins.
  if (reduce != nullptr && gather == nullptr && distributed != nullptr)
    draft.set("communication.parameter.overlap", false, {reduce}, "no --overlap-param-gather");
}

void import_schedule(MegatronLaunch& launch) {
  Draft& draft = launch.draft;
  const Setting* method = launch.flag("--schedules-method");
  if (launch.dual_pipe) {
    draft.set("schedule.pipeline", "dualpipe_v", {method});
    if (const Setting* reduce = launch.flag("--overlap-grad-reduce"))
      launch.args.fail(*reduce, "does not go with --schedules-method dualpipev");
    return;
  }
  if (method != nullptr)
    launch.args.fail(*method,
                     "is '" + launch.args.text("--schedules-method") + "', allowed: dualpipev");
  draft.set("schedule.pipeline", launch.vpp > 1 ? "interleaved_1f1b" : "1f1b", {});
  if (launch.pp == 1) return;
  // The pair needs one forward more in hand (vpp_schedules.py of MindSpeed, schedules.py of
  // Megatron-Core).
  const Setting* pair =
      launch.args.find({"--overlap-moe-expert-parallel-comm", "--moe-fb-overlap"});
  if (pair != nullptr && launch.vpp > 1 && launch.ep > 1)
    draft.set("schedule.warmup", "extra(1)", {pair});
  const Setting* blocking = launch.flag("--no-overlap-p2p-communication");
  const bool overlapped = launch.vpp > 1 && blocking == nullptr;
  draft.set("schedule.p2p", overlapped ? "overlapped" : "blocking", {blocking},
            launch.vpp > 1 ? "" : "without chunks stages exchange before they go on");
  const Setting* group = launch.flag("--microbatch-group-size-per-virtual-pipeline-stage");
  if (group != nullptr && launch.vpp > 1)
    draft.set("schedule.group", launch.args.count_or(group->name, 1), {group});
}

void import_batch(MegatronLaunch& launch) {
  Draft& draft = launch.draft;
  const Setting* micro = launch.flag("--micro-batch-size");
  const Setting* global = launch.flag("--global-batch-size");
  const Setting* schedule = launch.flag("--step-batch-size-schedule");
  const std::int64_t size = launch.args.count_or("--micro-batch-size", 1);
  if (micro == nullptr && !draft.given("training.micro_batch"))
    draft.wrong({}, "training.micro_batch",
                "is not said by the file; give --set training.micro_batch=N");
  draft.set("training.micro_batch", size, {micro});
  if (global != nullptr && schedule != nullptr)
    return launch.args.fail(*global, "does not go with --step-batch-size-schedule");
  if (global != nullptr) {
    draft.set("training.global_batch", launch.args.count_or("--global-batch-size", 1), {global});
    // Without a global batch there is no accumulation: one micro-batch for each data rank.
  } else if (schedule == nullptr && launch.devices) {
    const std::int64_t dp = *launch.devices / (launch.tp * launch.pp * launch.cp);
    draft.set("training.global_batch", size * std::max<std::int64_t>(dp, 1), {},
              "micro-batch x DP");
  }
}

void import_sizes(MegatronLaunch& launch) {
  Draft& draft = launch.draft;
  draft.set("parallel.tp", launch.tp, {launch.flag("--tensor-model-parallel-size")});
  draft.set("parallel.pp", launch.pp, {launch.flag("--pipeline-model-parallel-size")});
  draft.set("parallel.cp", launch.cp, {launch.flag("--context-parallel-size")});
  if (launch.experts) {
    const Setting* extended = launch.flag("--moe-tp-extend-ep");
    draft.set("parallel.ep", launch.ep, {launch.flag("--expert-model-parallel-size"), extended});
    draft.set("parallel.etp", launch.etp, {launch.flag("--expert-tensor-parallel-size"), extended},
              // The comment says where the value comes from when no flag does.
              launch.flag("--expert-tensor-parallel-size") == nullptr && extended == nullptr
                  ? "that of the dense layers"
                  : "");
  }
  const Setting* sequence = launch.flag("--sequence-parallel");
  const bool on = launch.args.on("--sequence-parallel");
  // As Megatron-LM itself switches it off.
  if (on && launch.tp == 1)
    draft.note(*sequence, "is switched off where the tensor parallel size is 1");
  draft.set("parallel.sequence_parallel", on && launch.tp > 1, {sequence});
  if (const Setting* order = launch.flag("--use-tp-pp-dp-mapping"))
    draft.set("parallel.order", "[tp, cp, ep, pp, dp]", {order});
  const std::int64_t model = launch.tp * launch.pp * launch.cp;
  if (!launch.devices || *launch.devices % model == 0) return;
  // Of --set first, then of the file; without any it is the number of devices.
  const auto said = std::ranges::find_if(draft.entries(), [](const Entry& e) {
    return e.said &&
           (e.path == "parallel.tp" || e.path == "parallel.pp" || e.path == "parallel.cp");
  });
  const bool sized = said != draft.entries().end();
  draft.wrong(sized ? said->place : Place{}, sized ? said->path : "--devices",
              "makes tp x pp x cp = " + std::to_string(launch.tp) + " x " +
                  std::to_string(launch.pp) + " x " + std::to_string(launch.cp) +
                  ", which does not divide " + std::to_string(*launch.devices) +
                  " devices; give sizes that do, or --devices, a multiple of " +
                  std::to_string(model));
}

}  // namespace

void import_plan(MegatronLaunch& launch) {
  import_sizes(launch);
  // Only data parallelism is left to take up the rest.
  import_context(launch);
  import_sharding(launch);
  import_instances(launch);
  import_schedule(launch);
  import_batch(launch);
}

void import_megatron(MegatronLaunch& launch) {
  const auto positive = [&](const char* name) { return launch.args.count_in(name, 1, 1, 1 << 20); };
  launch.tp = positive("--tensor-model-parallel-size");
  launch.pp = positive("--pipeline-model-parallel-size");
  launch.cp = positive("--context-parallel-size");
  launch.experts =
      launch.flag("--num-experts") != nullptr && launch.args.text("--num-experts") != "None";
  launch.latent =
      launch.args.on("--multi-latent-attention") || launch.args.on("--multi-head-latent-attention");
  // MindSpeed's switch cuts tensor ranks into expert ranks, and experts are whole then.
  if (launch.experts) {
    const bool extended = launch.args.on("--moe-tp-extend-ep");
    launch.ep = positive("--expert-model-parallel-size") * (extended ? launch.tp : 1);
    launch.etp = extended ? 1
                 : launch.flag("--expert-tensor-parallel-size") != nullptr
                     ? positive("--expert-tensor-parallel-size")
                     : launch.tp;
  }
  const Setting* layers = launch.args.find({"--num-layers", "--encoder-num-layers"});
  for (const auto* needed : {"--hidden-size", "--num-attention-heads"})
    if (launch.flag(needed) == nullptr)
      launch.args.fail(needed, "is missing, and the framework needs it");
  const Setting* sequence = launch.args.find({"--seq-length", "--encoder-seq-length"});
  if (sequence == nullptr && !launch.draft.given("training.sequence"))
    launch.args.fail("--seq-length", "is missing, and the framework needs it");
  if (layers == nullptr)
    return launch.args.fail("--num-layers", "is missing, and the framework needs it");
  launch.layers = launch.args.count_in(layers->name, 1, 1, 100000);
  for (const std::int64_t number : launch.args.counts("--noop-layers")) {
    if (number >= launch.layers) {
      launch.args.fail("--noop-layers", "names layer " + std::to_string(number) +
                                            ", allowed: numbers below --num-layers");
      break;
    }
    launch.noop.insert(number);
  }
  // Layers first, since chunks, placement and noop layers decide what all others count.
  import_layers(launch);
  import_plan(launch);
  import_model(launch);
  import_experts(launch);
  import_training(launch);
  import_runtime(launch);
}

}  // namespace stepcast::launch
