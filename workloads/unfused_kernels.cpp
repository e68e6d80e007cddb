#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "stepcast/workloads/rewrites.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

/// A kernel with its FLOPs and the bytes of its operands, per element of the operator that it
/// stands for, and its flow, "reads>written" by values of one letter: small ones in half precision,
/// capitals in single precision or both halves of a gated part; a mark for half of the elements;
/// digits for one number per row. Without a flow nothing is fused with it; without a name, either,
/// it is the library's kernel itself on operands of other sizes.
struct Kernel {
  const char* name;
  double flops, bytes;
  const char* flow;
};
using Kernels = std::vector<Kernel>;

/// Bytes per element.
constexpr double copy = 2 * half_bytes;
constexpr double cast = half_bytes + single_bytes;
constexpr double unary = 2 * half_bytes;
constexpr double binary = 3 * half_bytes;

/// (x.float() * rsqrt(mean(x^2) + eps)).type_as(x) * weight; what is one number per token is left
/// out.
const Kernels rms_norm{{"cast", 0, cast, "x>A"},         {"square", 1, 2 * single_bytes, "A>B"},
                       {"mean", 1, single_bytes, "B>1"}, {"scale", 1, 2 * single_bytes, "A1>C"},
                       {"cast back", 0, cast, "C>d"},    {"weight", 1, unary, "d>y"}};
const Kernels rms_norm_backward{{"weight gradient", 1, binary, "gd>e"},
                                {"weight sum", 1, half_bytes, "e>2"},
                                {"weight", 1, unary, "g>h"},
                                {"cast back", 0, cast, "h>H"},
                                {"scale", 1, 2 * single_bytes, "H1>I"},
                                {"scale gradient", 1, 3 * single_bytes, "HA>J"},
                                {"scale sum", 1, single_bytes, "J>3"},
                                {"mean", 0, single_bytes, "3>K"},
                                {"power", 0, 2 * single_bytes, "A>L"},
                                {"twice", 1, 2 * single_bytes, "L>M"},
                                {"square", 1, 3 * single_bytes, "KM>N"},
                                {"add", 1, 3 * single_bytes, "IN>O"},
                                {"cast", 0, cast, "O>y"}};

/// The library's kernel in FP32 (MindFormers, LlamaRMSNorm); the cast of its input runs again.
const Kernels fp32_norm{{"cast", 0, cast, nullptr},
                        {nullptr, 0, 2 * single_bytes, nullptr},
                        {"cast back", 0, cast, nullptr}};
const Kernels fp32_norm_backward{{"cast", 0, cast, nullptr},
                                 {"cast again", 0, cast, nullptr},
                                 {nullptr, 0, 3 * single_bytes, nullptr},
                                 {"cast back", 0, cast, nullptr}};

/// x * cos + (x * mask) * sin in FP32 (MindFormers, LlamaRotaryEmbedding): the product with the
/// mask, which swaps halves, is bound by memory on cube cores too.
const Kernels fp32_rotation{
    {"cast", 0, cast, nullptr},           {"swap", 0, 2 * single_bytes, nullptr},
    {"cos", 1, 2 * single_bytes, "A>B"},  {"sin", 1, 2 * single_bytes, "C>D"},
    {"add", 1, 3 * single_bytes, "BD>E"}, {"cast back", 0, cast, "E>y"}};
const Kernels fp32_rotation_backward{{"cast", 0, cast, "x>A"},
                                     {"cos", 1, 2 * single_bytes, "A>B"},
                                     {"sin", 1, 2 * single_bytes, "A>C"},
                                     {"swap", 0, 2 * single_bytes, nullptr},
                                     {"add", 1, 3 * single_bytes, "BD>E"},
                                     {"cast back", 0, cast, "E>y"}};

/// cat(t * cos + cat(-t2, t1) * sin, rest), with halves copied before kernels that want them dense.
const Kernels rotation{{"cos", 1, unary, "x>a"},
                       {"copy half", 0, copy / 2, "x'>b'"},
                       {"negate", 0.5, unary / 2, "b'>c'"},
                       {"copy half", 0, copy / 2, "x'>d'"},
                       {"halves", 0, copy, "c'd'>e"},
                       {"sin", 1, unary, "e>f"},
                       {"add", 1, binary, "af>g"},
                       {"join", 0, copy, "g>y"}};
