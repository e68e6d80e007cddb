#include "mindformers.hpp"

// Dimensions of the model: names of several releases, and those of moe_config.
namespace stepcast::launch {
namespace {

void import_attention(Recipe& r, std::int64_t hidden) {
  const std::int64_t heads = r.needed({"num_heads", "num_attention_heads", "n_head"});
  r.set("model.attention.heads", heads, {"num_heads", "num_attention_heads", "n_head"});
  // A rank of latents is what tells latent attention from grouped queries.
  if (const auto rank = r.count({"kv_lora_rank"})) {
    r.draft.set("model.attention.kind", "mla", {r.field({"kv_lora_rank"})});
    r.set("model.attention.q_lora_rank", r.count({"q_lora_rank"}).value_or(0), {"q_lora_rank"});
    r.set("model.attention.kv_lora_rank", *rank, {"kv_lora_rank"});
    r.set("model.attention.nope_dim", r.needed({"qk_nope_head_dim"}), {"qk_nope_head_dim"});
    r.set("model.attention.rope_dim", r.needed({"qk_rope_head_dim"}), {"qk_rope_head_dim"});
    r.set("model.attention.v_dim", r.needed({"v_head_dim"}), {"v_head_dim"});
    return;
  }
  r.draft.set("model.attention.kind", "gqa", {});
  r.set("model.attention.kv_heads",
        r.count({"n_kv_heads", "num_key_value_heads", "multi_query_group_num"}).value_or(heads),
        {"n_kv_heads", "num_key_value_heads", "multi_query_group_num"});
  if (const auto width = r.count({"head_dim", "kv_channels"}))
    r.set("model.attention.head_dim", *width, {"head_dim", "kv_channels"});
  else if (heads > 0 && hidden % heads == 0)
    r.draft.set("model.attention.head_dim", hidden / heads, {}, "hidden / heads");
  if (const Setting* norm = r.field({"use_qk_norm", "qk_layernorm"});
      norm != nullptr && r.args.on(norm->name))
    r.draft.set("model.qk_norm", "head", {norm});
}

void import_feed_forward(Recipe& r, std::int64_t hidden) {
  r.draft.set("model.ffn.kind", r.gpt2 ? "gelu" : "swiglu", {r.field({"type", "model_type"})});
  if (const auto width = r.count({"intermediate_size", "ffn_hidden_size"}))
    return r.set("model.ffn.hidden", *width, {"intermediate_size", "ffn_hidden_size"});
  // GPT-2's feed-forward is four times as wide, Llama's is rounded up from 8/3.
  if (r.gpt2) return r.draft.set("model.ffn.hidden", 4 * hidden, {}, "4 x hidden");
  const Setting* factor = r.field({"ffn_dim_multiplier"});
  const double times =
      factor == nullptr ? 1 : r.args.number(factor->name).value_or(1) + 0.01;  // llama.py adds it
  const Setting* multiple = r.field({"multiple_of"});
  const std::int64_t of =
      multiple == nullptr ? 256 : r.args.count_in(multiple->name, 256, 1, most_counted);
  r.draft.set("model.ffn.hidden", llama_width(hidden, times, of), {factor, multiple});
}

/// Experts of static sizes compute their capacity, and tensor ranks that hold the same tokens
/// exchange all rows of these unless told otherwise.
void import_static_sizes(Recipe& r, bool deduplicates) {
  Draft& draft = r.draft;
  const Setting* capacity = r.args.find("moe_config.capacity_factor");
  draft.set("moe.capacity_factor",
            capacity == nullptr ? std::string("1.1") : capacity->words.front(), {capacity});
  if (deduplicates) return;
  draft.set("moe.capacity_pad", true, {r.args.find("moe_config.use_gmm")});
  if (r.tp == 1 || r.ep == 1) return;
  const Setting* parts = r.args.find("moe_config.group_wise_a2a");
  const Setting* sequence = r.args.find("parallel_config.use_seq_parallel");
  const bool own = sequence != nullptr && r.args.on(sequence->name);
  const bool cut = parts != nullptr && r.args.on(parts->name);
  // Without the switch it is the version's to say.
  if (cut)
    draft.set("moe.group_wise_a2a", true, {parts});
  else
    draft.set("moe.group_wise_a2a", own, {},
              own ? "with use_seq_parallel, in newer versions" : "no group_wise_a2a");
}

/// How experts are reached, and how many tokens they take.
void import_exchange(Recipe& r) {
  Draft& draft = r.draft;
  const auto moe = [&](const char* name) { return r.args.find(std::string("moe_config.") + name); };
  const Setting* dispatcher = r.field({"moe_token_dispatcher_type"});
  const bool once =
      r.args.on("moe_config.enable_deredundency") ||
      (dispatcher != nullptr && r.args.text(dispatcher->name) == "alltoall_deredundency");
  if (r.ep > 1)
    draft.set("moe.dispatch", once ? "two_hop_dedup" : "flat",
              {dispatcher, moe("enable_deredundency")});
  if (r.args.on("moe_config.comp_comm_parallel") && r.ep > 1)
    draft.set("moe.overlap",
              "chunks(" +
                  std::to_string(r.args.count_or("moe_config.comp_comm_parallel_degree", 2)) + ")",
              {moe("comp_comm_parallel"), moe("comp_comm_parallel_degree")});
  const Setting* capacity = moe("capacity_factor");
  const double factor = capacity == nullptr ? 1.1 : r.args.number(capacity->name).value_or(0);
  if (r.legacy && !r.args.on("moe_config.use_gmm") && factor > 0)
    import_static_sizes(r, once);
  else if (const Setting* grouped = moe("use_gmm"); r.legacy && grouped != nullptr)
    draft.set("moe.capacity_factor", "none", {grouped});
  draft.set("moe.experts", "grouped", {});
}

/// From moe_config, or from the model where a new core has it there.
void import_experts(Recipe& r) {
  // moe_config is the older place and wins where both are there.
  const auto either =
      [&](const char* moe,
          std::initializer_list<std::string_view> fields) -> std::optional<std::int64_t> {
    if (const auto value = r.args.count(std::string("moe_config.") + moe)) return value;
    return r.count(fields);
  };
  const std::int64_t experts =
      either("expert_num", {"n_routed_experts", "num_experts"}).value_or(1);
  if (experts <= 1) return;
  Draft& draft = r.draft;
  const auto moe = [&](const char* name) { return r.args.find(std::string("moe_config.") + name); };
  draft.set("model.moe.experts", experts,
            {moe("expert_num"), r.field({"n_routed_experts", "num_experts"})});
  draft.set("model.moe.top_k", either("num_experts_chosen", {"num_experts_per_tok"}).value_or(1),
            {moe("num_experts_chosen"), r.field({"num_experts_per_tok"})});
  // Experts without a width of their own are as wide as the dense layers.
  const std::int64_t width = either("moe_intermediate_size", {"moe_intermediate_size"})
                                 .value_or(r.needed({"intermediate_size", "ffn_hidden_size"}));
  draft.set("model.moe.expert_hidden", width,
            {moe("moe_intermediate_size"), r.field({"moe_intermediate_size"})});
  const std::int64_t shared = either("shared_expert_num", {"n_shared_experts"}).value_or(0);
  draft.set("model.moe.shared_experts", shared,
            {moe("shared_expert_num"), r.field({"n_shared_experts"})});
  if (shared > 0) draft.set("model.moe.shared_hidden", width, {}, "each as a routed expert");
  draft.set("model.moe.first_dense",
            either("first_k_dense_replace", {"first_k_dense_replace"}).value_or(0),
            {moe("first_k_dense_replace"), r.field({"first_k_dense_replace"})});
  if (const auto groups = either("n_group", {"n_group"}))
    draft.set("model.moe.groups", *groups, {moe("n_group"), r.field({"n_group"})});
  if (const auto groups = either("topk_group", {"topk_group"}))
    draft.set("model.moe.top_groups", *groups, {moe("topk_group"), r.field({"topk_group"})});
  if (r.args.on("moe_config.balance_via_topk_bias"))
    draft.set("model.moe.correction_bias", true, {moe("balance_via_topk_bias")});
  draft.set("parallel.ep", r.ep, {r.args.find("parallel_config.expert_parallel")});
  draft.set("parallel.etp", r.legacy ? r.tp : 1, {r.args.find("use_legacy")},
            "experts cut as the dense layers: use_legacy");
  import_exchange(r);
}

}  // namespace

void import_model(Recipe& r) {
  Draft& draft = r.draft;
  const std::int64_t hidden = r.needed({"hidden_size"});
  r.layers = r.needed({"num_layers", "num_hidden_layers", "n_layer"});
  constexpr std::int64_t most_layers = 100000;
  // A number that no machine could build is refused before vectors of that size are made.
  if (r.layers > most_layers) {
    r.args.fail(
        *r.field({"num_layers", "num_hidden_layers", "n_layer"}),
        "is " + std::to_string(r.layers) + ", allowed: 1 to " + std::to_string(most_layers));
    r.layers = 1;
  }
  r.mtp = r.count({"mtp_depth", "num_nextn_predict_layers"}).value_or(0);
  r.set("model.layers", r.layers, {"num_layers", "num_hidden_layers", "n_layer"});
  r.set("model.hidden", hidden, {"hidden_size"});
  import_attention(r, hidden);
  import_feed_forward(r, hidden);
  // A vocabulary from --set needs no field of the recipe.
  if (!draft.given("model.vocabulary"))
    r.set("model.vocabulary", r.needed({"vocab_size", "padded_vocab_size"}),
          {"vocab_size", "padded_vocab_size"});
  if (r.mtp > 0) r.set("model.mtp_layers", r.mtp, {"mtp_depth", "num_nextn_predict_layers"});
  const Setting* kind = r.field({"type", "model_type"});
  const Setting* bias = r.field({"qkv_has_bias", "attention_bias", "add_qkv_bias"});
  const Setting* tied = r.field({"tie_word_embeddings"});
  const Setting* sandwich = r.field({"sandwich_norm"});
  draft.set("model.norm",
            r.gpt2                                             ? "layer"
            : sandwich != nullptr && r.args.on(sandwich->name) ? "sandwich"
                                                               : "rms",
            {sandwich, kind});
  draft.set("model.bias",
            r.gpt2                                     ? "all"
            : bias != nullptr && r.args.on(bias->name) ? "qkv"
                                                       : "none",
            {bias, kind});
  const Setting* untied = r.field({"untie_embeddings_and_output_weights"});
  const bool said =
      tied != nullptr ? r.args.on(tied->name) : untied != nullptr && !r.args.on(untied->name);
  draft.set("model.tied_embeddings", r.gpt2 || said, {tied != nullptr ? tied : untied, kind});
  const std::int64_t positions = r.count({"max_position_embeddings", "max_position_embedding"})
                                     .value_or(r.count({"seq_length"}).value_or(1));
  draft.set("model.position",
            r.gpt2 ? "learned(" + std::to_string(positions) + ")" : std::string("rope"), {kind});
  import_experts(r);
}

}  // namespace stepcast::launch
