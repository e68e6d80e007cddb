#include <array>

#include "megatron.hpp"

// Linear and sparse attention of Megatron-LM and MindSpeed-LLM.
namespace stepcast::launch {
namespace {

constexpr std::array<std::string_view, 6> linear_flags{
    "--linear-attention-freq", "--linear-conv-kernel-dim", "--linear-key-head-dim",
    "--linear-value-head-dim", "--linear-num-key-heads",   "--linear-num-value-heads"};
constexpr std::array<std::string_view, 3> index_flags{
    "--dsa-indexer-n-heads", "--dsa-indexer-head-dim", "--dsa-indexer-topk"};

constexpr std::array<std::string_view, 3> mindspeed_index_flags{"--index-n-heads",
                                                                "--index-head-dim", "--index-topk"};

/// A count that the framework wants said, beside the `variant` that makes it count.
void needed(MegatronLaunch& launch, const char* key, std::string_view name,
            const Setting* variant = nullptr) {
  if (const Setting* given = launch.flag(name))
    return launch.draft.set(key, launch.args.count_or(name, 1), {given, variant});
  launch.args.fail(name,
                   "is missing, and no number is taken for it: " + std::string(key) + " needs one");
}

/// One layer of n has full attention. A list of all layers is a number where it is regular, which
/// nobody works out here.
void import_interval(MegatronLaunch& launch, const Setting& interval) {
  const char* const key = "model.linear_attention.full_every";
  if (const auto count = launch.args.count(interval.name))
    launch.draft.set(key, *count, {&interval});
}

void import_linear(MegatronLaunch& launch, const Setting* variant, const Setting* interval) {
  Draft& draft = launch.draft;
  draft.set("model.linear_attention.kind", "gated_delta", {variant, interval});
  if (interval == nullptr)
    launch.args.fail("--linear-attention-freq", "is missing, and says which layers are linear");
  else
    import_interval(launch, *interval);
  needed(launch, "model.linear_attention.key_heads", "--linear-num-key-heads", variant);
  needed(launch, "model.linear_attention.value_heads", "--linear-num-value-heads");
  needed(launch, "model.linear_attention.key_dim", "--linear-key-head-dim");
  needed(launch, "model.linear_attention.value_dim", "--linear-value-head-dim");
  // Qwen3-Next's full layers have a gate; with the flag of a variant a flag says it.
  if (variant == nullptr && !launch.latent)
    draft.set("model.attention.output_gate", true, {interval}, "of the other layers");
  const Setting* taps = launch.args.find({"--linear-conv-kernel-dim", "--mamba-d-conv"});
  needed(launch, "model.linear_attention.convolution",
         taps == nullptr ? "--linear-conv-kernel-dim" : taps->name);
}

/// MindSpeed-LLM's names, with its defaults.
void import_indexer(MegatronLaunch& launch, const Setting& switched) {
  const auto count = [&](const char* key, const char* name, std::int64_t missing) {
    const Setting* given = launch.flag(name);
    launch.draft.set(key, launch.args.count_or(name, missing), {given, &switched});
  };
  count("model.attention.index_heads", "--index-n-heads", 64);
  count("model.attention.index_dim", "--index-head-dim", 128);
  count("model.attention.index_top_k", "--index-topk", 2048);
}

void import_sparse(MegatronLaunch& launch, const Setting& variant) {
  if (!launch.latent)
    return launch.args.fail(variant,
                            "is sparse attention (dsa), which chooses latents, allowed: with "
                            "--multi-latent-attention");
  // MindSpeed's indexer has fixed sizes, Megatron-LM's are flags.
  if (variant.name == "--enable-dsa-indexer") return import_indexer(launch, variant);
  needed(launch, "model.attention.index_heads", "--dsa-indexer-n-heads", &variant);
  needed(launch, "model.attention.index_dim", "--dsa-indexer-head-dim");
  needed(launch, "model.attention.index_top_k", "--dsa-indexer-topk");
}

template <std::size_t n>
void idle(MegatronLaunch& launch, const std::array<std::string_view, n>& flags,
          const std::string& beside) {
  for (const std::string_view name : flags)
    if (const Setting* given = launch.flag(name))
      launch.draft.note(*given, "counts only with " + beside);
}

}  // namespace

void import_variant(MegatronLaunch& launch) {
  const Setting* variant = launch.flag("--experimental-attention-variant");
  const Setting* interval =
      launch.args.find({"--linear-attention-freq", "--full-attention-interval"});
  const std::string kind = launch.args.text("--experimental-attention-variant", "");
  // MindSpeed-LLM names the layer by its specification, and the interval says that it is there
  const bool by_interval = launch.flag("--full-attention-interval") != nullptr;
  const bool linear = kind == "gated_delta_net" || (variant == nullptr && by_interval);
  if (variant != nullptr && !linear && kind != "dsa")
    return launch.args.fail(*variant, "is '" + kind + "', allowed: gated_delta_net, dsa");
  if (linear)
    import_linear(launch, variant, interval);
  else
    idle(launch, linear_flags, "--experimental-attention-variant gated_delta_net");
  const Setting* indexer = launch.flag("--enable-dsa-indexer");
  if (variant != nullptr && !linear)
    import_sparse(launch, *variant);
  else if (indexer != nullptr && !linear)
    import_sparse(launch, *indexer);
  else
    idle(launch, index_flags, "--experimental-attention-variant dsa");
  if (indexer == nullptr) idle(launch, mindspeed_index_flags, "--enable-dsa-indexer");
}

}  // namespace stepcast::launch
