#include "drawing.hpp"

namespace stepcast::laws {

/// What the code of single frameworks does; behind all other draws.
void Drawing::pick_frameworks() {
  const bool again = recompute_ == "full" || recompute_ == "table";
  const bool serial = !has("model.block=parallel") && !has("model.block=parallel_norms");
  if (again && serial && !draft_.features.contains("graphs") && chance(40))
    take("training.rebuild", "rebuild", "needed");
  if (!has("training.cross_entropy=fused") && chance(25))
    take("training.cross_entropy", "cross_entropy",
         tp_ == 1 && chance(70) ? "transformers" : "one_hot");
  if (!draft_.features.contains("kernels unfused") && chance(25)) {
    take("runtime.kernels.norm", "norm", "fp32");
    if (chance(60)) take("runtime.kernels.rope", "rope", word({"fp32", "sliced"}));
  }
  if (!has("communication.gradient.precision=bf16") && chance(20)) {
    set("communication.gradient.kept", "both");
    take("communication.gradient.reduce_copy", "reduce_copy", "bf16");
  }
  if (!has("communication.gradient.accumulation=separate") && chance(15))
    take("communication.gradient.stand_ins", "stand_ins", "shapes");
  if (!unfused_ && !no_softmax_ && draft_.file != "latent.yaml" && chance(20))
    take("runtime.kernels.heads", "heads", "transposed");
  const bool rings =
      has("parallel.context_algorithm=ring") || has("parallel.context_algorithm=hybrid(2)");
  if (rings && chance(50)) take("runtime.kernels.ring", "ring", "statements");
  if (!chance(40)) return;
  hit("held cores");
  set("cluster.collectives.cores",
      "{node: 6, network: 2, gather_pieces: 1, reduce_pieces: 5, deepep: 4, hybridep: 3}");
}

/// What wrappers of a framework take, where gradients are reduced, and products of experts as one
/// kernel; behind all other draws.
void Drawing::pick_wrappers() {
  if (recompute_ != "none" && chance(30)) {
    hit("statements");
    set("cluster.host.statement", word({"1us", "4us"}));
    set("runtime.recompute_statements", "18");
  }
  if (tp_ > 1 && chance(20)) take("communication.tensor.backward", "tensor backward", "serial");
  if (!experts() || has("moe.overlap=tiles(2)")) return;
  if (recipe_ == "mxfp8" && !has("runtime.kernels.scales=apart"))
    return take("moe.experts", "experts", "fused");
  const bool named = has("moe.experts=sequential") || has("moe.experts=multi_stream");
  if (padded_ && !named && chance(70)) take("moe.experts", "experts", "batched");
}

/// Adapters beside frozen weights; behind all other draws.
void Drawing::pick_adapters() {
  const bool refused =
      draft_.file == "latent.yaml" || linear_ || has("runtime.kernels.block=joined") ||
      has("training.offload.experts=true") || has("moe.spare_experts=1") ||
      has("communication.parameter.precision=fp8") ||
      has("communication.gradient.stand_ins=shapes") ||
      has("communication.tensor.backward=serial") || draft_.features.contains("exchange lists") ||
      draft_.features.contains("exchange broadcast");
  const bool stored = has("training.master_weights=stored");
  if (refused || !chance(stored ? 100 : 60)) return;
  hit("adapters");
  if (stored) hit("adapters stored");  // they are FP32 themselves
  set("training.adapters.rank", word({"8", "16", "64"}));
  const bool apart = chance(40);
  std::string targets = experts() ? "query, key, value, attention_out"
                                  : word({"query, key, value", "attention_out, down", "gate, up"});
  if (apart) {
    targets = experts() ? word({"query, value", "key, attention_out"})
                        : word({"query, value", "up, query, down", "gate, attention_out"});
    take("training.adapters.products", "adapters", "apart");
  }
  if (experts() || chance(60)) set("training.adapters.targets", "{modules: [" + targets + "]}");
  if (tp_ > 1 && chance(50)) take("training.adapters.split", "adapters", "one");
  if (chance(30)) take("training.adapters.dropout", "adapters", "true");
  if (experts() || !recipe_.empty() || has("parallel.zero=3") || !chance(80)) return;
  hit("adapters packed");
  set("training.adapters.frozen", word({"int8", "nf4"}));
}

/// Experts on so many ranks, whose exchanges are kernels of a library.
void Drawing::pick_library(std::int64_t ranks) {
  library_ = true;
  expert_ranks_ = ranks;
  set("parallel.ep", ranks);
  take("moe.dispatch", "dispatch", "two_hop_dedup");
  take("moe.dispatcher", "dispatcher", word({"deepep", "hybridep"}));
  take("moe.overlap", "overlap", fb_pair_ ? "fb_pair" : word({"none", "shared_expert"}));
  if (chance(50)) take("moe.router.precision", "router", "fp32");
  if (chance(40)) take("moe.experts", "experts", word({"sequential", "multi_stream"}));
}

}  // namespace stepcast::laws
