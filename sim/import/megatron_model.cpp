#include "megatron.hpp"

// Dimensions of the model: GPT-2's defaults where a flag is absent.
namespace stepcast::launch {
namespace {

constexpr std::int64_t gated_multiple = 64;
constexpr std::int64_t vocabulary_multiple = 128;

/// --window-size has the tokens before and behind the query's own; MindSpeed's flag counts it too,
/// and leaves every second layer without a window.
void import_window(MegatronLaunch& launch) {
  Draft& draft = launch.draft;
  if (const Setting* alternate = launch.flag("--interleave-sliding-window")) {
    draft.set("model.attention.window", launch.args.count_or("--interleave-sliding-window", 1),
              {alternate});
    return draft.set("model.attention.full_every", std::int64_t{2}, {alternate});
  }
  if (const Setting* all = launch.flag("--sliding-window"))
    return draft.set("model.attention.window", launch.args.count_or(all->name, 1), {all});
  const Setting* size = launch.flag("--window-size");
  const Setting* every = launch.flag("--window-attn-skip-freq");
  if (size == nullptr && every != nullptr) draft.note(*every, "counts only with --window-size");
  if (size == nullptr || draft.given("model.attention.window")) return;
  const std::vector<std::int64_t> sides = launch.args.counts("--window-size");
  if (sides.size() != 2 || sides[0] < 0 || sides[1] != 0)
    return launch.args.fail(*size,
                            "is not n,0, which no value of model.attention.window says, allowed: n "
                            "tokens before the query's own, and 0");
  draft.set("model.attention.window", sides[0] + 1, {size});
  if (every != nullptr) {
    const auto count = launch.args.count("--window-attn-skip-freq");
    if (count) draft.set("model.attention.full_every", *count, {every});
  }
}

void import_grouped(MegatronLaunch& launch, std::int64_t heads, std::int64_t hidden) {
  const Setting* grouped = launch.flag("--group-query-attention");
  const Setting* groups = launch.flag("--num-query-groups");
  launch.draft.set("model.attention.kind", "gqa", {}, "no latent attention");
  launch.draft.set("model.attention.heads", heads, {launch.flag("--num-attention-heads")});
  // Numbers of groups count only with the flag, as in Megatron-LM's arguments.py.
  if (grouped != nullptr) {
    launch.draft.set("model.attention.kv_heads", launch.args.count_or("--num-query-groups", 1),
                     {grouped, groups});
  } else {
    if (groups != nullptr)
      launch.draft.note(
          *groups,
          "counts only with --group-query-attention: every head has its own keys and values");
    launch.draft.set("model.attention.kv_heads", heads, {}, "no --group-query-attention");
  }
  if (const Setting* channels = launch.flag("--kv-channels")) {
    launch.draft.set("model.attention.head_dim", launch.args.count_or("--kv-channels", 1),
                     {channels});
  } else if (heads > 0 && hidden % heads == 0) {
    launch.draft.set("model.attention.head_dim", hidden / heads, {}, "hidden / heads");
  } else {
    launch.args.fail("--kv-channels",
                     "is missing, and the hidden size is no multiple of the heads");
  }
  // Flags of latent attention are written into many scripts and do nothing here: noted, not
  // refused.
  for (const std::string_view idle :
       {"--q-lora-rank", "--kv-lora-rank", "--v-head-dim", "--qk-head-dim", "--qk-pos-emb-head-dim",
        "--qk-nope-head-dim", "--qk-rope-head-dim"})
    if (const Setting* given = launch.flag(idle))
      launch.draft.note(*given, "counts only with --multi-latent-attention");
  import_window(launch);
  if (const Setting* norm = launch.flag("--qk-layernorm");
      norm != nullptr && launch.args.on("--qk-layernorm"))
    launch.draft.set("model.qk_norm", "head", {norm});
  if (const Setting* gate = launch.flag("--attention-output-gate"))
    launch.draft.set("model.attention.output_gate", true, {gate});
}

void import_latent(MegatronLaunch& launch, const Setting* kind, std::int64_t heads) {
  Draft& draft = launch.draft;
  // Missing ones have the defaults of Megatron-LM's MLATransformerConfig.
  const auto dimension = [&](const char* key, std::initializer_list<std::string_view> names,
                             std::int64_t missing) {
    const Setting* found = launch.args.find(names);
    const std::int64_t value =
        found == nullptr ? missing : launch.args.count_or(found->name, missing);
    draft.set(key, value, {found});
  };
  draft.set("model.attention.kind", "mla", {kind});
  draft.set("model.attention.heads", heads, {launch.flag("--num-attention-heads")});
  dimension("model.attention.q_lora_rank", {"--q-lora-rank"}, 0);
  dimension("model.attention.kv_lora_rank", {"--kv-lora-rank"}, 32);
  dimension("model.attention.nope_dim", {"--qk-nope-head-dim", "--qk-head-dim"}, 128);
  dimension("model.attention.rope_dim", {"--qk-rope-head-dim", "--qk-pos-emb-head-dim"}, 64);
  dimension("model.attention.v_dim", {"--v-head-dim"}, 128);
  if (const Setting* gate = launch.flag("--attention-output-gate"))
    launch.args.fail(*gate, "gates grouped queries, allowed: without --multi-latent-attention");
}

bool gated(const MegatronLaunch& launch) {
  return launch.args.on("--swiglu") || launch.args.on("--quick-geglu") ||
         launch.args.on("--geglu") || launch.args.on("--gelu-tanh");
}

void import_feed_forward(MegatronLaunch& launch, std::int64_t hidden) {
  const Setting* kind = launch.args.find(
      {"--swiglu", "--quick-geglu", "--geglu", "--squared-relu", "--openai-gelu", "--gelu-tanh"});
  launch.draft.set("model.ffn.kind", gated(launch) ? "swiglu" : "gelu", {kind});
  if (const Setting* width = launch.flag("--ffn-hidden-size"))
    return launch.draft.set("model.ffn.hidden", launch.args.count_or("--ffn-hidden-size", 1),
                            {width});
  // Only SwiGLU is narrowed to 8/3, by arguments.py.
  const bool narrow = launch.args.on("--swiglu");  // other gates are as wide as GELU
  const std::int64_t derived =
      narrow ? 8 * hidden / 3 / gated_multiple * gated_multiple : 4 * hidden;
  launch.draft.set("model.ffn.hidden", derived, {},
                   narrow ? "8/3 of hidden, a multiple of 64" : "4 x hidden");
}

void import_vocabulary(MegatronLaunch& launch) {
  if (launch.draft.given("model.vocabulary")) return;
  // Padded sizes are taken as they are; others are padded as Megatron-LM's tokenizer does, to a
  // multiple that tensor ranks divide.
  if (const Setting* padded = launch.args.find({"--padded-vocab-size", "--pad-vocab-size-to"}))
    return launch.draft.set("model.vocabulary", launch.args.count_or(padded->name, 1), {padded});
  const Setting* size = launch.flag("--vocab-size");
  if (size == nullptr) {
    launch.draft.wrong({}, "model.vocabulary",
                       "is the tokenizer's, which the file does not say; give --set "
                       "model.vocabulary=N, padded as the framework does");
    return;
  }
  const std::int64_t part =
      launch.args.count_or("--make-vocab-size-divisible-by", vocabulary_multiple);
  if (part == 0)
    return launch.args.fail("--make-vocab-size-divisible-by", "is 0, allowed: from 1 up");
  const std::int64_t multiple = part * launch.tp;
  const std::int64_t tokens = launch.args.count_or("--vocab-size", 1);
  if (multiple < 1) return;
  launch.draft.set("model.vocabulary", (tokens + multiple - 1) / multiple * multiple,
                   {size, launch.flag("--make-vocab-size-divisible-by")},
                   "padded to a multiple of " + std::to_string(multiple));
}

void import_position(MegatronLaunch& launch) {
  const Setting* kind = launch.flag("--position-embedding-type");
  const Setting* rotary = launch.flag("--use-rotary-position-embeddings");
  const std::string type = launch.args.text("--position-embedding-type", "learned_absolute");
  if (rotary != nullptr || type == "rope" || type == "yarn" || type == "mrope")
    return launch.draft.set("model.position", "rope", {kind, rotary});
  const bool biased = type == "alibi" || type == "ALiBi";
  // Biases on scores cost a pass that is not modelled; without positions the sizes are right.
  if (biased)
    launch.draft.note(*kind, "is not modelled: a number for each distance, added to the scores");
  if (biased || type == "none") return launch.draft.set("model.position", "none", {kind});
  if (type != "learned_absolute")
    return launch.args.fail("--position-embedding-type",
                            "is '" + type +
                                "', which no value of model.position says, allowed: "
                                "learned_absolute, rope, yarn, mrope, alibi, none");
  // A table of positions is as long as the longest sequence that is allowed.
  const Setting* positions = launch.flag("--max-position-embeddings");
  const Setting* sequence = launch.args.find({"--seq-length", "--encoder-seq-length"});
  if (positions == nullptr && sequence == nullptr) return;
  const std::int64_t count =
      launch.args.count_or(positions != nullptr ? positions->name : sequence->name, 1);
  launch.draft.set("model.position", "learned(" + std::to_string(count) + ")", {kind, positions});
}

void import_choices(MegatronLaunch& launch) {
  Draft& draft = launch.draft;
  const std::string norm = launch.args.text("--normalization", "LayerNorm");
  if (norm != "LayerNorm" && norm != "RMSNorm")
    launch.args.fail("--normalization", "is '" + norm + "', allowed: LayerNorm, RMSNorm");
  const Setting* behind = launch.flag("--post-norm");
  draft.set("model.norm",
            behind != nullptr   ? "sandwich"
            : norm == "RMSNorm" ? "rms"
                                : "layer",
            {launch.flag("--normalization"), behind});
  const Setting* no_bias = launch.flag("--disable-bias-linear");
  const Setting* qkv = launch.flag("--add-qkv-bias");
  const Setting* dense = launch.flag("--add-dense-bias");
  // Megatron-LM has biases unless switched off, and one switch brings those of dense layers back.
  const bool all = dense != nullptr || no_bias == nullptr;
  draft.set("model.bias", all ? "all" : qkv != nullptr ? "qkv" : "none", {no_bias, qkv, dense});
  const Setting* untied = launch.flag("--untie-embeddings-and-output-weights");
  draft.set("model.tied_embeddings", untied == nullptr, {untied});
  import_position(launch);
}

}  // namespace

// Attention before variants, which change it, and the vocabulary behind the plan, whose tensor
// ranks it is padded for.
void import_model(MegatronLaunch& launch) {
  Draft& draft = launch.draft;
  const Setting* hidden_flag = launch.flag("--hidden-size");
  const std::int64_t hidden = launch.args.count_in("--hidden-size", 0, 1, most_counted);
  const std::int64_t heads = launch.args.count_in("--num-attention-heads", 0, 1, most_counted);
  draft.set(
      "model.layers", launch.model_layers(),
      {launch.args.find({"--num-layers", "--encoder-num-layers"}), launch.flag("--noop-layers")});
  draft.set("model.hidden", hidden, {hidden_flag});
  const Setting* latent =
      launch.args.find({"--multi-latent-attention", "--multi-head-latent-attention"});
  launch.latent ? import_latent(launch, latent, heads) : import_grouped(launch, heads, hidden);
  import_variant(launch);
  import_feed_forward(launch, hidden);
  import_vocabulary(launch);
  import_choices(launch);
  if (const Setting* mtp = launch.args.find({"--mtp-num-layers", "--num-nextn-predict-layers"}))
    draft.set("model.mtp_layers", launch.args.count_or(mtp->name, 0), {mtp});
}

}  // namespace stepcast::launch
