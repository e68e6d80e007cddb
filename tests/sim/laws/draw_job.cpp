#include <algorithm>

#include "drawing.hpp"

namespace stepcast::laws {

void Drawing::pick_model() {
  const std::int64_t draw = below(100);
  draft_.file = draw < 8    ? "given.yaml"
                : draw < 32 ? "dense.yaml"
                : draw < 75 ? "experts.yaml"
                            : "latent.yaml";
  hit("model " + draft_.file.substr(0, draft_.file.find('.')));
  fb_pair_ = experts() && (schedule_->pairs || is("interleaved_1f1b")) && chance(60);
}

/// Sizes of the groups: at most 64 ranks.
void Drawing::pick_sizes() {
  const CountRange chunks = schedule_->chunks;
  vpp_ = std::min<std::int64_t>(chunks.low + below(2), chunks.high);
  pp_ = is("dualpipe") || is("seqsmartvpp") ? any<std::int64_t>({2, 2, 4})
                                            : any<std::int64_t>({1, 2, 2, 3, 4});
  if (is("interleaved_1f1b") || vpp_ > 1) pp_ = std::max<std::int64_t>(pp_, 2);
  if (!given()) {
    tp_ = any<std::int64_t>({1, 2, 2, 4});
    const bool slices = schedule_->slices.high > 1;
    cp_ = slices ? 1 : any<std::int64_t>({1, 1, 1, 2, 4});
  }
  dp_ = any<std::int64_t>({1, 2, 2, 3, 4, 8});
  spread_ = !given() && chance(18);
  if (spread_) tp_ = cp_ = 1, dp_ = 8;
  while (world() > 64) dp_ = (dp_ + 1) / 2, cp_ = (cp_ + 1) / 2;
  const std::int64_t per_stage = any<std::int64_t>({1, 1, 2, 3});
  micro_batches_ = pp_ * (schedule_->splits_backward && vpp_ == 2 ? per_stage + 1 : per_stage);
  if (is("dualpipe")) micro_batches_ *= 2;
  if (chance(20)) micro_batches_ *= 4;
  for (const auto& [key, size] : {std::pair{"tp", tp_}, {"pp", pp_}, {"vpp", vpp_}, {"cp", cp_}})
    set(std::string("parallel.") + key, size);
  const std::int64_t micro_batch = any<std::int64_t>({1, 1, 2});
  set("training.micro_batch", micro_batch);
  set("training.global_batch", micro_batch * dp_ * micro_batches_);
}

void Drawing::pick_schedule() {
  set("schedule.pipeline", std::string(schedule_->name));
  hit("schedule " + std::string(schedule_->name));
  if (chance(20)) take("schedule.p2p", "p2p", "blocking");
  if (pp_ > 1 && chance(12)) take("schedule.post_validation", "post_validation", "true");
  if (schedule_->puts_off && chance(60)) {
    hit("put_off");
    set("schedule.put_off", word({"1", "2", "3"}));
  }
  if (is("interleaved_1f1b") && chance(85)) {
    hit("warmup");
    set("schedule.warmup", word({"extra(1)", "less_memory"}));
  }
}

void Drawing::pick_slices() {
  const CountRange slices = schedule_->slices;
  sequence_ = any<std::int64_t>({1024, 2048, 2048, 4096});
  if (!given()) set("training.sequence", sequence_);
  if (slices.high == 1) return;
  slices_ = std::max<std::int64_t>(slices.low, any<std::int64_t>({1, 2, 2, 4}));
  if (slices_ == 1) return;
  const std::int64_t how = given() ? 0 : below(3);
  if (how == 0) {
    set("schedule.slices", slices_);
    return hit("slices equal");
  }
  if (how == 1) {
    set("schedule.slices", "balanced(" + std::to_string(slices_) + ")");
    return hit("slices balanced");
  }
  std::string list;
  std::int64_t left = sequence_;
  for (std::int64_t k = 0; k + 1 < slices_; ++k) {
    const std::int64_t n = left / 64 * 64 / any<std::int64_t>({2, 4});
    list += std::to_string(n) + ", ";
    left -= n;
  }
  set("schedule.slices", "[" + list + std::to_string(left) + "]");
  hit("slices written");
}

void Drawing::pick_training() {
  recompute_ = word({"none", "none", "selective", "full", "table", "modules"});
  if (is("dualpipe") && recompute_ == "table") recompute_ = "selective";
  if (given() && recompute_ == "modules") recompute_ = "none";
  hit("recompute " + recompute_);
  if (recompute_ == "table") {
    std::string table;
    for (std::int64_t c = 0; c < vpp_; ++c) {
      table += c > 0 ? ", [" : "[";
      for (std::int64_t s = 0; s < pp_; ++s)
        table += (s > 0 ? ", " : "") + std::to_string(below(2));
      table += "]";
    }
    set("training.recompute", "[" + table + "]");
  } else if (recompute_ == "modules") {
    const std::string modules =
        draft_.file == "latent.yaml" ? word({"mla_up_proj", "core_attn, moe_act"})
        : experts()                  ? word({"layernorm", "moe_act", "layernorm, core_attn"})
                                     : word({"mlp", "mlp_act", "layernorm", "core_attn, mlp"});
    set("training.recompute", "{modules: [" + modules + "]}");
  } else {
    set("training.recompute", recompute_);
  }
  if (!given() && cp_ == 1 && slices_ == 1 && chance(20)) {
    hit("window");
    set("model.attention.window", word({"256", "512"}));
    if (chance(50)) set("model.attention.full_every", "2");
  } else if (!given() && cp_ == 1 && slices_ == 1) {
    pick_mixer();
  }
  unfused_ = cp_ == 1 && !sparse_ && !no_softmax_ && chance(25);
  const std::string fused = no_softmax_ ? "fused" : word({"fused", "fused", "flash_1"});
  take("training.attention", "attention", unfused_ ? "unfused" : fused);
  if (slices_ > 1 && unfused_) hit("unfused slices");
  if (chance(45)) {
    take("training.precision", "precision", "fp8_mixed");
    recipe_ = word({"delayed", "tensorwise", "blockwise", "deepseek", "deepseek", "mxfp8", "mxfp8",
                    "mxfp8", "mxfp8"});
    take("training.fp8_recipe", "recipe", recipe_);
  }
  if (chance(30)) take("training.cross_entropy", "cross_entropy", "fused");
  if (chance(20)) take("training.dropout", "dropout", "true");
  if (chance(20)) take("training.update_memory", "update_memory", word({"tensor", "flat"}));
  if (!schedule_->pairs && chance(15)) {
    set("training.offload.activations", word({"0.5", "1", "attention"}));
    hit("offload activations");
  }
  if (chance(12)) take("training.offload.optimizer", "offload optimizer", "true");
  if (draft_.file == "latent.yaml" && !unfused_ && !sparse_ && !no_softmax_ && chance(45))
    take("training.attention_head", "attention_head", "128");
}

void Drawing::pick_plan() {
  if (draft_.file == "dense.yaml" && !linear_ && chance(30))
    take("model.block", "block", word({"parallel", "parallel", "parallel_norms"}));
  take("parallel.zero", "zero", fb_pair_ ? word({"0", "1"}) : word({"0", "1", "2", "3", "3"}));
  const bool shards = tp_ > 1 && chance(50);
  if (shards) take("parallel.sequence_parallel", "sequence_parallel", "true");
  if (cp_ > 1) {
    const std::string algorithm = word({"ring", "ulysses", "allgather", "hybrid(2)"});
    take("parallel.context_algorithm", "cp", algorithm);
  }
  if (chance(30)) {
    set("parallel.order", word({"[tp, dp, cp, ep, pp]", "[pp, tp, cp, ep, dp]",
                                "[dp, tp, cp, ep, pp]", "[tp, cp, ep, pp, dp]"}));
    hit("order");
  }
  pick_layers();
}

/// Also a table that leaves some chunks a layer more than others.
void Drawing::pick_layers() {
  layers_ = std::max<std::int64_t>(6, virtual_stages()) + below(3);
  set("model.layers", layers_);
  const std::string how = two_directions() ? word({"auto", "even", "even", "even", "even", "table"})
                                           : word({"auto", "even", "table"});
  hit("layers " + how);
  if (how == "even" && two_directions()) hit("layers even in two directions");
  if (how != "table") return set("parallel.layers_per_chunk", how);
  std::vector<std::int64_t> held(static_cast<std::size_t>(virtual_stages()), 1);
  for (std::int64_t left = layers_ - virtual_stages(); left > 0; --left)
    ++held[static_cast<std::size_t>(below(virtual_stages()))];
  const ChunkMap map{schedule_->placement, pp_, vpp_};
  std::string table;
  for (std::uint32_t c = 0; c < vpp_; ++c) {
    table += c > 0 ? ", [" : "[";
    for (std::uint32_t s = 0; s < pp_; ++s)
      table += (s > 0 ? ", " : "") +
               std::to_string(held[static_cast<std::size_t>(map.virtual_stage({{c}, {s}}))]);
    table += "]";
  }
  set("parallel.layers_per_chunk", "[" + table + "]");
}

/// Layers without a softmax, or an indexer before latent attention.
void Drawing::pick_mixer() {
  const bool latent = draft_.file == "latent.yaml";
  if (latent && recompute_ != "modules" && chance(65)) {
    hit("indexer");
    sparse_ = true;
    set("model.attention.index_heads", "4");
    set("model.attention.index_dim", "32");
    set("model.attention.index_top_k", word({"128", "512"}));
    return;
  }
  if (!chance(12)) return;
  hit("linear attention");
  linear_ = true;
  set("model.linear_attention", "{key_heads: 16, value_heads: 32, key_dim: 32, value_dim: 32}");
  const bool runs_cores_again = recompute_ == "selective" || recompute_ == "modules";
  no_softmax_ = !runs_cores_again && !chance(60);
  if (!no_softmax_) set("model.linear_attention.full_every", "2");
}

void Drawing::pick_documents() {
  if (slices_ > 1 || schedule_->pairs || sparse_ || linear_ || !chance(33)) return;
  hit("documents");
  set("schedule.data.documents", "{distribution: lognormal, mean: 600, sigma: 1}");
  take("schedule.data.mask", "mask", word({"causal", "document", "document"}));
  const bool levels = has("schedule.data.mask=document") && dp_ > 1;
  take("schedule.data.packing", "packing",
       levels ? word({"sequential", "attention_aware", "attention_aware", "slot_balanced",
                      "slot_balanced", "slot_balanced"})
              : word({"none", "sequential", "best_fit"}));
  if (has("schedule.data.mask=document") && cp_ > 1 && chance(40))
    set("schedule.data.context_split", "per_document");
}

}  // namespace stepcast::laws
