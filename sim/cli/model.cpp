#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "stepcast/workloads/hugging_face.hpp"
#include "stepcast/workloads/model_spec.hpp"

namespace stepcast::cli {
namespace {

std::string billions(double count) { return fmt::format("{:>12.3f} B", count / 1e9); }

std::string row(const std::string& name, double count) {
  // A part that the model lacks has no row.
  return count > 0 ? fmt::format("  {:<34}{}\n", name, billions(count)) : "";
}

/// What a config.json holds beside what was read of it.
std::string left_out_of(const std::string& path, const SearchPath& search) {
  if (!path.ends_with(".json")) return {};
  return left_out_of_hugging_face(find_file(path, {}, search).value_or(path));
}

std::string as_json(const ModelSpec& spec, const ParameterCount& count, std::int64_t sequence,
                    double flops, const std::string& left_out) {
  nlohmann::ordered_json json{{"model", spec.name},
                              {"layers", spec.layers},
                              {"hidden", spec.hidden},
                              {"vocabulary", spec.vocabulary},
                              {"parameters",
                               {{"total", count.total_without_mtp},
                                {"total_with_mtp", count.total},
                                {"active_per_token", count.active},
                                {"embedding", count.embedding},
                                {"position_embedding", count.positions},
                                {"head", count.head},
                                {"attention_per_layer", count.attention_per_layer},
                                {"linear_attention_per_layer", count.linear_attention_per_layer},
                                {"dense_ffn_per_layer", count.dense_ffn_per_layer},
                                {"moe_ffn_per_layer", count.moe_ffn_per_layer},
                                {"mtp", count.mtp}}},
                              {"sequence", sequence},
                              {"training_flops_per_token", flops}};
  if (!left_out.empty()) json["note"] = left_out;
  return json.dump(2) + "\n";
}

}  // namespace

Outcome model(const ModelOptions& options) {
  const std::int64_t sequence = count_option("--sequence", options.sequence, 1, 1 << 30);
  const SearchPath search = default_search_path(options.presets);
  // A common mistake with a command that answers it.
  if (options.model.ends_with(".sh"))
    bad_option("MODEL", "'" + options.model +
                            "' is a launch file, allowed: a model; stepcast import " +
                            options.model + " --cluster PRESET writes the scenario that has it");
  const ModelSpec spec = read_model(options.model, search, options.family);
  const std::string left_out = left_out_of(options.model, search);
  const ParameterCount count = count_parameters(spec);
  std::string text =
      fmt::format("{}: {} layers of hidden {}, vocabulary {}\n{}\n", spec.name, spec.layers,
                  spec.hidden, spec.vocabulary, left_out.empty() ? "" : "  " + left_out + "\n");
  text += row("parameters", count.total_without_mtp);
  text += row("  with MTP modules", count.mtp > 0 ? count.total : 0);
  text += row("active per token", count.active);
  text += "\n" + row("embedding", count.embedding) + row("position embedding", count.positions) +
          row("head", count.head) + row("attention, per layer", count.attention_per_layer) +
          row("linear attention, per layer", count.linear_attention_per_layer) +
          row("dense feed-forward, per layer", count.dense_ffn_per_layer) +
          row("experts and router, per layer", count.moe_ffn_per_layer) +
          row("MTP modules", count.mtp);
  // Prediction modules are trained with the rest where a model has them.
  const double flops = training_flops_per_token(spec, sequence, spec.mtp_layers > 0);
  text += fmt::format("\n  {:<34}{:>12.1f} GFLOP per token at {} tokens\n",
                      "training (3 x forward, causal)", flops / 1e9, sequence);
  return shown(std::move(text), options.json, as_json(spec, count, sequence, flops, left_out));
}

}  // namespace stepcast::cli
