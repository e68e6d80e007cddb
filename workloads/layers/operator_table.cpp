#include "stepcast/workloads/operator_table.hpp"

#include <algorithm>
#include <array>

#include "attention_cores.hpp"
#include "feed_forward.hpp"
#include "layers.hpp"
#include "norm.hpp"

namespace stepcast {
namespace {

using rows::Linear;
using KernelList = std::vector<Operator>;

/// An operand of FP8 has one byte for each two of BF16; the result stays in BF16.
Operator with_type(Operator op, double operands, const KernelShape& s) {
  if (s.type != ElementType::fp8) return op;
  // Rows of measurements are of the product alone: casts are kernels of their own.
  op.fp8 = Fp8::ready;
  op.bytes -= Bytes{(rows::element - 1) * operands};
  return op;
}

KernelList matmul(const KernelShape& s) {
  return {with_type(rows::forward(Linear{"matmul", s.m, s.k, s.n}), s.m * s.k + s.k * s.n, s)};
}

KernelList grouped_matmul(const KernelShape& s) {
  return {with_type(rows::grouped_forward(Linear{"grouped_matmul", s.m, s.k, s.n}, s.groups),
                    s.groups * (s.m * s.k + s.k * s.n), s)};
}

/// The core over whole sequences with as many heads of keys as of queries: four tensors once, for
/// the gradient twice, and one FP32 number of the softmax per head and token.
Operator attention(const KernelShape& s, bool backward) {
  const double tokens = s.batch * s.sequence;
  // A causal kernel skips what no query sees: half of the scores.
  const double scores = tokens * s.sequence * s.heads * (s.causal ? 0.5 : 1);
  const double flops = 4 * scores * s.head_size * (backward ? rows::attention_backward : 1);
  const double tensor = rows::element * tokens * s.heads * s.head_size;
  return {.name = backward ? "attention backward" : "attention",
          .work = AttentionWork{.sequences = s.batch,
                                .query_length = s.sequence,
                                .key_length = s.sequence,
                                .heads = s.heads,
                                .qk_dim = s.head_size,
                                .v_dim = s.head_size,
                                .causal = s.causal,
                                .backward = backward,
                                .generation = s.generation != nullptr ? s.generation->kernel
                                                                      : AttentionGeneration::fused},
          .flops = Flops{flops},
          .bytes = Bytes{(backward ? 2 : 1) * (4 * tensor + rows::fp32 * tokens * s.heads)},
          .launch = LaunchClass::matmul};
}

KernelList attention_forward(const KernelShape& s) { return {attention(s, false)}; }
KernelList attention_backward(const KernelShape& s) { return {attention(s, true)}; }
KernelList attention_both(const KernelShape& s) {
  return {attention(s, false), attention(s, true)};
}

/// The core of linear attention, with as many heads of keys as of values, of one size.
template <LinearAttention::Kind kind, bool backward>
KernelList core_of(const KernelShape& s) {
  // as its libraries cut sequences: docs/models/linear_attention.md
  constexpr std::int64_t chunk = kind == LinearAttention::Kind::lightning ? 256 : 64;
  const LinearAttention of{.kind = kind,
                           .key_dim = static_cast<std::int64_t>(s.head_size),
                           .value_dim = static_cast<std::int64_t>(s.head_size),
                           .chunk = chunk};
  const rows::StateHeads heads{s.batch, s.batch * s.sequence, s.heads};
  const LayerItems items =
      backward ? rows::linear_core_backward(heads, of) : rows::linear_core_forward(heads, of);
  KernelList kernels;
  for (const LayerItem& item : items) kernels.push_back(std::get<Operator>(item));
  return kernels;
}

rows::ChosenTokens chosen_of(const KernelShape& s) { return {s.batch, s.sequence, s.top_k}; }

template <bool backward>
KernelList chosen_core(const KernelShape& s) {
  return {rows::sparse_attention(chosen_of(s), s.heads, s.k, s.head_size, backward)};
}

KernelList scores_of_index(const KernelShape& s) {
  return {rows::index_scores({s.batch, s.sequence, s.sequence}, s.heads, s.head_size, false)};
}

KernelList choice_of_index(const KernelShape& s) { return {rows::index_top_k(chosen_of(s))}; }

template <ModelSpec::Norm norm, bool backward>
KernelList norm_kernel(const KernelShape& s) {
  // A model that has nothing but the norm asked for.
  ModelSpec model;
  model.norm = norm;
  const double count = s.m * s.n;
  return {backward ? rows::norm_backward(model, "norm", count)
                   : rows::norm_forward(model, "norm", count)};
}

/// The same by a kernel of another kind, that of an inference library.
Operator as_kind(Operator op, VectorKind kind, double row) {
  op.work = MemoryBoundWork{kind, row};
  return op;
}

KernelList block_norm(const KernelShape& s) {
  ModelSpec model;
  model.norm = ModelSpec::Norm::rms;
  return {as_kind(rows::norm_forward(model, "norm", s.m * s.n), VectorKind::block_norm, s.n)};
}

KernelList block_activation(const KernelShape& s) {
  return {as_kind(rows::activation_forward("activation", FeedForwardSpec::Kind::swiglu, s.m * s.n),
                  VectorKind::block_activation, s.n)};
}

template <FeedForwardSpec::Kind kind, bool backward>
KernelList activation_kernel(const KernelShape& s) {
  const double count = s.m * s.n;
  return {backward ? rows::activation_backward("activation", kind, count)
                   : rows::activation_forward("activation", kind, count)};
}

KernelList residual_add(const KernelShape& s) { return {rows::residual("residual", s.m * s.n)}; }

/// Rows chosen by index: each is read and written.
KernelList permute(const KernelShape& s) {
  return {rows::vector_row("permute", 0, 2 * rows::element * s.m * s.n, OperatorRole::permute)};
}

KernelList optimizer(const KernelShape& s) { return {optimizer_step(s.m, RuntimeSpec{})}; }

std::vector<OperatorKind> all_kinds() {
  using enum OperatorColumn;
  using enum OperatorClass;
  using enum ElementType;
  using Norm = ModelSpec::Norm;
  using Unit = FeedForwardSpec::Kind;
  using Core = LinearAttention::Kind;
  const std::vector<OperatorColumn> product_sizes{m_or_bytes, k, n}, matrix{m_or_bytes, n},
      heads_of{heads, head_size, sequence}, chosen{heads, k, head_size, sequence, top_k},
      of_group{m_or_bytes, ranks};
  const std::vector<ElementType> half{bf16, fp16}, products{bf16, fp16, fp8};
  std::vector<OperatorKind> kinds{
      {"matmul", product, "[m x k] x [k x n]", product_sizes, products, matmul},
      {"grouped_matmul",
       grouped_product,
       "groups products [m x k] x [k x n] in one kernel",
       {groups, m_or_bytes, k, n},
       products,
       grouped_matmul},
      {"attention_forward", OperatorClass::attention, "fused softmax attention", heads_of, half,
       attention_forward},
      {"attention_backward", OperatorClass::attention, "its gradient", heads_of, half,
       attention_backward},
      {"attention_forward_backward", OperatorClass::attention, "both, one after the other",
       heads_of, half, attention_both},
      {"gated_delta", OperatorClass::linear_attention,
       "chunkwise core of a gated delta net, chunks of 64 tokens", heads_of, half,
       core_of<Core::gated_delta, false>},
      {"gated_delta_backward", OperatorClass::linear_attention, "its gradient", heads_of, half,
       core_of<Core::gated_delta, true>},
      {"lightning_attention", OperatorClass::linear_attention,
       "chunkwise core of lightning attention, chunks of 256 tokens", heads_of, half,
       core_of<Core::lightning, false>},
      {"lightning_attention_backward", OperatorClass::linear_attention, "its gradient", heads_of,
       half, core_of<Core::lightning, true>},
      {"sparse_attention", OperatorClass::sparse_attention,
       "queries of k that share top_k chosen keys, the first head_size of which are values", chosen,
       half, chosen_core<false>},
      {"sparse_attention_backward", OperatorClass::sparse_attention, "its gradient", chosen, half,
       chosen_core<true>},
      {"index_scores", OperatorClass::sparse_attention,
       "scores of an indexer: heads of queries against one key of every earlier token", heads_of,
       products, scores_of_index},
      {"index_top_k",
       OperatorClass::sparse_attention,
       "the top_k largest of these scores",
       {sequence, top_k},
       half,
       choice_of_index},
      {"norm", vector, "RMS norm of m rows of n as training frameworks fuse it", matrix, half,
       norm_kernel<Norm::rms, false>},
      {"norm_backward", vector, "its gradient", matrix, half, norm_kernel<Norm::rms, true>},
      {"rms_norm", vector, "RMS norm of an inference library, a block of threads per row", matrix,
       half, block_norm},
      {"layer_norm", vector, "layer norm of m rows of n", matrix, half,
       norm_kernel<Norm::layer, false>},
      {"layer_norm_backward", vector, "its gradient", matrix, half, norm_kernel<Norm::layer, true>},
      {"activation", vector,
       "gated activation as training frameworks fuse it: writes m x n from m x 2n", matrix, half,
       activation_kernel<Unit::swiglu, false>},
      {"activation_backward", vector, "its gradient", matrix, half,
       activation_kernel<Unit::swiglu, true>},
      {"silu_and_mul", vector, "the same of an inference library, a block of threads per row",
       matrix, half, block_activation},
      {"gelu", vector, "activation of m x n", matrix, half, activation_kernel<Unit::gelu, false>},
      {"gelu_backward", vector, "its gradient", matrix, half, activation_kernel<Unit::gelu, true>},
      {"residual_add", vector, "sum of two m x n", matrix, half, residual_add},
      {"permute", vector, "m rows of n chosen by index", matrix, half, permute},
      {"optimizer", vector, "fused Adam over m parameters", {m_or_bytes}, half, optimizer}};
  // Collectives have a row each, timed by a node's fabric and not by a kernel.
  for (std::size_t i = 0; i < collective_kinds; ++i) {
    const auto which = static_cast<CollectiveKind>(i);
    kinds.push_back({stepcast::name(which),
                     collective,
                     "collective of the first ranks devices of a node, bytes as nccl-tests count",
                     of_group,
                     {bytes},
                     nullptr,
                     which});
  }
  return kinds;
}

struct OtherName {
  std::string_view name, kind;
};
constexpr std::array<OtherName, 2> other_names{
    {{"attention", "attention_forward"}, {"residual", "residual_add"}}};

constexpr std::array<OperatorColumnInfo, operator_columns> column_infos{{
    {"device", "", "device or preset that the row ran on, where no cluster file is given"},
    {"kind", "KIND", "a kind of the table below"},
    {"ranks", "--ranks", "of a collective; else the tensor-parallel size that made the shape"},
    {"m_or_bytes", "--m", "m, or the bytes of a collective"},
    {"k", "--k", "inner size of a product"},
    {"n", "--n", "columns of the result"},
    {"groups", "--groups", "products of a grouped one"},
    {"heads", "--heads", "heads of queries, and as many of keys"},
    {"head_size", "--head-size", "elements of a head"},
    {"sequence", "--sequence", "tokens of a sequence"},
    {"batch", "--batch", "sequences, 1 where it is empty"},
    {"causal", "--causal", "yes or no, yes where it is empty"},
    {"generation", "--generation", "of an attention kernel, the cluster's where it is empty"},
    {"type", "--type", "of the operands; bytes for a collective"},
    {"top_k", "--top-k", "tokens that a query of sparse attention sees"},
}};

constexpr std::array<AttentionGenerationName, 9> known_generations{
    {{"flash_1", AttentionGeneration::flash_1},
     {"flash_2", AttentionGeneration::flash_2},
     {"flash_3", AttentionGeneration::flash_3},
     {"flash_4", AttentionGeneration::flash_4},
     {"cudnn", AttentionGeneration::cudnn},
     {"flash_triton", AttentionGeneration::flash_triton},
     {"cudnn_mxfp8", AttentionGeneration::cudnn_mxfp8},
     {"library", AttentionGeneration::fused},
     {"hand_tuned", AttentionGeneration::hand_tuned}}};

}  // namespace

double KernelShape::*size_in(OperatorColumn column) {
  switch (column) {
    case OperatorColumn::m_or_bytes:
      return &KernelShape::m;
    case OperatorColumn::k:
      return &KernelShape::k;
    case OperatorColumn::n:
      return &KernelShape::n;
    case OperatorColumn::groups:
      return &KernelShape::groups;
    case OperatorColumn::heads:
      return &KernelShape::heads;
    case OperatorColumn::head_size:
      return &KernelShape::head_size;
    case OperatorColumn::sequence:
      return &KernelShape::sequence;
    case OperatorColumn::batch:
      return &KernelShape::batch;
    case OperatorColumn::top_k:
      return &KernelShape::top_k;
    // Not sizes of a kernel but what it is or where it runs.
    case OperatorColumn::ranks:
    case OperatorColumn::device:
    case OperatorColumn::kind:
    case OperatorColumn::causal:
    case OperatorColumn::generation:
    case OperatorColumn::type:
      return nullptr;
  }
  return nullptr;
}

const OperatorColumnInfo& info(OperatorColumn column) {
  return column_infos[static_cast<std::size_t>(column)];
}

const char* name(ElementType type) {
  constexpr std::array names{"bf16", "fp16", "fp8", "bytes"};
  return names[static_cast<std::size_t>(type)];
}

const char* name(OperatorClass which) {
  constexpr std::array names{"product",          "grouped product", "attention", "linear attention",
                             "sparse attention", "vector",          "collective"};
  return names[static_cast<std::size_t>(which)];
}

bool has_sequences(OperatorClass which) {
  switch (which) {
    case OperatorClass::attention:
    case OperatorClass::linear_attention:
    case OperatorClass::sparse_attention:
      return true;
    case OperatorClass::product:
    case OperatorClass::grouped_product:
    case OperatorClass::vector:
    case OperatorClass::collective:
      break;
  }
  return false;
}

std::span<const AttentionGenerationName> named_generations() { return known_generations; }

std::span<const OperatorKind> operator_kinds() {
  static const std::vector<OperatorKind> kinds = all_kinds();
  return kinds;
}

const OperatorKind* find_operator_kind(std::string_view name) {
  // Names of older tables stay known.
  const auto* other = std::ranges::find(other_names, name, &OtherName::name);
  const std::string_view wanted = other == other_names.end() ? name : other->kind;
  const auto kinds = operator_kinds();
  const auto found = std::ranges::find(kinds, wanted, &OperatorKind::name);
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace stepcast
