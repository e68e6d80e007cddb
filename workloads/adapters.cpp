#include "adapters.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

using AdapterTarget = AdapterSpec::Target;

constexpr std::array places{AdapterPlace::qkv, AdapterPlace::attention_out, AdapterPlace::up,
                            AdapterPlace::down};

/// The outputs of a product of a layer, over all tensor ranks, each part by itself. `key_value`: of
/// parts that key and value heads have.
struct Part {
  double out = 0;
  bool key_value = false;
};
struct Product {
  double in = 0;
  std::vector<Part> parts = {};
  double out() const {
    double sum = 0;
    for (const Part& part : parts) sum += part.out;
    return sum;
  }
};

/// Nothing where a layer has no such product, or none that takes adapters.
Product product(const ModelSpec& model, LayerParts layer, AdapterPlace place) {
  const auto* attention = std::get_if<GroupedQueryAttention>(&model.attention);
  const auto hidden = static_cast<double>(model.hidden);
  const auto inner = static_cast<double>(model.ffn.hidden);
  const bool gated = model.ffn.kind == FeedForwardSpec::Kind::swiglu;
  const bool in_attention = place == AdapterPlace::qkv || place == AdapterPlace::attention_out;
  // Adapters at latents, linear attention and experts are not known.
  if (in_attention ? attention == nullptr || layer.linear : layer.moe) return {};
  if (place == AdapterPlace::up)
    return {hidden, std::vector<Part>(gated ? 2 : 1, Part{inner, false})};
  if (place == AdapterPlace::down) return {inner, {{hidden}}};
  const auto queries = static_cast<double>(attention->heads * attention->head_dim);
  const auto keys = static_cast<double>(attention->kv_heads * attention->head_dim);
  if (place == AdapterPlace::attention_out) return {queries, {{hidden}}};
  return {hidden, {{(attention->output_gate ? 2 : 1) * queries}, {keys, true}, {keys, true}}};
}

bool splits_columns(AdapterPlace place) {
  return place == AdapterPlace::qkv || place == AdapterPlace::up;
}

/// Outputs that have an adapter.
std::vector<Part> adapted_outputs(const Product& product, const AdapterSpec& adapters,
                                  AdapterPlace place) {
  const std::vector<std::size_t> chosen = adapted_parts(adapters, place, product.parts.size());
  if (chosen.empty() || adapters.products == AdapterSpec::Products::joined)
    return chosen.empty() ? std::vector<Part>{} : product.parts;
  std::vector<Part> outputs;
  outputs.reserve(chosen.size());
  for (const std::size_t part : chosen) outputs.push_back(product.parts[part]);
  return outputs;
}

}  // namespace

std::vector<std::size_t> adapted_parts(const AdapterSpec& adapters, AdapterPlace place,
                                       std::size_t parts) {
  static const std::array<std::vector<AdapterTarget>, 4> all{
      {{AdapterTarget::query, AdapterTarget::key, AdapterTarget::value},
       {AdapterTarget::attention_out},
       {AdapterTarget::gate, AdapterTarget::up},
       {AdapterTarget::down}}};
  const std::vector<AdapterTarget>& targets = all[static_cast<std::size_t>(place)];
  std::vector<std::size_t> chosen;
  chosen.reserve(parts);
  // Without a gate what is in front of the activation is up alone.
  for (std::size_t part = 0; part < parts; ++part)
    if (adapters.at(targets[targets.size() - parts + part])) chosen.push_back(part);
  return chosen;
}

double adapter_count(const AdapterSpec& adapters, AdapterPlace place, std::size_t parts) {
  const std::size_t chosen = adapted_parts(adapters, place, parts).size();
  if (adapters.products == AdapterSpec::Products::joined) return chosen > 0 ? 1 : 0;
  return static_cast<double>(chosen);
}

AdapterPlace lowest_place(const AdapterSpec& adapters) {
  for (const auto& [place, parts] :
       {std::pair{AdapterPlace::qkv, 3}, {AdapterPlace::attention_out, 1}, {AdapterPlace::up, 2}})
    if (!adapted_parts(adapters, place, static_cast<std::size_t>(parts)).empty()) return place;
  return AdapterPlace::down;
}

ParameterGroups adapter_parameters(const ModelSpec& model, const AdapterSpec& adapters,
                                   LayerParts parts) {
  const auto rank = static_cast<double>(adapters.rank);
  const bool both = adapters.split == AdapterSpec::Split::both;
  ParameterGroups groups;
  for (const AdapterPlace place : places) {
    const Product p = product(model, parts, place);
    // An adapter is two matrices, in x rank and rank x out. Of a product that is split by columns
    // the second is split, of one split by rows the first.
    const double narrow = adapter_count(adapters, place, p.parts.size()) * p.in * rank;
    const bool columns = splits_columns(place);
    (both || !columns ? groups.tensor : groups.replicated) += narrow;
    for (const Part& part : adapted_outputs(p, adapters, place)) {
      double& group = part.key_value    ? groups.key_value
                      : both || columns ? groups.tensor
                                        : groups.replicated;
      group += rank * part.out;
    }
  }
  return groups;
}

double largest_adapter(const ModelSpec& model, const AdapterSpec& adapters) {
  double width = 0;
  // Joined adapters of one product are written side by side into one tensor, those apart one after
  // the other: the sum of their widths or the widest of them counts.
  for (const AdapterPlace place : places) {
    const Product p = product(model, {}, place);
    double out = 0;
    for (const Part& part : adapted_outputs(p, adapters, place))
      out = adapters.products == AdapterSpec::Products::joined ? out + part.out
                                                               : std::max(out, part.out);
    if (out > 0) width = std::max({width, p.in, out});
  }
  return static_cast<double>(adapters.rank) * width;
}

double frozen_bytes(const AdapterSpec& adapters) {
  // bitsandbytes: an FP32 scale for each row, which is less than one in a thousand bytes; and four
  // bits with a scale for 64 weights, itself of one byte, and one of FP32 for 256 of these.
  constexpr double nf4 = 0.5 + 1.0 / 64 + single_bytes / (64.0 * 256);
  switch (adapters.frozen) {
    case AdapterSpec::Frozen::bf16:
      return weight_bytes;
    case AdapterSpec::Frozen::int8:
      return 1;
    case AdapterSpec::Frozen::nf4:
      break;
  }
  return nf4;
}

double unneeded_flops(const ModelSpec& model, const AdapterSpec& adapters, std::int64_t sequence) {
  // The backward pass of the first layer ends at its lowest adapter: nothing in front of that is
  // trained.
  if (!adapters.any() || model.block != ModelSpec::Block::serial) return 0;
  // One layer without embedding, with and without its sequence: the difference is the core of
  // attention.
  ModelSpec first = model;
  first.layers = 1;
  first.vocabulary = 0;
  const LayerParts parts = parts_of(model, 0);
  // Backward, the core of attention does twice what it does forward.
  const double core = 2.0 / 3 *
                      (training_flops_per_token(first, sequence, false) -
                       training_flops_per_token(first, 0, false));
  double flops = 0;
  for (const AdapterPlace place : places) {
    const Product p = product(model, parts, place);
    flops += 2 * p.in * p.out();  // the gradient of its input
    if (const double count = adapter_count(adapters, place, p.parts.size()); count > 0)
      return flops + 2 * p.in * static_cast<double>(adapters.rank) * count;
    if (place == AdapterPlace::qkv) flops += core;
  }
  return 0;
}

}  // namespace stepcast