const Kernels rotation_backward{{"cos", 1, unary, "g>a"},
                                {"sin", 1, unary, "g>b"},
                                {"copy half", 0, copy / 2, "b'>c'"},
                                {"negate", 0.5, unary / 2, "c'>d'"},
                                {"copy half", 0, copy / 2, "b'>e'"},
                                {"halves", 0, copy, "d'e'>f"},
                                {"add", 1, binary, "af>h"},
                                {"zeros", 0, half_bytes, ">i"},
                                {"slice", 0, copy, "h>k"},
                                {"zeros of rest", 0, half_bytes, ">l"},
                                {"add rest", 1, binary, "kl>y"}};

/// cat(kernel(t), rest) of slices of t (MindSpeed, apply_rotary_pos_emb_bshd).
const Kernels sliced_rotation{{nullptr, 0, copy, nullptr}, {"join", 0, copy, nullptr}};
const Kernels sliced_rotation_backward{{nullptr, 0, copy, nullptr},
                                       {"zeros", 0, half_bytes, nullptr},
                                       {"slice", 0, copy, nullptr},
                                       {"zeros of rest", 0, half_bytes, nullptr},
                                       {"add rest", 1, binary, nullptr}};

/// silu(x1) * x2 of the halves of x, which are copied to be dense.
const Kernels gated{{"copy gate", 0, copy, "g>a"},
                    {"gate", 5, unary, "a>b"},
                    {"copy value", 0, copy, "v>c"},
                    {"product", 1, binary, "bc>y"}};
const Kernels gated_backward{
    {"copy value", 0, copy, "v>a"},        {"gate gradient", 1, binary, "da>b"},
    {"value gradient", 1, binary, "ds>c"}, {"copy gate", 0, copy, "g>e"},
    {"gate", 7, binary, "be>f"},           {"halves", 0, 2 * copy, "cf>Y"}};

/// silu(x1) * x2 of what two projections wrote (MindFormers, LlamaFeedForward); backward as
/// autograd derives it.
const Kernels gated_apart{{"gate", 5, unary, "g>a"}, {"product", 1, binary, "av>y"}};
const Kernels gated_apart_backward{{"gate gradient", 1, binary, "dv>b"},
                                   {"value gradient", 1, binary, "ds>c"},
                                   {"gate", 7, binary, "bg>e"}};

/// gelu(x + bias); the sum of the bias' gradient is a row of the up projection.
const Kernels biased{{"bias", 1, unary, "x>a"}, {"gelu", 8, unary, "a>y"}};
const Kernels biased_backward{{"gelu", 12, binary, "ga>y"}};

/// 0.5 x (1 + tanh(c x (1 + 0.044715 x^2))), x with its bias, a kernel per operation; backward the
/// hand-written derivative.
const Kernels biased_formula{{"bias", 1, unary, "x>a"},           {"times c", 1, unary, "a>b"},
                             {"times 0.044715", 1, unary, "a>c"}, {"square", 1, binary, "ca>d"},
                             {"plus 1", 1, unary, "d>e"},         {"argument", 1, binary, "be>f"},
                             {"tanh", 1, unary, "f>g"},           {"1 plus", 1, unary, "g>h"},
                             {"half", 1, unary, "a>i"},           {"product", 1, binary, "ih>y"}};
const Kernels biased_formula_backward{{"bias", 1, unary, "x>a"},
                                      {"times c", 1, unary, "a>b"},
                                      {"times 0.044715", 1, unary, "a>c"},
                                      {"square", 1, binary, "ca>d"},
                                      {"plus 1", 1, unary, "d>e"},
                                      {"argument", 1, binary, "be>f"},
                                      {"tanh", 1, unary, "f>h"},
                                      {"half", 1, unary, "a>i"},
                                      {"tanh square", 1, binary, "hh>j"},
                                      {"1 minus", 1, unary, "j>k"},
                                      {"times 3 x 0.044715 c", 1, unary, "a>l"},
                                      {"times x", 1, binary, "la>m"},
                                      {"plus c", 1, unary, "m>n"},
                                      {"slope", 1, binary, "kn>o"},
                                      {"times half", 1, binary, "io>p"},
                                      {"1 plus", 1, unary, "h>q"},
                                      {"half of it", 1, unary, "q>r"},
                                      {"sum", 1, binary, "pr>s"},
                                      {"gradient", 1, binary, "gs>y"}};

