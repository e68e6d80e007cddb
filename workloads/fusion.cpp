#include "stepcast/workloads/fusion.hpp"

#include <algorithm>

namespace stepcast {
namespace {

using Fusion = RuntimeSpec::Fusion;

constexpr std::string_view library = "npu_add_rms_norm of torch_npu; RmsNorm of apex";
constexpr std::string_view element_wise =
    "element-wise and reduce chain of MindSpore graph kernel fusion (mindspore-ai/dvm, README)";
constexpr std::string_view stacking =
    "independent kernels stacked in one launch (mindspore-ai/dvm, README)";

const Operator* vector_operator(const LayerItem& item) {
  const auto* op = std::get_if<Operator>(&item);
  return op != nullptr && std::holds_alternative<MemoryBoundWork>(op->work) ? op : nullptr;
}

const FusionPattern* pattern_of(std::string_view first, std::string_view second, Fusion fusion) {
  for (const FusionPattern& p : fusion_patterns())
    if (p.from <= fusion && first.ends_with(p.first) && second.ends_with(p.second)) return &p;
  return nullptr;
}

Operator joined(const Operator& first, const Operator& second, const FusionPattern& pattern) {
  Operator op = first;
  op.name += " + " + second.name;
  op.flops += second.flops;
  const double saved = (pattern.kept ? 1 : 2) * pattern.read;
  op.bytes += (1 - saved) * second.bytes;
  op.routed = first.routed || second.routed;
  return op;
}

}  // namespace

const std::vector<FusionPattern>& fusion_patterns() {
  static const std::vector<FusionPattern> table{
      {" residual", " norm", 1.0 / 2, true, Fusion::pattern, library},
      {" post norm", " residual", 1.0 / 3, false, Fusion::dvm, element_wise},
      {" norm backward", " residual backward", 1.0 / 3, false, Fusion::dvm, element_wise},
      {" residual backward", " post norm backward", 1.0 / 4, true, Fusion::dvm, element_wise},
      {"unpermute", " residual", 1.0 / 3, false, Fusion::dvm, element_wise},
      {"loss maximum", "loss exponentials", 1.0 / 2, true, Fusion::dvm, element_wise},
      {"loss exponentials", "loss", 1, true, Fusion::dvm, element_wise},
      {"top-k", "permute", 0, true, Fusion::dvm, stacking},
      {"permute backward", "top-k backward", 0, true, Fusion::dvm, stacking},
      {"mtp embedding norm", "mtp hidden norm", 0, true, Fusion::dvm, stacking}};
  return table;
}

LayerItems fuse(LayerItems items, Fusion fusion) {
  if (fusion == Fusion::none) return items;
  LayerItems out;
  std::string_view last;  // name of the operator that ends the chain at the back of `out`
  for (const LayerItem& item : items) {
    const Operator* op = vector_operator(item);
    const Operator* before = out.empty() ? nullptr : vector_operator(out.back());
    const FusionPattern* pattern =
        op != nullptr && before != nullptr ? pattern_of(last, op->name, fusion) : nullptr;
    if (pattern != nullptr) {
      out.back() = joined(*before, *op, *pattern);
    } else {
      out.push_back(item);
    }
    last = op != nullptr ? std::string_view{op->name} : std::string_view{};
  }
  return out;
}

}  // namespace stepcast
