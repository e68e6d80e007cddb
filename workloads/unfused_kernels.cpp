#include <algorithm>
#include <vector>

#include "stepcast/workloads/rewrites.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

/// A kernel with its FLOPs and the bytes of its operands, per element of the operator that it
/// stands for.
struct Kernel {
  const char* name;
  double flops, bytes;
};
using Kernels = std::vector<Kernel>;

constexpr double copy = 2 * half_bytes;
constexpr double cast = half_bytes + single_bytes;
constexpr double unary = 2 * half_bytes;
constexpr double binary = 3 * half_bytes;

/// (x.float() * rsqrt(mean(x^2) + eps)).type_as(x) * weight; what is one number per token is left
/// out.
const Kernels rms_norm{{"cast", 0, cast},         {"square", 1, 2 * single_bytes},
                       {"mean", 1, single_bytes}, {"scale", 1, 2 * single_bytes},
                       {"cast back", 0, cast},    {"weight", 1, unary}};
const Kernels rms_norm_backward{{"weight gradient", 1, binary},
                                {"weight sum", 1, half_bytes},
                                {"weight", 1, unary},
                                {"cast back", 0, cast},
                                {"scale", 1, 2 * single_bytes},
                                {"scale gradient", 1, 3 * single_bytes},
                                {"scale sum", 1, single_bytes},
                                {"mean", 0, single_bytes},
                                {"power", 0, 2 * single_bytes},
                                {"twice", 1, 2 * single_bytes},
                                {"square", 1, 3 * single_bytes},
                                {"add", 1, 3 * single_bytes},
                                {"cast", 0, cast}};

/// cat(t * cos + cat(-t2, t1) * sin, rest), with halves copied before kernels that want them dense.
const Kernels rotation{{"cos", 1, unary},          {"copy half", 0, copy / 2},
                       {"negate", 0.5, unary / 2}, {"copy half", 0, copy / 2},
                       {"halves", 0, copy},        {"sin", 1, unary},
                       {"add", 1, binary},         {"join", 0, copy}};
const Kernels rotation_backward{{"cos", 1, unary},          {"sin", 1, unary},
                                {"copy half", 0, copy / 2}, {"negate", 0.5, unary / 2},
                                {"copy half", 0, copy / 2}, {"halves", 0, copy},
                                {"add", 1, binary},         {"zeros", 0, half_bytes},
                                {"slice", 0, copy},         {"zeros of rest", 0, half_bytes},
                                {"add rest", 1, binary}};

/// silu(x1) * x2 of the halves of x, which are copied to be dense.
const Kernels gated{
    {"copy gate", 0, copy}, {"gate", 5, unary}, {"copy value", 0, copy}, {"product", 1, binary}};
const Kernels gated_backward{{"copy value", 0, copy},       {"gate gradient", 1, binary},
                             {"value gradient", 1, binary}, {"copy gate", 0, copy},
                             {"gate", 7, binary},           {"halves", 0, 2 * copy}};

/// gelu(x + bias); the sum of the bias' gradient is a row of the up projection.
const Kernels biased{{"bias", 1, unary}, {"gelu", 8, unary}};
const Kernels biased_backward{{"gelu", 12, binary}};

/// 0.5 x (1 + tanh(c x (1 + 0.044715 x^2))), x with its bias, a kernel per operation; backward the
/// hand-written derivative.
const Kernels biased_formula{{"bias", 1, unary},           {"times c", 1, unary},
                             {"times 0.044715", 1, unary}, {"square", 1, binary},
                             {"plus 1", 1, unary},         {"argument", 1, binary},
                             {"tanh", 1, unary},           {"1 plus", 1, unary},
                             {"half", 1, unary},           {"product", 1, binary}};
