#include "drawing.hpp"

namespace stepcast::laws {

/// What the code of single frameworks does; behind all other draws.
void Drawing::pick_frameworks() {
  const bool again = recompute_ == "full" || recompute_ == "table";
  const bool serial = !has("model.block=parallel") && !has("model.block=parallel_norms");
  if (again && serial && !draft_.features.contains("graphs") && chance(40))
    take("training.rebuild", "rebuild", "needed");
  if (!has("training.cross_entropy=fused") && chance(25))
    take("training.cross_entropy", "cross_entropy", "one_hot");
  if (!draft_.features.contains("kernels unfused") && chance(25)) {
    take("runtime.kernels.norm", "norm", "fp32");
    if (chance(60)) take("runtime.kernels.rope", "rope", "fp32");
  }
  if (!has("communication.gradient.precision=bf16") && chance(20))
    take("communication.gradient.reduce_copy", "reduce_copy", "bf16");
  if (!has("communication.gradient.accumulation=separate") && chance(15))
    take("communication.gradient.stand_ins", "stand_ins", "shapes");
  if (!unfused_ && !no_softmax_ && draft_.file != "latent.yaml" && chance(20))
    take("runtime.kernels.heads", "heads", "transposed");
  if (!chance(40)) return;
  hit("held cores");
  set("cluster.collectives.cores",
      "{node: 6, network: 2, gather_pieces: 1, reduce_pieces: 5, deepep: 4, hybridep: 3}");
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