/// The same of one half with x^3 for x x^2, times the other half; backward as autograd derives it.
const Kernels gated_formula{{"copy gate", 0, copy, "g>a"},       {"copy gate", 0, copy, "g>b"},
                            {"copy gate", 0, copy, "g>c"},       {"cube", 2, unary, "a>d"},
                            {"times 0.044715", 1, unary, "d>e"}, {"argument", 1, binary, "be>f"},
                            {"times c", 1, unary, "f>h"},        {"tanh", 1, unary, "h>i"},
                            {"1 plus", 1, unary, "i>j"},         {"half", 1, unary, "c>k"},
                            {"gelu", 1, binary, "kj>l"},         {"copy value", 0, copy, "v>m"},
                            {"product", 1, binary, "lm>y"}};
const Kernels gated_formula_backward{
    {"copy value", 0, copy, "v>a"},        {"gate gradient", 1, binary, "da>b"},
    {"value gradient", 1, binary, "dl>c"}, {"half gradient", 1, binary, "bj>e"},
    {"sum gradient", 1, binary, "bk>f"},   {"half", 1, unary, "e>h"},
    {"tanh", 2, binary, "fi>m"},           {"times c", 1, unary, "m>n"},
    {"times 0.044715", 1, unary, "n>o"},   {"copy gate", 0, copy, "g>p"},
    {"square", 1, unary, "p>q"},           {"times 3", 1, unary, "q>r"},
    {"cube", 1, binary, "ro>s"},           {"add", 1, binary, "ns>t"},
    {"add half", 1, binary, "th>u"},       {"halves", 0, 2 * copy, "uc>Y"}};

/// Both halves clamped and joined, then their product with an offset in one kernel; backward as
/// autograd derives it (Megatron-LM, weighted_bias_quick_geglu_impl).
const Kernels clamped{{"clamp gate", 1, unary, "g>a"},
                      {"clamp value", 1, unary, "v>b"},
                      {"join", 0, 2 * copy, "ab>A"},
                      {"product", 8, binary, "A>y"}};
const Kernels clamped_backward{{"product", 14, binary + 2 * half_bytes, "dA>G"},
                               {"clamp gate", 1, binary, "G'g>e"},
                               {"clamp value", 1, binary, "G'v>f"},
                               {"halves", 0, 2 * copy, "ef>Y"}};

/// "a'B1": operands with their bytes per element.
std::vector<VectorFlow::Operand> operands(std::string_view text) {
  std::vector<VectorFlow::Operand> list;
  // In ASCII digits come before capitals, and these before small letters.
  for (const char c : text) {
    if (c == '\'')
      list.back().bytes /= 2;
    else
      list.push_back({c, c <= '9' ? 0 : c <= 'Z' ? single_bytes : half_bytes});
  }
  return list;
}

/// Of one kernel for `elements` elements.
std::shared_ptr<const VectorFlow> flow_of(const Kernel& kernel, double elements,
                                          std::shared_ptr<const StatementGroup> group, int index) {
  const std::string_view text = kernel.flow;
  const std::size_t arrow = text.find('>');
  VectorFlow flow{operands(text.substr(0, arrow)), operands(text.substr(arrow + 1)).front(),
                  std::move(group), index};
  for (VectorFlow::Operand& read : flow.reads) read.bytes *= elements;
  flow.written.bytes *= elements;
  return std::make_shared<const VectorFlow>(std::move(flow));
}

/// What stands for operators of some roles: `fused` bytes per element of the fused kernel give its
/// elements, `launches` how often the kernels run for parts of them.
struct Unfused {
  std::vector<OperatorRole> roles;
  double fused;
  const Kernels* kernels;
  int launches;
  std::vector<StatementGroup::Saved> saved = {};  ///< by the forward pass
  const char* results = "yY";                     ///< values that something behind them reads
};

