#include <algorithm>
#include <utility>
#include <vector>

#include "drawing.hpp"

namespace stepcast::laws {

void Drawing::pick_runtime() {
  const std::string dispatch = word({"eager", "eager", "task_queue", "graph_sink"});
  take("runtime.dispatch", "host", dispatch);
  eager_ = dispatch == "eager";
  take("runtime.fusion", "fusion", word({"none", "none", "pattern", "dvm"}));
  if (chance(20)) {
    hit("kernels unfused");
    set("runtime.kernels", "{norm: unfused, rope: unfused, activation: " +
                               word({"fused", "unfused", "formula"}) + "}");
  }
  const bool mlp_again = has("training.recompute={modules: [mlp]}") ||
                         has("training.recompute={modules: [core_attn, mlp]}");
  if (has("model.block=parallel") && !mlp_again && chance(50))
    take("runtime.kernels.block", "products", "joined");
  if (chance(20)) take("runtime.optimizer", "optimizer", "elementwise");
  if (chance(12)) {
    hit("blocking");
    set("cluster.host.queue_depth", std::int64_t{1});
    set("cluster.host.blocking", "25us");
  }
  if (chance(20)) take("cluster.host.library_launch", "library launch", word({"2us", "15us"}));
  if (experts() && chance(15)) {
    hit("compile misses");
    set("runtime.compile.misses", "0.3");
  }
}

void Drawing::pick_experts() {
  const std::int64_t ranks = tp_ * cp_ * dp_;
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes;
  for (const std::int64_t ep : {1, 2, 4, 8, 16})
    for (const std::int64_t etp : {1, 1, 2})
      if (ranks % (ep * etp) == 0 && (ep > 1 || below(3) == 0)) sizes.emplace_back(ep, etp);
  if (sizes.empty()) return;
  if (tp_ > 1 && ranks % (2 * tp_) == 0 && chance(16)) return pick_whole_rows();
  if (ranks % 2 == 0 && chance(11)) return pick_library(ranks % 4 == 0 ? 4 : 2);
  const auto [ep, etp] = sizes[static_cast<std::size_t>(below(std::ssize(sizes)))];
  set("parallel.ep", ep);
  set("parallel.etp", etp);
  if (etp > 1) hit("etp");
  expert_ranks_ = ep * etp;
  const std::string dispatch =
      word({"flat", "two_hop", "two_hop_dedup", "hierarchical_allgather", "allgather"});
  take("moe.dispatch", "dispatch", dispatch);
  std::string overlap = word({"none", "none", "shared_expert", "chunks(2)", "chunks(3)", "tiles(2)",
                              "tiles(2)", "tiles(2)"});
  if (fb_pair_) overlap = "fb_pair";
  take("moe.overlap", "overlap", overlap);
  pick_expert_keys();
  pick_dispatcher(dispatch, overlap);
}

/// Experts that the tensor ranks share, each of which exchanges all rows.
void Drawing::pick_whole_rows() {
  expert_ranks_ = 2 * tp_;
  set("parallel.ep", std::int64_t{2});
  set("parallel.etp", tp_);
  hit("etp");
  take("moe.group_wise_a2a", "group_wise_a2a", "false");
  const bool blocks = chance(50);  // of MindFormers
  if (blocks) take("moe.dispatcher", "dispatcher", "mindformers_1.3");
  take("moe.overlap", "overlap",
       fb_pair_ ? "fb_pair" : word({"none", "shared_expert", blocks ? "none" : "chunks(2)"}));
  take("moe.permutation", "permutation", blocks ? "indexed" : word({"fused", "indexed"}));
  hit("capacity_pad");
  set("moe.capacity_factor", word({"1.0", "1.5"}));
  set("moe.capacity_pad", "true");
  padded_ = true;
}

/// The statements of a version, for what it knows, and those of the router.
void Drawing::pick_dispatcher(const std::string& dispatch, const std::string& overlap) {
  const bool whole = overlap.find('(') == std::string::npos;
  if (whole && (dispatch == "flat" || dispatch == "allgather") && chance(95)) {
    std::string version =
        chance(50) ? word({"mindspeed_1.0", "mindspeed_2.0", "mindspeed_2.3", "mindspeed_2.3_seq"})
                   : word({"megatron_0.6", "megatron_0.8", "megatron_0.9", "megatron_0.10",
                           "megatron_0.12", "megatron_0.14"});
    if (version == "mindspeed_2.3_seq" && dispatch != "flat") version = "mindspeed_2.0";
    hit("dispatcher " + version.substr(0, version.find('_')));
    set("moe.dispatcher", version);
    set("moe.permutation", "indexed");
    if (chance(60)) take("moe.router.precision", "router", "fp32");
  }
  if ((dispatch == "flat" || dispatch == "two_hop") && chance(60)) {
    hit("capacity_pad");
    set("moe.capacity_factor", word({"1.0", "1.5"}));
    set("moe.capacity_pad", "true");
    padded_ = true;
  }
  if (chance(35)) take("runtime.kernels.router", "router", "statements");
}

void Drawing::pick_expert_keys() {
  const std::string routing = word({"uniform", "uniform", "zipf", "random"});
  hit("routing " + routing);
  set("moe.routing", "{distribution: " + routing + "}");
  if (chance(25)) {
    hit("capacity");
    set("moe.capacity_factor", word({"0.8", "1.0", "1.5"}));
  }
  if (chance(40) && routing != "uniform") take("moe.placement", "placement", "balanced");
  if (chance(20)) take("moe.wire_precision", "wire", "fp8");
  if (chance(30)) take("moe.permutation", "permutation", "indexed");
  if (chance(40)) take("moe.experts", "experts", word({"sequential", "multi_stream"}));
  if (chance(35)) {
    hit("offload experts");
    set("training.offload.experts", "true");
    if (chance(50)) set("training.offload.active_experts", word({"0.5", "routed"}));
  }
}

/// Kernels around FP8 products, and parts of a layer that are launched as graphs.
void Drawing::pick_kernels() {
  if (recipe_ == "mxfp8" && experts() && chance(60)) {
    take("moe.experts", "experts", "multi_stream");
    take("runtime.kernels.scales", "scales", "apart");
  } else if (recipe_ == "mxfp8" && !experts() && chance(90)) {
    take("runtime.kernels.scales", "scales", "zeroed");
  }
  if (!recipe_.empty() && experts() && !has("moe.dispatcher=hybridep") && chance(50))
    take("moe.row_padding", "row_padding", "copies");
  if (eager_ && (padded_ || chance(40))) pick_graphs();
}

void Drawing::pick_graphs() {
  std::string scopes =
      experts()
          ? word({"mlp", "attn, moe_router", "moe_router, moe_preprocess", "attn, shared_experts"})
          : word({"attn", "mlp", "attn, mlp"});
  if (padded_) scopes = "moe";
  if (has("model.block=parallel") || has("model.block=parallel_norms")) scopes = "attn, mlp";
  hit("graphs");
  hit("graphs of " + std::string(scopes == "moe" ? "moe" : "parts"));
  set("runtime.graphs", "{scopes: [" + scopes + "]}");
}

void Drawing::pick_communication() {
  if (given()) return;
  if (chance(30)) take("communication.gradient.precision", "gradient", "bf16");
  if (chance(25)) take("communication.gradient.accumulation", "accumulation", "separate");
  if (chance(30)) take("communication.gradient.overlap", "gradient overlap", "false");
  if (chance(30)) {
    hit("bucket");
    set("communication.gradient.bucket", word({"1000000", "5000000"}));
  }
  if (chance(20)) take("communication.tensor.overlap", "tensor overlap", "chunks(2)");
  if (tp_ > 1 && chance(20))
    take("communication.pipeline.scatter_gather", "scatter_gather", "true");
  pick_algorithms();
}

void Drawing::pick_algorithms() {
  const bool grid = node_fabric_ == "torus" || node_fabric_ == "full_mesh";
  if (grid && experts() && chance(90))
    return take("communication.algorithm.all_to_all", "exchange", "dimensions");
  if (spread_) {
    hit("algorithm parallel");
    for (const char* kind : {"all_reduce", "reduce_scatter", "all_gather"})
      set("communication.algorithm." + std::string(kind), "parallel");
    return;
  }
  if (!chance(35)) return;
  hit("named algorithms");
  const std::string any_kind = word({"ring", "ring", "nhr", "hd", "nb"});
  set("communication.algorithm.all_reduce", any_kind);
  set("communication.algorithm.reduce_scatter", any_kind);
  set("communication.algorithm.all_gather", any_kind);
  set("communication.algorithm.all_to_all", "pairwise");
}

/// Both levels of an exchange at once; last, so that other draws stay.
void Drawing::pick_level_exchange() {
  const bool meshes = node_fabric_ == "mesh" && node_ > 1 && !super_node_ && !has_platform_;
  if (!meshes || !experts() || !has("cluster.collectives.library=hccl") || !chance(90)) return;
  if (has("runtime.dispatch=graph_sink")) return;
  set("cluster.collectives.buffer", "200MiB");  // HCCL's own; less than 80 MiB takes no pipeline
  take("cluster.collectives.all_to_all", "levels", "pipeline");
}

/// What data ranks share out, and in which precision; last, so that other draws stay.
void Drawing::pick_sharding() {
  pick_states();
  if (has("parallel.zero=0")) return;
  const std::int64_t edp = tp_ * cp_ * dp_ / expert_ranks_, ranks = dp_ * cp_;
  const std::int64_t groups = any<std::int64_t>({2, 2, 4});
  const bool cuts = dp_ % groups == 0 && ranks > groups;
  std::int64_t cut = 1;
  if (cuts && has("parallel.zero=3") && !experts() && chance(80)) {
    hit("hpz");
    set("parallel.hpz", ranks / groups);
  } else if (cuts && (!experts() || edp % groups == 0) && chance(50)) {
    hit("dp_replicate");
    set("parallel.dp_replicate", groups);
    cut = groups;
  }
  pick_gathers(ranks > cut || (experts() && edp > cut));
  if (has("runtime.dispatch=eager") && !has("communication.gradient.overlap=false") && chance(30))
    take("runtime.start_order", "starts", "as_issued");
  const bool copied = has("parallel.hpz=" + std::to_string(ranks / groups));
  if (ranks > cut && !experts() && !linear_) pick_exchange(cut == 1 && !copied);
  const bool lists = has("communication.parameter.exchange=lists");
  const bool separate = has("communication.gradient.accumulation=separate");
  if (has("parallel.zero=3") && !lists && !separate && chance(40))
    take("communication.gradient.accumulation", "accumulation", "flat");
  if (tp_ == 1 && chance(30)) take("training.logit_metrics", "logit_metrics", "2");
}

void Drawing::pick_exchange(bool from_all) {
  const bool reduced_behind = has("communication.gradient.overlap=false");
  if (has("communication.parameter.precision=fp8") || has("runtime.dispatch=graph_sink") ||
      !chance(90))
    return;
  if (has("parallel.zero=1") && (reduced_behind || has("communication.parameter.overlap=false")))
    take("communication.parameter.exchange", "exchange", "broadcast");
  if (has("parallel.zero=3") && !reduced_behind && from_all)
    take("communication.parameter.exchange", "exchange", "lists");
}

void Drawing::pick_gathers(bool shares) {
  const bool ahead = has("parallel.zero=1") || has("parallel.zero=2");
  if (ahead && !has("communication.gradient.overlap=false") && chance(experts() ? 30 : 60))
    take("communication.parameter.overlap", "gather overlap", "false");
  if (has("training.master_weights=none")) return;  // which has no other weights to gather
  const bool casts = recipe_ == "delayed" || recipe_ == "tensorwise" || recipe_ == "blockwise";
  if (shares && casts && !has("training.offload.experts=true") && chance(60))
    take("communication.parameter.precision", "gather", "fp8");
}

void Drawing::pick_states() {
  if (has("training.offload.optimizer=true") && chance(70))
    take("training.offload.optimizer_part", "offload part", "0.5");
  const bool away = has("training.offload.optimizer=true") || has("training.offload.experts=true");
  const bool all =
      has("training.offload.optimizer=true") && !has("training.offload.optimizer_part=0.5");
  const bool kernels = all && has("runtime.optimizer=elementwise");  // which would update nothing
  if (away && !kinds_ && !kernels && chance(50)) {
    set("cluster.host.memory.bandwidth", "400GB/s");
    set("cluster.host.devices_per_host", std::min<std::int64_t>(node_, 4));
    take("training.offload.update", "offload update", "host");
  }
  if (away && !kinds_ && chance(60)) take("training.offload.store", "store", "storage");
  const bool half = has("training.precision=fp8_mixed") || has("parallel.zero=3") ||
                    has("communication.gradient.precision=bf16");
  if (!away && !half && chance(35)) {
    take("training.master_weights", "master", "stored");
    return;
  }
  if (has("communication.gradient.precision=bf16") && chance(30)) {
    take("training.master_weights", "master", "none");
    if (has("runtime.optimizer=elementwise"))  // its statements pass over one precision
      for (const char* moment : {"first", "second"})
        set("training." + std::string(moment) + "_moment", "bf16");
    return;
  }
  if (has("runtime.optimizer=elementwise")) return;
  if (!chance(25)) {
    if (!(all && has("training.offload.update=host")) && chance(20))
      take("runtime.optimizer", "optimizer", "per_tensor");
    return;
  }
  take("training.first_moment", "first moment", word({"bf16", "fp16", "fp8"}));
  take("training.second_moment", "second moment", word({"fp32", "bf16", "fp8"}));
  if (chance(50)) take("training.master_weights", "master", "fp16");
}

/// Loads by layer and step, copies of experts, and when they are placed anew; last, as
/// pick_sharding.
void Drawing::pick_changing_loads() {
  const bool zipf = has("moe.routing={distribution: zipf}");
  bool changes = has("moe.routing={distribution: random}");
  if (!zipf && !changes) return;
  if (has("parallel.ep=1")) return;  // one rank has all experts
  if (chance(50)) take("moe.routing.layers", "loads of layers", "own");
  if (zipf && chance(70)) {
    changes = true;
    hit("lifetime of loads");
    set("moe.routing.lifetime", word({"1", "20"}));
  }
  if (changes && chance(70)) {
    hit("step of loads");
    set("moe.routing.step", word({"1", "24"}));
  }
  const bool whole = has("parallel.zero=0") || has("parallel.zero=1");
  const bool there = !has("training.offload.experts=true") && !padded_;
  const bool copies = whole && there && !has("parallel.ep=1") && chance(85);
  if (copies) take("moe.spare_experts", "copies of experts", "1");
  if (!changes || !(copies || has("moe.placement=balanced")) || !chance(90)) return;
  hit("relocation");
  set("moe.relocation.every", word({"1", "8"}));
  if (chance(50)) set("moe.relocation.history", "3");
}

/// Layers in another order, and what travels in fewer bytes; behind all other draws.
void Drawing::pick_orders() {
  const bool exchanges = tp_ > 1 || cp_ > 1 || expert_ranks_ > 1;
  const bool placed = has("moe.overlap=shared_expert") || has("moe.overlap=fb_pair") ||
                      draft_.features.contains("graphs");
  if (exchanges && !placed && chance(40)) take("runtime.layer_order", "layers", "overlapped");
  const bool hops =
      has("moe.dispatch=flat") || has("moe.dispatch=two_hop") || has("moe.dispatch=two_hop_dedup");
  if (expert_ranks_ > 1 && hops && !library_ && !has("parallel.ep=1") && chance(45))
    take("moe.combine_precision", "combine", "fp8");
  const bool owned = has("parallel.zero=1") && cp_ * dp_ > 1 &&
                     !draft_.features.contains("dp_replicate") &&
                     !draft_.features.contains("exchange broadcast");
  if (owned && !has("communication.gradient.precision=bf16") && chance(60))
    take("communication.gradient.exchange", "gradient", "all_to_all");
  pick_update();
}

/// What the framework passes over beside the update, and the softmax of attention without a fused
/// kernel.
void Drawing::pick_update() {
  if (unfused_ && slices_ == 1 && !draft_.features.contains("kernels unfused") && chance(60))
    take("runtime.kernels.softmax", "softmax", "causal");
  const bool away = has("training.offload.optimizer=true") || has("training.offload.experts=true");
  const bool whole = has("parallel.zero=0") || has("parallel.zero=1");
  const bool fused = !has("runtime.optimizer=elementwise") && !has("runtime.optimizer=per_tensor");
  if (away || !whole || !fused || has("communication.gradient.exchange=all_to_all") || !chance(40))
    return;
  hit("update passes");
  const bool half = has("communication.gradient.precision=bf16");
  const std::string passes =
      word({half ? "divide, cast, unscale, clip, copy, zero" : "divide, unscale, clip, copy, zero",
            half ? "cast, unscale, square, clip" : "unscale, square, clip",
            half ? "cast, square" : "square", "flatten, unflatten, check",
            half ? "join, cast" : "join_fp32"});
  if (passes.find("square") != std::string::npos) hit("pass square");
  set("runtime.update", "{passes: [" + passes + "]}");
}

}  // namespace stepcast::laws
