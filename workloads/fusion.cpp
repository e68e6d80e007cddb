#include "stepcast/workloads/fusion.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {
namespace {

using Fusion = RuntimeSpec::Fusion;

constexpr std::string_view fused_norms = "npu_add_rms_norm of torch_npu; RmsNorm of apex";
constexpr std::string_view element_wise =
    "element-wise and reduce chain of MindSpore graph kernel fusion (mindspore-ai/dvm, README)";
constexpr std::string_view stacking =
    "independent kernels stacked in one launch (mindspore-ai/dvm, README)";

/// Only memory-bound kernels are joined; nullptr for anything else.
const Operator* vector_operator(const LayerItem& item) {
  const auto* op = std::get_if<Operator>(&item);
  return op != nullptr && std::holds_alternative<MemoryBoundWork>(op->work) ? op : nullptr;
}

bool has(const std::vector<OperatorRole>& roles, OperatorRole role) {
  return std::ranges::find(roles, role) != roles.end();
}

/// Each level of fusion has the patterns of those below, too.
const FusionPattern* pattern_of(OperatorRole first, OperatorRole second, Fusion fusion) {
  for (const FusionPattern& p : fusion_patterns())
    if (p.from <= fusion && has(p.first, first) && has(p.second, second)) return &p;
  return nullptr;
}

/// Numbers of kinds differ, and what the cache holds of a kernel it holds once.
bool is_no_slower(const Operator& one, std::initializer_list<const Operator*> several,
                  const DeviceSpec& device) {
  Seconds sum{0};
  for (const Operator* op : several) sum += operator_time(*op, device, false);
  return operator_time(one, device, false) <= sum;
}

std::vector<std::string> members(const Operator& op) {
  return op.fused.empty() ? std::vector<std::string>{op.name} : op.fused;
}

Operator one_kernel(const Operator& first, const Operator& second, const FusionPattern& pattern) {
  Operator op = first;
  op.name += " + " + second.name;
  op.fused = members(first);
  for (std::string& member : members(second)) op.fused.push_back(std::move(member));
  op.flops += second.flops;
  // Inside a kernel the second reads nothing from memory of what the first made, and the first
  // writes it only where others read it.
  const double saved = (pattern.kept ? 1 : 2) * pattern.read;
  op.bytes += (1 - saved) * second.bytes;
  op.routed = first.routed || second.routed;
  op.in_call = first.in_call && second.in_call;
  // Norms and reductions set the pace, whatever is joined to them element by element.
  if (std::get<MemoryBoundWork>(first.work).kind == VectorKind::elementwise) op.work = second.work;
  op.role = second.role;  // the chain goes on with what it ends in
  return op;
}

}  // namespace

const std::vector<FusionPattern>& fusion_patterns() {
  using enum OperatorRole;
  const auto row = [](std::vector<OperatorRole> first, std::vector<OperatorRole> second,
                      double read, bool kept, Fusion from, std::string_view source) {
    return FusionPattern{.first = std::move(first),
                         .second = std::move(second),
                         .read = read,
                         .kept = kept,
                         .from = from,
                         .source = source};
  };
  const std::vector<OperatorRole> norms{norm, post_norm, embedding_norm, hidden_norm};
  const std::vector<OperatorRole> norms_backward{norm_backward, post_norm_backward};
  // `read` is what is left of the second operator's reads once it finds its input on chip; a source
  // says of each row where a framework has the pattern.
  static const std::vector<FusionPattern> table{
      row({residual}, norms, 1.0 / 2, true, Fusion::pattern, fused_norms),
      row({post_norm}, {residual}, 1.0 / 3, false, Fusion::dvm, element_wise),
      row(norms_backward, {residual_backward}, 1.0 / 3, false, Fusion::dvm, element_wise),
      row({residual_backward}, {post_norm_backward}, 1.0 / 4, true, Fusion::dvm, element_wise),
      row({unpermute}, {residual}, 1.0 / 3, false, Fusion::dvm, element_wise),
      row({loss_maximum}, {loss_exponentials}, 1.0 / 2, true, Fusion::dvm, element_wise),
      row({loss_exponentials}, {loss}, 1, true, Fusion::dvm, element_wise),
      row({top_k}, {permute}, 0, true, Fusion::dvm, stacking),
      row({permute_backward}, {top_k_backward}, 0, true, Fusion::dvm, stacking),
      row({embedding_norm}, {hidden_norm}, 0, true, Fusion::dvm, stacking)};
  return table;
}

bool FusionChoices::take(bool pays) {
  // The first list decides; those of other loads follow it, so that all have the same operators.
  if (!repeats_) taken_.push_back(pays);
  expects(next_ < taken_.size(), "lists of one program ask alike");
  return taken_[next_++];
}

void FusionChoices::repeat() {
  repeats_ = true;
  next_ = 0;
}

LayerItems fuse(LayerItems items, Fusion fusion, const DeviceSpec& device, FusionChoices& choices) {
  if (fusion == Fusion::none) return items;
  LayerItems out;
  for (const LayerItem& item : items) {
    const Operator* op = vector_operator(item);
    // Chains grow: what was joined may be joined to the next.
    const Operator* before = out.empty() ? nullptr : vector_operator(out.back());
    const FusionPattern* pattern =
        op != nullptr && before != nullptr ? pattern_of(before->role, op->role, fusion) : nullptr;
    Operator one = pattern != nullptr ? one_kernel(*before, *op, *pattern) : Operator{};
    if (pattern != nullptr && choices.take(is_no_slower(one, {before, op}, device)))
      out.back() = std::move(one);
    else
      out.push_back(item);
  }
  return out;
}

}  // namespace stepcast
