#include <fmt/format.h>

#include "commands.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/scenario.hpp"
#include "stepcast/workloads/model_spec.hpp"

namespace stepcast::cli {
namespace {

std::string billions(double count) { return fmt::format("{:>12.3f} B", count / 1e9); }

std::string row(const std::string& name, double count) {
  return count > 0 ? fmt::format("  {:<34}{}\n", name, billions(count)) : "";
}

}  // namespace

Outcome model(const ModelOptions& options) {
  if (options.sequence < 1 || options.sequence > (1 << 30)) {
    throw InputError({Diagnostic{
        {}, "--sequence", fmt::format("is {}, allowed: 1 to 2^30 tokens", options.sequence)}});
  }
  const ModelSpec spec = read_model(options.model, default_search_path(options.presets));
  const ParameterCount count = count_parameters(spec);
  std::string text = fmt::format("{}: {} layers of hidden {}, vocabulary {}\n\n", spec.name,
                                 spec.layers, spec.hidden, spec.vocabulary);
  text += row("parameters", count.total_without_mtp);
  text += row("  with MTP modules", count.mtp > 0 ? count.total : 0);
  text += row("active per token", count.active);
  text += "\n" + row("embedding", count.embedding) + row("position embedding", count.positions) +
          row("head", count.head) + row("attention, per layer", count.attention_per_layer) +
          row("dense feed-forward, per layer", count.dense_ffn_per_layer) +
          row("experts and router, per layer", count.moe_ffn_per_layer) +
          row("MTP modules", count.mtp);
  const double flops = training_flops_per_token(spec, options.sequence, spec.mtp_layers > 0);
  text += fmt::format("\n  {:<34}{:>12.1f} GFLOP per token at {} tokens\n",
                      "training (3 x forward, causal)", flops / 1e9, options.sequence);
  return {text};
}

}  // namespace stepcast::cli
