#pragma once
#include "structured.hpp"

/// DeepSpeed's JSON, by itself, beside a Hugging Face model, and beside a script of
/// Megatron-DeepSpeed. The model of a Hugging Face folder.
namespace stepcast::launch {

/// What DeepSpeed is told of the job by what stands beside its JSON.
struct DeepSpeedJob {
  std::optional<std::int64_t> devices;
  std::int64_t ranks_per_replica = 1;     ///< tp x pp x cp
  std::optional<std::int64_t> zero = {};  ///< that a script says, too
  /// Of the model, by which the Trainer fills in `auto`.
  std::optional<std::int64_t> hidden = {};
  /// bf16 or fp16, where the Trainer's own settings are known, so that no `auto` is open.
  std::string precision = {};
  bool trainer = false;  ///< the Trainer brings its optimizer where the JSON has none
};

/// Checks the JSON and sets its keys over those of the draft. What a script says as well must be
/// the same.
void apply_deepspeed(const Node& root, DeepSpeedJob job, const ImportOptions& options,
                     Draft& draft);

/// As import_megatron_deepspeed() of a launch that was read already.
std::optional<std::int64_t> import_megatron_deepspeed_launch(const std::string& path, Launch launch,
                                                             const ImportOptions& options,
                                                             Draft& draft);

}  // namespace stepcast::launch