std::vector<Unfused> unfused(const KernelSpec& spec, const ModelSpec& model) {
  using Activation = KernelSpec::Activation;
  using enum OperatorRole;
  std::vector<Unfused> table;
  // A layer norm is always one kernel.
  if (spec.norm == KernelSpec::Norm::unfused && model.norm != ModelSpec::Norm::layer) {
    table.push_back({{norm, post_norm, embedding_norm, hidden_norm}, copy, &rms_norm, 1});
    table.push_back({{norm_backward, post_norm_backward},
                     2 * copy,
                     &rms_norm_backward,
                     1,
                     {{'d', 'x', half_bytes, 2}, {'A', 'x', half_bytes, 0}}});
  }
  if (spec.norm == KernelSpec::Norm::fp32 && model.norm != ModelSpec::Norm::layer) {
    table.push_back({{norm, post_norm, embedding_norm, hidden_norm}, copy, &fp32_norm, 1});
    table.push_back({{norm_backward, post_norm_backward}, 2 * copy, &fp32_norm_backward, 1});
  }
  if (spec.rope == KernelSpec::Rope::unfused) {  // of queries, then of keys
    table.push_back({{rope}, copy, &rotation, 2});
    table.push_back({{rope_backward}, copy, &rotation_backward, 2});
  }
  if (spec.rope == KernelSpec::Rope::sliced) {
    table.push_back({{rope}, copy, &sliced_rotation, 2});
    table.push_back({{rope_backward}, copy, &sliced_rotation_backward, 2});
  }
  if (spec.rope == KernelSpec::Rope::fp32) {
    table.push_back({{rope}, copy, &fp32_rotation, 2});
    table.push_back({{rope_backward}, copy, &fp32_rotation_backward, 2, {}, "BCy"});
  }
  if (spec.activation == Activation::fused) return table;
  if (spec.activation == Activation::apart) {
    // what the gate wrote is kept for the backward pass, which has a gradient for each projection
    table.push_back({{activation}, 3 * half_bytes, &gated_apart, 1, {}, "ay"});
    table.push_back({{activation_backward}, 5 * half_bytes, &gated_apart_backward, 1, {}, "ce"});
    return table;
  }
  if (spec.activation == Activation::clamped) {
    table.push_back({{activation}, 3 * half_bytes, &clamped, 1});
    table.push_back({{activation_backward}, 5 * half_bytes, &clamped_backward, 1});
    return table;
  }
  const bool formula = spec.activation == Activation::formula;
  if (model.ffn.kind == FeedForwardSpec::Kind::swiglu) {
    table.push_back({{activation}, 3 * half_bytes, formula ? &gated_formula : &gated, 1});
    table.push_back({{activation_backward},
                     5 * half_bytes,
                     formula ? &gated_formula_backward : &gated_backward,
                     1,
                     {{'s', 'g', half_bytes, 5},
                      {'l', 'g', half_bytes, 11},
                      {'j', 'g', half_bytes, 8},
                      {'k', 'g', half_bytes, 1},
                      {'i', 'g', half_bytes, 7}}});
  } else {
    table.push_back({{activation}, 2 * half_bytes, formula ? &biased_formula : &biased, 1});
    table.push_back({{activation_backward},
                     3 * half_bytes,
                     formula ? &biased_formula_backward : &biased_backward,
                     1});
  }
  return table;
}

bool is_norm(OperatorRole role) {
  const VectorKind kind = kind_of(role);
  return kind == VectorKind::norm || kind == VectorKind::norm_backward;
}

