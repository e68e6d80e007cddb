#include "stepcast/workloads/model_spec.hpp"

#include "stepcast/base/format_version.hpp"

namespace stepcast {
namespace {

constexpr Range layer_count = between(0, 100000);
constexpr Range width = between(1, 1 << 24);
constexpr Range heads = between(1, 65536);

/// What the spec holds of this kind, or its defaults where it held another.
template <class Attention>
Attention& as(AttentionSpec& spec) {
  if (auto* held = std::get_if<Attention>(&spec)) return *held;
  return spec.emplace<Attention>();
}

void describe(Visitor& visitor, GroupedQueryAttention& spec) {
  visitor.field({"heads", &spec.heads, "query heads", heads, true});
  visitor.field({"kv_heads", &spec.kv_heads, "key and value heads", heads, true});
  visitor.field({"head_dim", &spec.head_dim, "width of one head", width, true});
  // Full layers beside windowed ones follow a period, which is how published models mix them.
  visitor.field({"window", OptionalCount{&spec.window, "none"},
                 "tokens that a query sees, itself and those right before it; none: all before it",
                 between(1, 1 << 30)});
  visitor.field({"full_every", &spec.full_every,
                 "beside a window, every n-th layer sees all tokens; 0: none does",
                 between(0, 100000)});
  visitor.field({"output_gate", &spec.output_gate,
                 "a gate as wide as the queries, on the output of the core"});
}

void describe(Visitor& visitor, LatentAttention& spec) {
  visitor.field({"heads", &spec.heads, "query heads", heads, true});
  visitor.field(
      {"q_lora_rank", &spec.q_lora_rank, "0: queries are projected directly", between(0, 1 << 24)});
  visitor.field(
      {"kv_lora_rank", &spec.kv_lora_rank, "width of the compressed keys and values", width, true});
  visitor.field({"nope_dim", &spec.nope_dim, "width of a head without position", width, true});
  visitor.field({"rope_dim", &spec.rope_dim, "width of a head with position", width, true});
  visitor.field({"v_dim", &spec.v_dim, "width of a value head", width, true});
  // An indexer makes the attention sparse: without its heads nothing reads the two keys behind it.
  visitor.field({"index_heads", &spec.index_heads,
                 "heads of an indexer that chooses what a query sees; 0: it sees all before it",
                 between(0, 65536)});
  visitor.field({"index_dim", &spec.index_dim, "width of a head of the indexer", width});
  visitor.field({"index_top_k", &spec.index_top_k, "tokens that the indexer chooses for a query",
                 between(1, 1 << 30)});
}

void describe(Visitor& visitor, AttentionSpec& spec) {
  std::size_t kind = spec.index();
  visitor.alternatives("kind", "gqa: grouped queries; mla: multi-head latent attention", kind,
                       {{"gqa", [&](Visitor& v) { describe(v, as<GroupedQueryAttention>(spec)); }},
                        {"mla", [&](Visitor& v) { describe(v, as<LatentAttention>(spec)); }}});
}

void describe_state_heads(Visitor& visitor, LinearAttention& spec) {
  visitor.field({"key_heads", &spec.key_heads, "heads of queries and keys", heads, true});
  visitor.field(
      {"value_heads", &spec.value_heads, "heads of values, each with a state", heads, true});
  visitor.field({"key_dim", &spec.key_dim, "width of a query or key", width, true});
  visitor.field({"value_dim", &spec.value_dim, "width of a value", width, true});
  visitor.field({"convolution", &spec.convolution,
                 "tokens that the convolution on queries, keys and values sees; 0: no convolution",
                 between(0, 64)});
  visitor.field({"chunk", &spec.chunk, "tokens that its kernels take at once", between(1, 65536)});
}

/// Heads and widths of keys are those of values, and there is no convolution.
void describe_lightning(Visitor& visitor, LinearAttention& spec) {
  visitor.field({"heads", &spec.value_heads, "heads, each with a state", heads, true});
  visitor.field({"head_dim", &spec.value_dim, "width of one head", width, true});
  visitor.field(
      {"chunk", &spec.chunk, "tokens that its kernels take at once", between(1, 65536), true});
  spec.key_heads = spec.value_heads;
  spec.key_dim = spec.value_dim;
  spec.convolution = 0;
}

void describe(Visitor& visitor, LinearAttention& spec) {
  // Kinds share two keys and differ in the rest, so that each names its own beside `kind`.
  using Kind = LinearAttention::Kind;
  auto kind = static_cast<std::size_t>(spec.kind);
  const auto of = [&](Kind which, void (*keys)(Visitor&, LinearAttention&)) {
    return [&spec, which, keys](Visitor& v) {
      spec.kind = which;
      keys(v, spec);
    };
  };
  visitor.alternatives(
      "kind", "gated_delta: gated delta nets; lightning: lightning attention with a gate", kind,
      {{"gated_delta", of(Kind::gated_delta, describe_state_heads)},
       {"lightning", of(Kind::lightning, describe_lightning)}});
  visitor.field({"full_every", &spec.full_every,
                 "every n-th layer has attention instead; 0: none has", between(0, 100000)});
}

void describe(Visitor& visitor, ExpertSpec& spec) {
  constexpr Range experts = between(1, 65536);
  visitor.field(
      {"first_dense", &spec.first_dense, "layers before the first MoE layer", layer_count});
  visitor.field({"period", &spec.period, "every period-th layer after them is an MoE layer",
                 between(1, 100000)});
  visitor.field({"experts", &spec.experts, "routed experts of one layer", experts, true});
  visitor.field({"top_k", &spec.top_k, "routed experts of one token", experts, true});
  visitor.field({"expert_hidden", &spec.expert_hidden, "hidden width of one expert", width, true});
  visitor.field({"shared_experts", &spec.shared_experts, "experts that every token visits",
                 between(0, 65536)});
  visitor.field({"shared_hidden", &spec.shared_hidden, "hidden width of one shared expert",
                 between(0, 1 << 24)});
  visitor.field({"groups", &spec.groups, "groups of experts of node-limited routing", experts});
  visitor.field({"top_groups", &spec.top_groups, "groups that one token may visit", experts});
  visitor.field({"correction_bias", &spec.correction_bias,
                 "one bias per expert in the router (balancing without auxiliary loss)"});
  visitor.field({"shared_gate", &spec.shared_gate,
                 "a gate of one column on the output of the shared experts"});
}

}  // namespace

void describe(Visitor& visitor, ModelSpec& spec) {
  using Kind = FeedForwardSpec::Kind;
  describe_format_version(visitor);
  visitor.field({"name", Identifier{&spec.name}, "name of the model"});
  visitor.field({"layers", &spec.layers, "transformer layers", between(1, 100000), true});
  visitor.field({"hidden", &spec.hidden, "hidden width", width, true});
  visitor.section("attention", "attention of every layer that has no linear one",
                  [&](Visitor& v) { describe(v, spec.attention); });
  const auto described = [](Visitor& v, auto& part) { describe(v, part); };
  // A model without the section has no such layers at all.
  optional_part(visitor, "linear_attention", "attention without a softmax", spec.linear, described);
  visitor.section("ffn", "feed-forward of the dense layers", [&](Visitor& v) {
    v.field({"kind", choice<Kind>(spec.ffn.kind, {{"swiglu"}, {"gelu"}}),
             "swiglu: three matrices; gelu: two; also of the experts"});
    v.field({"hidden", &spec.ffn.hidden, "hidden width of a dense layer", between(0, 1 << 24)});
  });
  optional_part(visitor, "moe", "mixture of experts", spec.moe, described);
  visitor.field(
      {"mtp_layers", &spec.mtp_layers, "modules that predict further tokens", between(0, 64)});
  visitor.field(
      {"vocabulary", &spec.vocabulary, "tokens of the vocabulary", between(1, 1 << 28), true});
  visitor.field(
      {"tied_embeddings", &spec.tied_embeddings, "the head shares the embedding's matrix"});
  visitor.field({"norm", choice(spec.norm, {{"rms"}, {"layer"}, {"sandwich"}}),
                 "sandwich: RMS norms before and after each block"});
  Choice position = choice(spec.position, {{"rope"}, {"learned", true, true}, {"none"}});
  position.number = &spec.positions;
  visitor.field({"position", position, "learned(n): a table of n positions", between(1, 1e9)});
  visitor.field(
      {"bias", choice(spec.bias, {{"none"}, {"qkv"}, {"all"}}), "which projections have one"});
  visitor.field({"qk_norm", choice(spec.qk_norm, {{"none"}, {"head"}, {"full"}}),
                 "RMS norms on queries and keys: of each head alone, or over all heads together"});
  visitor.field(
      {"block", choice(spec.block, {{"serial"}, {"parallel"}, {"parallel_norms"}}),
       "what the feed-forward part reads; serial: what attention has added; parallel: the "
       "norm that attention reads, so that a layer has one norm and one sum; "
       "parallel_norms: the layer's input behind a norm of its own"});
}

}  // namespace stepcast