const Kernels biased_formula_backward{{"bias", 1, unary},
                                      {"times c", 1, unary},
                                      {"times 0.044715", 1, unary},
                                      {"square", 1, binary},
                                      {"plus 1", 1, unary},
                                      {"argument", 1, binary},
                                      {"tanh", 1, unary},
                                      {"half", 1, unary},
                                      {"tanh square", 1, binary},
                                      {"1 minus", 1, unary},
                                      {"times 3 x 0.044715 c", 1, unary},
                                      {"times x", 1, binary},
                                      {"plus c", 1, unary},
                                      {"slope", 1, binary},
                                      {"times half", 1, binary},
                                      {"1 plus", 1, unary},
                                      {"half of it", 1, unary},
                                      {"sum", 1, binary},
                                      {"gradient", 1, binary}};

/// The same of one half with x^3 for x x^2, times the other half; backward as autograd derives it.
const Kernels gated_formula{
    {"copy gate", 0, copy}, {"copy gate", 0, copy},       {"copy gate", 0, copy},
    {"cube", 2, unary},     {"times 0.044715", 1, unary}, {"argument", 1, binary},
    {"times c", 1, unary},  {"tanh", 1, unary},           {"1 plus", 1, unary},
    {"half", 1, unary},     {"gelu", 1, binary},          {"copy value", 0, copy},
    {"product", 1, binary}};
const Kernels gated_formula_backward{
    {"copy value", 0, copy},      {"gate gradient", 1, binary}, {"value gradient", 1, binary},
    {"half gradient", 1, binary}, {"sum gradient", 1, binary},  {"half", 1, unary},
    {"tanh", 2, binary},          {"times c", 1, unary},        {"times 0.044715", 1, unary},
    {"copy gate", 0, copy},       {"square", 1, unary},         {"times 3", 1, unary},
    {"cube", 1, binary},          {"add", 1, binary},           {"add half", 1, binary},
    {"halves", 0, 2 * copy}};

/// What stands for operators of some roles: `fused` bytes per element of the fused kernel give its
/// elements, `launches` how often the kernels run for parts of them.
struct Unfused {
  std::vector<OperatorRole> roles;
  double fused;
  const Kernels* kernels;
  int launches;
};

std::vector<Unfused> unfused(const KernelSpec& spec, const ModelSpec& model) {
  using Activation = KernelSpec::Activation;
  using enum OperatorRole;
  std::vector<Unfused> table;
  if (spec.norm == KernelSpec::Norm::unfused && model.norm != ModelSpec::Norm::layer) {
    table.push_back({{norm, post_norm, embedding_norm, hidden_norm}, copy, &rms_norm, 1});
    table.push_back({{norm_backward, post_norm_backward}, 2 * copy, &rms_norm_backward, 1});
  }
  if (spec.rope == KernelSpec::Rope::unfused) {  // of queries, then of keys
    table.push_back({{rope}, copy, &rotation, 2});
    table.push_back({{rope_backward}, copy, &rotation_backward, 2});
  }
  if (spec.activation == Activation::fused) return table;
  const bool formula = spec.activation == Activation::formula;
  if (model.ffn.kind == FeedForwardSpec::Kind::swiglu) {
    table.push_back({{activation}, 3 * half_bytes, formula ? &gated_formula : &gated, 1});
    table.push_back({{activation_backward},
                     5 * half_bytes,
                     formula ? &gated_formula_backward : &gated_backward,
                     1});
  } else {
    table.push_back({{activation}, 2 * half_bytes, formula ? &biased_formula : &biased, 1});
    table.push_back({{activation_backward},
                     3 * half_bytes,
                     formula ? &biased_formula_backward : &biased_backward,
                     1});
  }
  return table;
}

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
  for (LayerItem& item : items) {
    const Unfused* instead = replacement(item, table);
    if (instead == nullptr) {
      out.push_back(std::move(item));
      continue;
    }
    const auto& whole = std::get<Operator>(item);
    const double count = whole.bytes.value() / instead->fused / instead->launches;
    for (int i = 0; i < instead->launches; ++i)
      for (const Kernel& k : *instead->kernels) {
        Operator op = whole;
        op.name += std::string(" ") + k.name;
        op.role = OperatorRole::other;
        op.flops = Flops{k.flops * count};
        op.bytes = Bytes{k.bytes * count};
        out.push_back(std::move(op));
      }
  }
  return out;
}

}  // namespace stepcast