/// The kernels for `whole`, as often as they are launched for parts of it. Each is an elementwise
/// kernel of the framework and reaches what such kernels do; the numbers of `whole` are those of
/// the library's kernel, which these stand in place of.
void append_statements(LayerItems& out, const Operator& whole, const Unfused& instead,
                       const ModelSpec& model) {
  // The fused kernel's bytes tell how many elements it has.
  const double count = whole.bytes.value() / instead.fused / instead.launches;
  const double row = is_norm(whole.role) ? static_cast<double>(model.hidden) : 0;
  for (int i = 0; i < instead.launches; ++i) {
    const auto group = std::make_shared<const StatementGroup>(
        StatementGroup{whole.name, whole.role, row, instead.results, instead.saved, count, i > 0});
    int index = 0;
    for (const Kernel& k : *instead.kernels) {
      // a number of the host becomes a tensor: the copy waits for what the stream holds
      if (instead.kernels == &clamped && index == 3) out.push_back(HostReadback{"offset"});
      Operator op = whole;
      op.bytes = Bytes{k.bytes * count};
      op.begins_again = whole.begins_again && i == 0 && &k == &instead.kernels->front();
      if (k.name != nullptr) {
        op.name += std::string(" ") + k.name;
        op.role = OperatorRole::other;
        op.work = MemoryBoundWork{};
        op.flops = Flops{k.flops * count};
      }
      if (k.flow != nullptr) op.flow = flow_of(k, count, group, index++);
      out.push_back(std::move(op));
    }
  }
}

/// A tensor of as many elements for each token and head of the rank, in the other order.
Operator transposed(const Operator& core, const std::string& name, double elements) {
  Operator op = core;
  op.name = core.name + " " + name + " transposed";
  op.role = OperatorRole::other;
  op.work = MemoryBoundWork{};
  op.launch = LaunchClass::vector;
  op.flops = Flops{0};
  op.bytes = Bytes{copy * elements};
  return op;
}

/// Fused attention between what brings its operands, or gradients of its results, into the order
/// of heads and what takes them back (MindFormers, LlamaAttention: `transpose`, `_merge_heads`).
void append_transposed(LayerItems& out, const Operator& core, const AttentionWork& work,
                       const ModelSpec& model) {
  const auto& a = std::get<GroupedQueryAttention>(model.attention);
  const double tokens = work.sequences * work.query_length;
  // With more tensor ranks than key/value heads each keeps one.
  const double kv_heads =
      std::max(1.0, work.heads * static_cast<double>(a.kv_heads) / static_cast<double>(a.heads));
  const double wide = tokens * work.heads * work.v_dim;
  const auto operands = [&](const char* ending) {
    const auto put = [&](const char* name, double heads, double size) {
      out.push_back(transposed(core, std::string(name) + ending, tokens * heads * size));
    };
    put("query", work.heads, work.qk_dim);
    put("key", kv_heads, work.qk_dim);
    put("value", kv_heads, work.v_dim);
  };
  if (work.backward) {
    out.push_back(transposed(core, "context gradient", wide));
    out.push_back(core);
    return operands(" gradient");
  }
  operands("");
  out.push_back(core);
  out.push_back(transposed(core, "context", wide));
}

/// The core, where its operands are brought into another order.
const AttentionWork* between_transposed(const LayerItem& item, const KernelSpec& kernels) {
  if (kernels.heads != KernelSpec::Heads::transposed) return nullptr;
  const auto* op = std::get_if<Operator>(&item);
  return op == nullptr ? nullptr : std::get_if<AttentionWork>(&op->work);
}

/// nullptr: the library's kernel stays.
const Unfused* replacement(const LayerItem& item, const std::vector<Unfused>& table) {
  const auto* op = std::get_if<Operator>(&item);
  if (op == nullptr || !std::holds_alternative<MemoryBoundWork>(op->work)) return nullptr;
  for (const Unfused& u : table)
    if (std::ranges::find(u.roles, op->role) != u.roles.end()) return &u;
  return nullptr;
}

}  // namespace

LayerItems with_unfused_kernels(LayerItems items, const KernelSpec& kernels,
                                const ModelSpec& model) {
  const std::vector<Unfused> table = unfused(kernels, model);
  LayerItems out;
  out.reserve(2 * items.size());
  for (LayerItem& item : items) {
    if (const AttentionWork* core = between_transposed(item, kernels)) {
      append_transposed(out, std::get<Operator>(item), *core, model);
      continue;
    }
    const Unfused* instead = replacement(item, table);
    if (instead == nullptr) {
      out.push_back(std::move(item));
      continue;
    }
    append_statements(out, std::get<Operator>(item), *instead, model);
  }
  return out;
}

}  // namespace stepcast
