#include "deepspeed.hpp"

#include <algorithm>

#include "stepcast/base/text.hpp"

// DeepSpeed's JSON: batches, sharding, precision.
namespace stepcast::launch {
namespace {

struct Json {
  Arguments& args;
  Draft& draft;
  DeepSpeedJob job;
  bool asked_precision = false;  ///< it is auto, which was said
  std::optional<std::int64_t> replicas() const {
    if (!job.devices || *job.devices % job.ranks_per_replica != 0) return {};
    return *job.devices / job.ranks_per_replica;
  }
};

bool is_auto(const Setting& setting) {
  return setting.words.size() == 1 && setting.words.front() == "auto";
}

/// The keys of a precision, of which one message is enough.
bool says_precision(const Setting& setting) { return setting.name.ends_with("16.enabled"); }

/// The Trainer writes `auto` where it fills in its own values. Buckets follow from the model
/// (Transformers, integrations/deepspeed.py, trainer_config_finalize); the others nobody else
/// knows.
std::vector<Setting> without_auto(std::vector<Setting> settings, const DeepSpeedJob& job,
                                  Draft& draft) {
  for (Setting& setting : settings)
    if (is_auto(setting) && setting.name == "zero_optimization.reduce_bucket_size" && job.hidden)
      setting.words = {std::to_string(*job.hidden * *job.hidden)};
  const bool known = !job.precision.empty();
  for (Setting& setting : settings)
    if (known && is_auto(setting) && says_precision(setting)) {
      draft.use(setting);
      setting.words = {setting.name.starts_with("fp") == (job.precision == "fp16") ? "true"
                                                                                   : "false"};
    }
  const auto precision = std::ranges::find_if(
      settings, [](const Setting& s) { return is_auto(s) && says_precision(s); });
  if (precision != settings.end() && !draft.given("training.precision"))
    draft.wrong(*precision,
                "is auto, which the Trainer fills in; give --set training.precision=bf16");
  std::erase_if(settings, [&](const Setting& setting) {
    if (!is_auto(setting)) return false;
    draft.use(setting);
    const auto flag = find_flag(Framework::deepspeed, setting.name);
    const std::string key(flag->key);
    if (draft.given(key)) draft.set(key, std::string(), {&setting});  // which --set replaces
    // Of the three batch sizes two are enough, and import_batch asks for what is missing.
    if (flag->treatment == Treatment::taken && !known && !draft.given(key) &&
        !says_precision(setting) && setting.name != "gradient_accumulation_steps")
      draft.wrong(setting, "is auto, which the Trainer fills in; give --set " + key + "=..");
    return true;
  });
  return settings;
}

/// Sizes that the file says or --set gives, and what they leave to be found.
struct BatchSizes {
  const Setting *all, *piece, *steps;
  std::optional<std::int64_t> global{}, micro{}, count{};
};

std::optional<std::int64_t> positive(Json& json, const Setting* setting) {
  if (setting == nullptr) return {};
  const auto value = json.args.count(setting->name);
  if (!value || *value >= 1) return value;
  json.args.fail(*setting, "is " + std::to_string(*value) + ", allowed: at least 1");
  return {};
}

/// A size of the file beside one of --set, which counts.
std::optional<std::int64_t> beside_said(Json& json, const Setting* setting, const char* key,
                                        std::optional<std::int64_t> value) {
  const auto said = json.draft.count(key);
  if (json.draft.given(key)) return said;
  if (setting != nullptr && said && value && *said != *value)
    json.args.fail(*setting, "is " + std::to_string(*value) + ", and " + key + " is " +
                                 std::to_string(*said) + " beside it, allowed: the same");
  return value ? value : said;
}

/// Two of three give the third; three must multiply.
bool complete(Json& json, BatchSizes& s) {
  const auto dp = json.replicas();
  if (s.micro && s.global && s.count && dp && *s.micro * *s.count * *dp != *s.global) {
    json.args.fail(s.all != nullptr ? *s.all : *s.steps,
                   "gives " + std::to_string(*s.global) + " sequences, and micro-batch x " +
                       "accumulation x DP are " + std::to_string(*s.micro) + " x " +
                       std::to_string(*s.count) + " x " + std::to_string(*dp) +
                       ", allowed: the same");
    return false;
  }
  if (!s.micro && s.global && dp && *s.global % (*dp * s.count.value_or(1)) == 0)
    s.micro = *s.global / (*dp * s.count.value_or(1));
  if (!s.global && s.micro && dp) s.global = *s.micro * s.count.value_or(1) * *dp;
  return true;
}

void import_batch(Json& json) {
  Arguments& args = json.args;
  Draft& draft = json.draft;
  BatchSizes s{args.find("train_batch_size"), args.find("train_micro_batch_size_per_gpu"),
               args.find("gradient_accumulation_steps")};
  s.global = positive(json, s.all);
  // Any two of the three sizes give the third, since their product is the global batch. What is
  // said beside the file wins.
  s.micro = positive(json, s.piece);
  s.count = positive(json, s.steps);
  s.micro = beside_said(json, s.piece, "training.micro_batch", s.micro);
  s.global = beside_said(json, s.all, "training.global_batch", s.global);
  if (!complete(json, s)) return;
  const auto ask = [&](const char* key) {
    draft.wrong({}, key, "is not said by the file; give --set " + std::string(key) + "=N");
  };
  if (s.micro)
    draft.set("training.micro_batch", *s.micro, {s.piece, s.piece == nullptr ? s.all : nullptr});
  else
    ask("training.micro_batch");
  if (s.global)
    draft.set("training.global_batch", *s.global,
              {s.all, s.all == nullptr ? s.piece : nullptr, s.steps},
              s.all == nullptr ? "micro x accumulation x DP" : "");
  else if (json.replicas())
    ask("training.global_batch");
}

/// Without overlap one bucket holds all gradients, so that its size counts only beside it.
void import_sharding(Json& json) {
  Arguments& args = json.args;
  Draft& draft = json.draft;
  const Setting* stage = args.find("zero_optimization.stage");
  const Setting* overlap = args.find("zero_optimization.overlap_comm");
  const Setting* bucket = args.find("zero_optimization.reduce_bucket_size");
  const std::int64_t zero = args.count_or("zero_optimization.stage", 0);
  if (zero < 0 || zero > 3)
    return args.fail("zero_optimization.stage", "is " + std::to_string(zero) + ", allowed: 0 to 3");
  if (json.job.zero && *json.job.zero != zero)
    args.fail("zero_optimization.stage", "is " + std::to_string(zero) + ", and --zero-stage is " +
                                             std::to_string(*json.job.zero) +
                                             ", allowed: the same");
  draft.set("parallel.zero", zero, {stage}, stage == nullptr ? "stage 0 unless given" : "");
  // Defaults of DeepSpeed's zero/config.py: overlap is on at stage 3 alone.
  const bool on = overlap != nullptr ? args.on(overlap->name) : zero == 3;
  draft.set("communication.gradient.overlap", on && zero > 0, {overlap},
            overlap == nullptr ? "true at stage 3 unless given" : "");
  if (on && (zero == 1 || zero == 2))
    draft.set("communication.parameter.overlap", false, {overlap}, "gathers behind the update");
  if (const Setting* second = args.find("zero_optimization.zero_hpz_partition_size")) {
    const std::int64_t ranks = args.count_or(second->name, 1);
    if (ranks > 1 && zero < 3)
      draft.note(*second, "counts only at stage 3");
    else if (ranks > 1)
      draft.set("parallel.hpz", ranks, {second});
  }
  constexpr double elements = 5e8;  // of zero/config.py
  const double size = bucket == nullptr ? elements : args.number(bucket->name).value_or(elements);
  // Without overlap there is one bucket of everything.
  if (on && zero > 0)
    draft.set("communication.gradient.bucket", shortest(size), {bucket},
              bucket == nullptr ? "5e8 elements unless given" : "");
}

void import_precision(Json& json) {
  Arguments& args = json.args;
  Draft& draft = json.draft;
  const Setting* bf16 = args.find({"bf16.enabled", "bfloat16.enabled"});
  // Both spellings are in use.
  const Setting* fp16 = args.find("fp16.enabled");
  const bool brain = bf16 != nullptr && args.on(bf16->name);
  const bool half = fp16 != nullptr && args.on(fp16->name);
  if (brain && half) return args.fail(*fp16, "does not go with bf16.enabled");
  // Without a switch DeepSpeed trains in FP32, and that is asked about rather than taken for BF16.
  if (!brain && !half && !json.asked_precision && !draft.given("training.precision"))
    draft.wrong({}, "training.precision",
                "would be FP32, as neither bf16 nor fp16 is enabled, which no value stands for; "
                "give --set training.precision=bf16");
  draft.set("training.precision", half ? "fp16" : "bf16", {brain ? bf16 : fp16});
  const Setting* type = args.find("communication_data_type");
  const std::string name = args.text("communication_data_type", "bf16");
  // Gradients travel as the parameters are unless the file says otherwise.
  const bool wide = name == "fp32" || name == "float32" || name == "torch.float32";
  draft.set("communication.gradient.precision", wide ? "fp32" : "bf16", {type},
            type == nullptr ? "two bytes, as the parameters" : "");
}

void import_rest(Json& json) {
  Arguments& args = json.args;
  Draft& draft = json.draft;
  const Setting* optimizer = args.find("optimizer.type");
  const std::string name = args.text("optimizer.type", "Adam");
  if (!name.ends_with("Adam") && !name.ends_with("AdamW") && !draft.given("runtime.optimizer"))
    args.fail(*optimizer, "is '" + name + "', allowed: Adam, AdamW, FusedAdam");
  // Other algorithms send other bytes: compressed updates and updates on the host have no key.
  if (name.starts_with("OneBit") || name.starts_with("ZeroOne") || name.starts_with("CPU"))
    args.fail(*optimizer, "is '" + name + "', allowed: Adam, AdamW, FusedAdam");
  const Setting* plain = args.find("optimizer.params.torch_adam");
  const bool torch = plain != nullptr && args.on(plain->name);
  // DeepSpeed takes its own fused Adam unless torch's is asked for.
  if (optimizer != nullptr || !json.job.trainer)
    draft.set("runtime.optimizer", torch ? "elementwise" : "fused", {optimizer, plain},
              optimizer == nullptr ? "DeepSpeed's own Adam" : "");
  if (const Setting* host = args.find("activation_checkpointing.cpu_checkpointing");
      host != nullptr && args.on(host->name))
    draft.set("training.offload.activations", 1, {host});
}

}  // namespace

void apply_deepspeed(const Node& root, DeepSpeedJob job, const ImportOptions& options,
                     Draft& draft) {
  if (root.kind != Node::Kind::mapping)
    return draft.wrong(root.place, {}, "is no JSON of DeepSpeed, allowed: an object");
  const std::vector<Setting> said = checked_settings(Framework::deepspeed, root, options, draft);
  const bool open =
      std::ranges::any_of(said, [](const Setting& s) { return is_auto(s) && says_precision(s); });
  const std::vector<Setting> settings = without_auto(said, job, draft);
  Arguments args{settings, draft.wrong()};
  const std::int64_t tensor = args.count_or("tensor_parallel.autotp_size", 1);
  if (tensor > 1 && !draft.given("parallel.tp")) {
    draft.set("parallel.tp", tensor, {args.find("tensor_parallel.autotp_size")});
    job.ranks_per_replica *= tensor;
  }
  Json json{args, draft, job, open};
  import_batch(json);
  import_sharding(json);
  import_precision(json);
  import_rest(json);
}

}  // namespace stepcast::launch
