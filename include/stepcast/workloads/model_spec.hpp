#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/document.hpp"

namespace stepcast {

/// Grouped-query attention; with kv_heads == heads it is multi-head attention.
struct GroupedQueryAttention {
  std::int64_t heads = 1, kv_heads = 1, head_dim = 128;
  std::optional<std::int64_t> window;  ///< tokens that a query sees, itself among them
  std::int64_t full_every = 0;         ///< every n-th layer sees all tokens; 0: none does
  bool output_gate = false;            ///< a gate as wide as the queries, on the output of the core
};
/// Multi-head latent attention (DeepSeek); q_lora_rank 0 projects q directly. With index
/// heads a query sees the tokens alone that an indexer chooses (DeepSeek sparse attention).
struct LatentAttention {
  std::int64_t heads = 1, q_lora_rank = 0, kv_lora_rank = 512, nope_dim = 128, rope_dim = 64,
               v_dim = 128;
  std::int64_t index_heads = 0, index_dim = 128;  ///< of the indexer; no heads: no indexer
  std::int64_t index_top_k = 2048;                ///< tokens that it chooses for a query

  bool sparse() const { return index_heads > 0; }
};
using AttentionSpec = std::variant<GroupedQueryAttention, LatentAttention>;

/// Attention without a softmax, whose heads keep a state of key_dim x value_dim instead of
/// all earlier tokens: docs/models/linear_attention.md.
struct LinearAttention {
  /// A gated delta net decays its state and replaces what a key has written before; lightning
  /// attention decays it and adds.
  enum class Kind { gated_delta, lightning };
  Kind kind = Kind::gated_delta;
  std::int64_t key_heads = 1, value_heads = 1, key_dim = 128, value_dim = 128;
  std::int64_t convolution = 4;  ///< tokens that a short convolution sees; 0: there is none
  std::int64_t chunk = 64;       ///< tokens that a kernel takes at once
  std::int64_t full_every = 0;   ///< every n-th layer has `attention` instead; 0: none has
};

/// Feed-forward of dense layers; experts have its kind and a width of their own.
struct FeedForwardSpec {
  enum class Kind { swiglu, gelu };
  Kind kind = Kind::swiglu;
  std::int64_t hidden = 0;
};

/// Which layers have experts, how many, and how a token chooses among them. Widths in elements.
struct ExpertSpec {
  std::int64_t first_dense = 0;  ///< layers before the first MoE layer
  std::int64_t period = 1;       ///< every period-th layer after them is an MoE layer
  std::int64_t experts = 1, top_k = 1, expert_hidden = 0;
  std::int64_t shared_experts = 0, shared_hidden = 0;  ///< shared_hidden is per shared expert
  std::int64_t groups = 1, top_groups = 1;             ///< node-limited routing
  bool correction_bias = false;  ///< one bias per expert in the router (aux-loss-free balancing)
  bool shared_gate = false;      ///< a gate of one column on the output of the shared experts
};

/// A transformer as its architecture, without batch, plan or precision. Widths in elements.
struct ModelSpec {
  enum class Norm { rms, layer, sandwich };
  enum class Position { rope, learned, none };
  enum class Bias { none, qkv, all };
  enum class QkNorm { none, head, full };
  /// Whether the feed-forward part of a layer reads what attention has added (serial), or the input
  /// of the layer: behind the norm that attention reads (parallel), or behind one of its own.
  enum class Block { serial, parallel, parallel_norms };
  std::string name;
  std::int64_t layers = 0, hidden = 0;
  AttentionSpec attention;
  std::optional<LinearAttention> linear;  ///< of the layers that is_linear names
  FeedForwardSpec ffn;
  std::optional<ExpertSpec> moe;
  std::int64_t mtp_layers = 0;
  std::int64_t vocabulary = 0;
  bool tied_embeddings = false;
  Norm norm = Norm::rms;
  Position position = Position::rope;
  std::int64_t positions = 0;  ///< of learned(n)
  Bias bias = Bias::none;
  QkNorm qk_norm = QkNorm::none;  ///< of grouped queries; latent attention has norms of its own
  Block block = Block::serial;    ///< others than serial have grouped queries and no experts

  /// Of the attention of a layer: tokens that a query sees; 0: all before it. MTP modules see all.
  std::int64_t window_of(std::int64_t layer) const {
    const auto* a = std::get_if<GroupedQueryAttention>(&attention);
    if (a == nullptr || !a->window) return 0;
    return a->full_every > 0 && (layer + 1) % a->full_every == 0 ? 0 : *a->window;
  }
  bool has_windows() const {
    const auto* a = std::get_if<GroupedQueryAttention>(&attention);
    return a != nullptr && a->window.has_value();
  }
  /// Whether the layer has linear attention. MTP modules have `attention`.
  bool is_linear(std::int64_t layer) const {
    return linear && (linear->full_every == 0 || (layer + 1) % linear->full_every != 0);
  }
  /// Whether an indexer chooses what a query sees.
  bool has_indexer() const {
    const auto* a = std::get_if<LatentAttention>(&attention);
    return a != nullptr && a->sparse();
  }
  /// Norms before the parts of a layer, of which each has weights and an output.
  int norms_before() const { return block == Block::parallel ? 1 : 2; }
  bool is_moe_layer(std::int64_t layer) const {
    return moe && layer >= moe->first_dense && (layer - moe->first_dense) % moe->period == 0;
  }
};

/// The keys of a model file.
void describe(Visitor& visitor, ModelSpec& spec);

/// Reads a Hugging Face config.json into a model. docs/formats/huggingface.md has the families
/// and the mapping; `as` is the family to read it by, empty: its own model_type. Throws InputError:
/// missing file, bad JSON, a model_type that is unknown or has what a model lacks, missing or
/// impossible dimensions.
ModelSpec read_hugging_face(const std::filesystem::path& path, const std::string& as = {});

/// Counts of parameters; a test holds them to the table of docs/models/parameters.md.
struct ParameterCount {
  double embedding = 0, head = 0, positions = 0, final_norm = 0;
  double attention_per_layer = 0, dense_ffn_per_layer = 0, moe_ffn_per_layer = 0,
         norms_per_layer = 0;
  double linear_attention_per_layer = 0;  ///< of layers that have it; 0: none has
  double mtp = 0;                         ///< all MTP modules; embedding and head are shared
  double total_without_mtp = 0, total = 0;
  double active = 0;  ///< per token, embedding and head included, without MTP
};
ParameterCount count_parameters(const ModelSpec& model);

/// The model FLOPs of training one token at `sequence`: 3 x forward, causal attention
/// counted half, linear attention as its recurrence, an indexer as it is trained
/// (docs/models/linear_attention.md, sparse_attention.md) [FLOP]. `with_mtp` adds the MTP modules
/// with their head.
double training_flops_per_token(const ModelSpec& model, std::int64_t sequence, bool with_mtp);

}  // namespace stepcast
