#include "mindformers.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "imported_adapters.hpp"
#include "megatron.hpp"
#include "stepcast/base/foreign_document.hpp"
#include "stepcast/base/text.hpp"

// MindFormers: a YAML file with parallel_config, recompute_config, moe_config and the model.
namespace stepcast::launch {
namespace {

/// deepseek_v3 of mindformers/models/deepseek3/configuration_deepseek_v3.py.
const ModelClass deepseek_v3{"deepseek_v3",
                             {{"num_hidden_layers", 61},
                              {"hidden_size", 7168},
                              {"num_attention_heads", 128},
                              {"intermediate_size", 18432},
                              {"q_lora_rank", 1536},
                              {"kv_lora_rank", 512},
                              {"qk_nope_head_dim", 128},
                              {"qk_rope_head_dim", 64},
                              {"v_head_dim", 128},
                              {"n_routed_experts", 256},
                              {"num_experts_per_tok", 8},
                              {"moe_intermediate_size", 2048},
                              {"n_shared_experts", 1},
                              {"first_k_dense_replace", 3},
                              {"num_nextn_predict_layers", 1},
                              {"vocab_size", 129280},
                              {"n_group", 8},
                              {"topk_group", 4}}};

/// Numbers of nested lists, in their order; none where all chunks are alike.
bool read_offsets(const Setting& offset, std::vector<std::int64_t>& offsets) {
  for (const std::string& word : offset.words) {
    std::string row = word;
    std::erase_if(row, [](char c) { return c == '[' || c == ']' || c == ' '; });
    for (std::size_t at = 0; at <= row.size();) {
      const std::size_t end = std::min(row.find(',', at), row.size());
      const auto value = row.substr(at, end - at);
      if (value.empty() || value.size() > 7 ||
          value.find_first_not_of("-0123456789") != std::string::npos ||
          value.find('-', 1) != std::string::npos || value == "-")
        return false;
      offsets.push_back(std::stoll(value));
      at = end + 1;
    }
  }
  if (offsets.size() == 1 && offsets.front() == 0) offsets.clear();
  return true;
}

/// `offset`: an even share and what each stage or chunk has beside it.
void import_cut(Recipe& r) {
  Draft& draft = r.draft;
  const Setting* offset = r.field({"offset"});
  const std::int64_t chunks = r.pp * r.vpp;
  const std::int64_t counted =
      r.layers + (r.legacy ? r.mtp : 0);  // a module counts as a layer there
  if (draft.given("parallel.layers_per_chunk")) return;
  const auto fail = [&](const std::string& message) {
    r.args.fail(offset != nullptr ? *offset : Setting{"model.model_config.offset", {}, {}, false},
                message);
  };
  if (chunks < 1 || chunks > 65536) return fail("cannot be read for so many chunks");
  // One number per chunk, in the order chunk by chunk and stage by stage.
  std::vector<std::int64_t> offsets;
  if (offset != nullptr && !read_offsets(*offset, offsets))
    return fail("is no list of whole numbers");
  const std::int64_t base = counted / chunks;
  if (offsets.empty()) offsets.assign(static_cast<std::size_t>(chunks), 0);
  if (static_cast<std::int64_t>(offsets.size()) != chunks)
    return fail("has " + std::to_string(offsets.size()) + " numbers, needed: one for each of " +
                std::to_string(chunks) + " chunks");
  const std::int64_t sum = std::accumulate(offsets.begin(), offsets.end(), std::int64_t{0});
  // Offsets move layers and may neither add nor lose any.
  if (sum != counted - base * chunks)
    return fail("adds up to " + std::to_string(sum) + ", which must be " + std::to_string(counted) +
                " layers less " + std::to_string(base) + " in each of " + std::to_string(chunks) +
                " chunks: " + std::to_string(counted - base * chunks));
  std::vector<std::vector<std::int64_t>> table;
  bool even = true;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (i % static_cast<std::size_t>(r.pp) == 0) table.emplace_back();
    const bool last = i + 1 == offsets.size();
    // A prediction module in the last chunk is no layer of the model.
    const std::int64_t count = base + offsets[i] - (last && r.legacy ? r.mtp : 0);
    if (count < 0) return fail("leaves a chunk with fewer layers than none, allowed: 0 in each");
    table.back().push_back(count);
    even = even && count == table.front().front();
  }
  draft.set("parallel.layers_per_chunk", even ? std::string("even") : table_text(table), {offset});
}

/// `select_recompute` where no layer is rebuilt whole: of all layers, what the last projection of a
/// dense one reads runs again. True: that said it.
bool import_selected(Recipe& r) {
  const Setting* chosen = nullptr;
  for (const Setting& setting : r.settings)
    if (setting.name.starts_with("recompute_config.select_recompute") &&
        (chosen == nullptr || setting.name.ends_with("mul")))
      chosen = &setting;
  if (chosen == nullptr || chosen->words.front() == "False" || chosen->words.front() == "false")
    return false;
  const bool patterns = chosen->name != "recompute_config.select_recompute";
  const bool product = !patterns || chosen->name.ends_with("feed_forward\\.mul");
  if (!product || chosen->is_list || !r.args.on(chosen->name) ||
      r.draft.count("model.moe.experts").value_or(0) > 1) {
    r.args.fail(
        *chosen,
        "rebuilds operators of some layers or experts, which no value of training.recompute "
        "says; allowed: True, of a dense model, or --set training.recompute=..");
    return true;
  }
  r.draft.set("training.recompute", "{modules: [mlp_act]}", {chosen});
  return true;
}

void import_recompute(Recipe& r) {
  const Setting* all = r.args.find("recompute_config.recompute");
  const bool whole = all != nullptr && (all->is_list || r.args.on(all->name));
  // Whole layers win over selected operators, as in MindFormers.
  if (!whole && !r.draft.given("training.recompute") && import_selected(r)) return;
  if (all == nullptr || r.draft.given("training.recompute"))
    return r.draft.set("training.recompute", "none", {all});
  if (!all->is_list)
    return r.draft.set("training.recompute", r.args.on(all->name) ? "full" : "none", {all});
  std::string text = "[";
  for (const std::string& word : all->words) text += (text.size() > 1 ? ", " : "") + word;
  text += "]";
  // One number per stage means one chunk; with several the list must say each.
  const bool nested = text.starts_with("[[");
  if (!nested && r.vpp > 1)
    return r.args.fail(*all,
                       "has one number for a stage of several chunks, which are dealt out in turn; "
                       "give it by chunk and stage");
  r.draft.set("training.recompute", nested ? text : "[" + text + "]", {all});
}

void import_schedule(Recipe& r) {
  Draft& draft = r.draft;
  const Setting* name = r.args.find("parallel.pipeline_config.pipeline_scheduler");
  const Setting* interleave = r.args.find("parallel.pipeline_config.pipeline_interleave");
  const std::string kind = r.args.text("parallel.pipeline_config.pipeline_scheduler", "1f1b");
  draft.set("parallel.vpp", r.vpp, {interleave, r.field({"pp_interleave_num"})});
  // MindFormers has one name for both schedules and tells them apart by the chunks.
  if (kind == "1f1b" && r.vpp > 1) {
    draft.set("schedule.pipeline", "interleaved_1f1b", {name});
    return draft.set("schedule.warmup", "standard", {},
                     "less_memory where the environment has ENABLE_LESS_MEM_VPP=1");
  }
  const bool known = kind == "1f1b" || kind == "gpipe" || kind == "seqpipe" || kind == "seqvpp" ||
                     kind == "seqsmartvpp" || kind == "zero_bubble_v";
  if (!known)
    return r.args.fail(
        *name,
        "is '" + kind + "', allowed: 1f1b, gpipe, seqpipe, seqvpp, seqsmartvpp, zero_bubble_v");
  // MindSpore's zero_bubble_v runs the order that other frameworks call DualPipeV.
  draft.set("schedule.pipeline", kind == "zero_bubble_v" ? std::string("dualpipe_v") : kind,
            {name});
  const Setting* slices = r.args.find("parallel_config.seq_split_num");
  if (kind.starts_with("seq") && slices != nullptr)
    draft.set("schedule.slices", r.args.count_or(slices->name, 1), {slices});
}

void import_batch(Recipe& r) {
  Draft& draft = r.draft;
  const Setting* size = r.args.find("runner_config.batch_size");
  const Setting* pieces = r.args.find("parallel_config.micro_batch_num");
  const Setting* twice = r.args.find("micro_batch_interleave_num");
  const Setting* steps = r.args.find("runner_config.gradient_accumulation_steps");
  // Interleaved micro-batches are one micro-batch whose halves overlap.
  const std::int64_t interleave = r.args.count_in("micro_batch_interleave_num", 1, 1, 64);
  const std::int64_t micro =
      r.args.count_in("runner_config.batch_size", 1, 1, 1 << 20) * interleave;
  draft.set("training.micro_batch", micro, {size, interleave > 1 ? twice : nullptr});
  draft.set("training.global_batch", micro * r.dp * r.pieces, {size, r.pp > 1 ? pieces : steps},
            "x dp");
  if (r.pp > 1 && steps != nullptr && r.args.count_or(steps->name, 1) > 1)
    draft.note(*steps, "counts only without stages");
  const Setting* fine = r.field({"fine_grain_interleave"});
  const std::int64_t fine_pieces = fine == nullptr ? 1 : r.args.count_or(fine->name, 1);
  // Both switches cut the products of tensor ranks; the larger number is what runs.
  const std::int64_t overlap = std::max(interleave, fine_pieces);
  if (overlap > 1 && r.tp > 1)
    draft.set("communication.tensor.overlap", "chunks(" + std::to_string(overlap) + ")",
              {fine, interleave > 1 ? twice : nullptr});
  const Setting* sequence = r.field({"seq_length"});
  const Setting* data = r.args.find("train_dataset.data_loader.config.seq_length");
  if (sequence == nullptr && data == nullptr && !draft.given("training.sequence"))
    draft.wrong({}, "training.sequence", "is not said by the file; give --set training.sequence=N");
  else if (sequence != nullptr || data != nullptr)
    draft.set("training.sequence",
              r.args.count_or((sequence != nullptr ? sequence : data)->name, 1),
              {sequence != nullptr ? sequence : data});
}

const Setting* plan_field(const Recipe& r, const char* name) {
  return r.args.find(std::string("parallel_config.") + name);
}

void import_context_ranks(Recipe& r) {
  const std::string name = r.args.text("parallel_config.context_parallel_algo", "colossalai_cp");
  const Setting* ring = r.field({"use_ring_attention"});
  // Ring attention is a flag of the model there, not an algorithm of the plan.
  std::string key = ring != nullptr && r.args.on(ring->name) ? "ring"
                    : name == "ulysses_cp"                   ? "ulysses"
                                                             : "allgather";
  // The misspelling is MindFormers' own, in some of its versions.
  if (name == "hybird_cp" || name == "hybrid_cp")
    key = "hybrid(" + std::to_string(r.args.count_or("parallel_config.ulysses_degree_in_cp", 1)) +
          ")";
  r.draft.set("parallel.context_algorithm", key,
              {plan_field(r, "context_parallel_algo"), ring,
               key.starts_with("hybrid") ? plan_field(r, "ulysses_degree_in_cp") : nullptr});
}

void import_shares(Recipe& r) {
  Draft& draft = r.draft;
  const Setting* gradients =
      r.args.find("parallel.parallel_optimizer_config.gradient_accumulation_shard");
  const bool on = r.args.on("parallel.enable_parallel_optimizer");
  // Of one micro-batch each gradient is scattered as soon as it is there, and none is kept whole.
  const bool shared = r.pieces == 1 || (gradients != nullptr && r.args.on(gradients->name));
  draft.set("parallel.zero",
            !on      ? 0
            : shared ? 2
                     : 1,
            {r.args.find("parallel.enable_parallel_optimizer"), gradients},
            on && r.pieces == 1 ? "one micro-batch" : "");
  const Setting* size =
      r.args.find("parallel.parallel_optimizer_config.optimizer_weight_shard_size");
  if (size == nullptr) return;
  const std::int64_t ranks = r.dp * r.cp, share = r.args.count_or(size->name, -1);
  if (!on) return draft.note(*size, "counts only with enable_parallel_optimizer");
  if (share <= 0 || share >= ranks) return;
  if (ranks % share != 0)
    return r.args.fail(*size, "is " + std::to_string(share) + ", must divide the " +
                                  std::to_string(ranks) + " data ranks");
  draft.set("parallel.dp_replicate", ranks / share, {size});
}

void import_sizes(Recipe& r) {
  Draft& draft = r.draft;
  draft.set("parallel.dp", r.dp, {plan_field(r, "data_parallel")});
  draft.set("parallel.tp", r.tp, {plan_field(r, "model_parallel")});
  draft.set("parallel.pp", r.pp, {plan_field(r, "pipeline_stage")});
  draft.set("parallel.cp", r.cp, {plan_field(r, "context_parallel")});
  const Setting* sequence = plan_field(r, "use_seq_parallel");
  // As MindFormers itself switches it off.
  const bool on = r.args.on("parallel_config.use_seq_parallel");
  if (on && r.tp == 1) draft.note(*sequence, "is switched off where model_parallel is 1");
  draft.set("parallel.sequence_parallel", on && r.tp > 1, {sequence});
  if (r.cp > 1) import_context_ranks(r);
  import_shares(r);
}

/// Whether `--enable_pass=` of the flags names the pass; other options may name it as well.
bool enables(const std::string& flags, std::string_view pass) {
  constexpr std::string_view option = "--enable_pass=";
  std::istringstream options(flags);
  for (std::string word; options >> word;) {
    if (!word.starts_with(option)) continue;
    std::istringstream passes(word.substr(option.size()));
    for (std::string name; std::getline(passes, name, ',');)
      if (name == pass) return true;
  }
  return false;
}

/// FP32 parameters are gathered so and then cast; with stages MindSpore casts each rank's part
/// first (InsertAllGatherAfterCast), as if half-precision weights stood beside them.
void import_weights(Recipe& r) {
  const Setting* type = r.field({"param_init_type", "params_dtype"});
  if (type == nullptr) return;
  const bool stored =
      r.args.text(type->name) == "float32" && r.pp == 1 && !r.args.on("optimizer.swap");
  r.draft.set("training.master_weights", stored ? "stored" : "full", {type});
}

void import_runtime(Recipe& r) {
  Draft& draft = r.draft;
  import_weights(r);
  const Setting* type = r.field({"compute_dtype"});
  const std::string name = type == nullptr ? "bfloat16" : r.args.text(type->name);
  if (name != "bfloat16" && name != "float16" && !draft.given("training.precision"))
    r.args.fail(
        *type,
        "is '" + name + "', which no value of training.precision says, allowed: bfloat16, float16");
  draft.set("training.precision", name == "float16" ? "fp16" : "bf16", {type});
  const Setting* flash = r.field({"use_flash_attention"});
  draft.set("training.attention", flash == nullptr || r.args.on(flash->name) ? "fused" : "unfused",
            {flash});
  const Setting* dropout = r.field({"hidden_dropout_rate", "hidden_dropout_prob"});
  draft.set("training.dropout", dropout != nullptr ? r.args.rate(dropout->name) > 0 : r.gpt2,
            {dropout}, dropout == nullptr && r.gpt2 ? "0.1 unless given" : "");
  if (r.args.on("optimizer.swap"))
    draft.set("training.offload.optimizer", true, {r.args.find("optimizer.swap")});
  // Gradients are of the type of the parameters.
  const Setting* weights = r.field({"param_init_type", "params_dtype"});
  const bool wide = weights == nullptr || r.args.text(weights->name) == "float32";
  draft.set("communication.gradient.precision", wide ? "fp32" : "bf16", {weights});
  const Setting* passes = r.args.find("context.graph_kernel_flags");
  const bool fused =
      passes != nullptr && enables(r.args.text(passes->name), "matmul_assignadd_fusion");
  if (r.pieces > 1 || passes != nullptr)
    draft.set("communication.gradient.accumulation", fused ? "fused" : "separate", {passes});
  draft.set("communication.gradient.overlap", true, {});
  const Setting* level = r.args.find({"context.jit_config.jit_level", "context.jit_level"});
  const Setting* mode = r.args.find("context.mode");
  const bool eager = mode != nullptr && r.args.count_or("context.mode", 0) == 1;
  const std::string jit = level == nullptr ? "O0" : r.args.text(level->name);
  // O1 launches kernel by kernel and joins elementwise ones, those of the update too.
  const bool joins = !eager && jit == "O1";
  draft.set("runtime.dispatch",
            eager || joins ? "eager"
            : jit == "O2"  ? "graph_sink"
                           : "task_queue",
            {eager ? mode : level});
  draft.set("runtime.fusion", joins ? "dvm" : "none", {eager ? mode : joins ? level : nullptr});
  const Setting* together = r.args.find("optimizer.use_fused");
  const bool one = together != nullptr && r.args.on(together->name);
  draft.set("runtime.optimizer", one || joins ? "fused" : "elementwise",
            {together, one     ? nullptr
                       : eager ? mode
                       : joins ? level
                               : nullptr});
}

/// Defaults are those of LoraConfig (mindformers/pet/pet_config.py): rank 8, dropout 0.01, and no
/// targets. MindSpore cuts the matrix on the side on which the product is cut.
void import_adapters(Recipe& r) {
  const Setting* kind = r.field({"pet_config.pet_type"});
  if (kind == nullptr) return;
  if (const std::string name = r.args.text(kind->name); name != "lora" && name != "LoRA")
    return r.args.fail(*kind, "is '" + name + "', which training.adapters lacks, allowed: lora");
  const Setting* targets = r.field({"pet_config.target_modules"});
  if (targets == nullptr && !r.draft.given("training.adapters.targets"))
    return r.args.fail(*kind, "stands without target_modules, by which no layer has an adapter");
  set_adapters({.rank = r.field({"pet_config.lora_rank"}),
                .targets = targets,
                .dropout = r.field({"pet_config.lora_dropout"}),
                .otherwise = 8,
                .drops = true,
                .split = "one"},
               r.args, r.draft);
  r.draft.expect(*kind);
}

/// Switches of kernels, and what the router does beside its product.
void import_small(Recipe& r) {
  Draft& draft = r.draft;
  const auto first = [&](std::initializer_list<std::string_view> names) {
    return r.args.find(names);
  };
  // Set only where the switch is there: its absence means the default of the version.
  const auto kernel = [&](const char* key, const Setting* switched, bool both) {
    if (switched == nullptr || (!both && !r.args.on(switched->name))) return;
    draft.set_where_used(key, r.args.on(switched->name) ? "fused" : "unfused", {switched});
  };
  kernel("runtime.kernels.rope", r.field({"use_fused_rope"}), true);
  kernel("runtime.kernels.activation", r.field({"use_fused_swiglu"}), true);
  // What follows is about routers.
  if (draft.count("model.moe.experts").value_or(0) < 2) return;
  kernel("moe.permutation",
         first({"moe_config.use_fused_ops_permute", "model.model_config.use_fused_ops_permute"}),
         false);
  kernel(
      "runtime.kernels.router",
      first({"moe_config.use_fused_ops_topkrouter", "model.model_config.use_fused_ops_topkrouter"}),
      false);
  const auto above = [&](const char* key, const Setting* factor) {
    const bool positive =
        factor != nullptr && !factor->words.empty() &&
        (factor->words.front() == "True" || parse_number(factor->words.front()).value_or(0) > 0);
    if (positive) draft.set_where_used(key, "true", {factor});
  };
  above("moe.router.aux_loss",
        first({"moe_config.aux_loss_factor", "moe_config.aux_loss_factors",
               "moe_config.use_moe_auxloss", "model.model_config.aux_loss_factor",
               "model.model_config.moe_aux_loss_coeff"}));
  above("moe.router.z_loss", first({"moe_config.z_loss_factor"}));
  above("model.moe.correction_bias",
        first({"moe_config.expert_bias", "model.model_config.moe_router_enable_expert_bias"}));
  const Setting* type =
      first({"moe_config.router_dense_type", "model.model_config.router_dense_type",
             "model.model_config.moe_router_dtype"});
  if (type != nullptr && r.args.text(type->name).find("32") != std::string::npos)
    draft.set_where_used("moe.router.precision", "fp32", {type});
  const Setting* score = first({"moe_config.use_gating_sigmoid", "model.model_config.scoring_func",
                                "model.model_config.moe_router_score_function"});
  if (score != nullptr && (r.args.on(score->name) || r.args.text(score->name) == "sigmoid"))
    draft.set_where_used("moe.router.score", "sigmoid", {score});
}

}  // namespace

std::optional<std::int64_t> import_mindformers(const std::string& path, const std::string& text,
                                               const ImportOptions& options, Draft& draft) {
  const Node root = parse_foreign_document(text, path);
  if (const Node* mode = root.find("run_mode"); mode != nullptr && mode->text == "predict")
    refuse_input(mode->place, "run_mode", "is predict: no training step is in it");
  const std::vector<Setting> settings =
      checked_settings(Framework::mindformers, root, options, draft);
  Arguments args{settings, draft.wrong()};
  const auto size = [&](const char* name) {
    return args.count_in(std::string("parallel_config.") + name, 1, 1, 1 << 20);
  };
  Recipe recipe{args, draft, settings};
  recipe.legacy = args.find("use_legacy") == nullptr || args.on("use_legacy");
  const std::string kind =
      args.text("model.model_config.type") + args.text("model.model_config.model_type");
  recipe.gpt2 = kind.find("GPT2") != std::string::npos || kind == "gpt2";
  if (kind.find("deepseek_v3") != std::string::npos || kind.find("DeepseekV3") != std::string::npos)
    recipe.known = &deepseek_v3;
  recipe.dp = size("data_parallel");
  recipe.tp = size("model_parallel");
  recipe.pp = size("pipeline_stage");
  recipe.cp = size("context_parallel");
  recipe.ep = size("expert_parallel");
  recipe.pieces = args.count_in(recipe.pp > 1 ? "parallel_config.micro_batch_num"
                                              : "runner_config.gradient_accumulation_steps",
                                1, 1, 1 << 20);
  const bool interleaved = args.on("parallel.pipeline_config.pipeline_interleave");
  if (interleaved && recipe.pp > 1)
    recipe.vpp = args.count_in("model.model_config.pp_interleave_num", 1, 1, 1024);
  const std::int64_t shipped = recipe.dp * recipe.tp * recipe.pp * recipe.cp;
  if (options.devices && *options.devices % (recipe.tp * recipe.pp * recipe.cp) == 0)
    recipe.dp = std::max<std::int64_t>(*options.devices / (recipe.tp * recipe.pp * recipe.cp), 1);
  import_sizes(recipe);
  import_schedule(recipe);
  import_batch(recipe);
  import_model(recipe);
  import_cut(recipe);
  import_recompute(recipe);
  import_runtime(recipe);
  import_adapters(recipe);
  import_small(recipe);
  return options.devices ? options.devices : shipped;
}

}  // namespace stepcast::launch
