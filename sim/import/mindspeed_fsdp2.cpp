#include <algorithm>

#include "forms.hpp"
#include "model_folder.hpp"
#include "stepcast/base/foreign_document.hpp"
#include "stepcast/workloads/model_spec.hpp"

// MindSpeed-LLM's FSDP2 trainer: a Hugging Face model, sharded whole. Its flags have the names of
// its YAML and count before it.
namespace stepcast::launch {
namespace {

/// Settings of the YAML that a script names, under those of the script.
std::vector<Setting> settings_of_script(const std::string& path, const Launch& launch) {
  std::vector<Setting> all;
  for (const std::string& word : launch.first_words) {
    if (!word.ends_with(".yaml") && !word.ends_with(".yml")) continue;
    const auto file = file_beside(path, word);
    if (!file)
      refuse_input({path}, {}, "names " + word + ", which is not here, allowed: beside the script");
    const std::string text = read_document_text(*file, SearchPath{}, "a YAML file");
    all = flattened(parse_foreign_document(text, *file));
  }
  for (const Setting& flag : launch.settings) {
    Setting setting = flag;
    setting.name = flag.name.substr(2);
    setting.written = flag.name;
    std::erase_if(all, [&](const Setting& other) { return other.name == setting.name; });
    all.push_back(std::move(setting));
  }
  return all;
}

bool has_experts(const std::string& config) {
  if (config.empty()) return false;
  try {
    return read_hugging_face(config).moe.has_value();
  } catch (const InputError&) {
    return false;  // reading the scenario says what is wrong with it
  }
}

struct Fsdp2 {
  Arguments& args;
  Draft& draft;
  std::int64_t tp = 1, cp = 1, ep = 1;
  std::optional<std::int64_t> devices = {};
};

/// Older versions have the switches of kernels among those of the training.
const Setting* find_kernel(const Arguments& args, const std::string& name) {
  const Setting* found = args.find("optimization." + name);
  return found != nullptr ? found : args.find("training." + name);
}

void import_shards(Fsdp2& job) {
  Arguments& args = job.args;
  Draft& draft = job.draft;
  const Setting* size = args.find("parallel.fsdp_size");
  const std::int64_t shards = args.count_in("parallel.fsdp_size", 1, 1, 1 << 20);
  // What is not tensor parallel is sharded: other sizes would leave devices without work.
  if (job.devices && size != nullptr && shards * job.tp != *job.devices)
    args.fail(*size, "is " + std::to_string(shards) + " beside tensor parallelism of " +
                         std::to_string(job.tp) + ", which are not all " +
                         std::to_string(*job.devices) + " devices; give --devices N");
  draft.set("parallel.tp", job.tp, {args.find("parallel.tp_size")});
  draft.set("parallel.pp", 1, {}, "it has no stages");
  draft.set("parallel.cp", job.cp, {args.find("parallel.cp_size")});
  const std::string kind = args.text("parallel.cp_type", "ulysses");
  if (job.cp > 1)
    draft.set("parallel.context_algorithm",
              kind == "ring"          ? "ring"
              : kind == "kvallgather" ? "allgather"
                                      : "ulysses",
              {args.find("parallel.cp_type")});
  // Without resharding weights stay gathered for the backward, as with zero 2.
  const Setting* reshard = args.find("parallel.reshard_after_forward");
  draft.set("parallel.zero", reshard == nullptr || args.on(reshard->name) ? 3 : 2, {size, reshard});
  draft.set("parallel.vpp", 1, {}, "it has no stages");
  draft.set("parallel.layers_per_chunk", "even", {}, "it has no stages");
  const Setting* reduce = args.find("parallel.reduce_dtype");
  draft.set("communication.gradient.precision", args.text("parallel.reduce_dtype", "fp32"),
            {reduce});
}

void import_work(Fsdp2& job) {
  Arguments& args = job.args;
  Draft& draft = job.draft;
  const Setting* micro = args.find("training.per_device_train_batch_size");
  const Setting* steps = args.find("training.gradient_accumulation_steps");
  // Defaults of Transformers' Trainer and of LLaMA-Factory's data, whose arguments these are.
  constexpr std::int64_t missing = 8;
  const std::int64_t of_rank =
      args.count_in("training.per_device_train_batch_size", missing, 1, most_counted);
  const std::int64_t count =
      args.count_in("training.gradient_accumulation_steps", 1, 1, most_counted);
  draft.set("training.micro_batch", of_rank, {micro});
  if (job.devices)
    draft.set("training.global_batch",
              of_rank * count * std::max<std::int64_t>(*job.devices / job.tp / job.cp, 1),
              {micro, steps}, "micro x accumulation x DP");
  constexpr std::int64_t tokens = 2048;
  draft.set("training.sequence", args.count_in("data.cutoff_len", tokens, 1, most_counted),
            {args.find("data.cutoff_len")});
  draft.set("training.precision", "bf16", {args.find("parallel.param_dtype")});
  draft.set("training.recompute", args.on("parallel.recompute") ? "full" : "none",
            {args.find("parallel.recompute")});
  draft.set("training.attention", "fused", {}, "of PyTorch");
  draft.set("training.dropout", false, {}, "models of the last years");
  const auto kernel = [&](const char* key, const std::string& name) {
    const Setting* found = find_kernel(args, name);
    draft.set(key, found != nullptr && args.on(found->name) ? "fused" : "unfused", {found});
  };
  kernel("runtime.kernels.norm", "use_fused_rmsnorm");
  kernel("runtime.kernels.rope", "use_fused_rotary_pos_emb");
}

void import_routed(Fsdp2& job) {
  Arguments& args = job.args;
  Draft& draft = job.draft;
  const Setting* dispatcher = args.find("parallel.ep_dispatcher");
  const std::string kind = args.text("parallel.ep_dispatcher", "eager");
  draft.set("parallel.ep", job.ep, {args.find("parallel.ep_size")});
  draft.set("parallel.etp", 1, {}, "experts are not cut");
  // The product exchanges by itself, in pieces of the kernel's choice.
  if (kind == "mc2" && !draft.given("moe.overlap"))
    args.fail(*dispatcher,
              "exchanges inside its products, in pieces that the file does not say; "
              "give --set moe.overlap=tiles(n)");
  if (job.ep > 1) draft.set("moe.dispatch", "flat", {dispatcher});
  // The fused dispatcher brings grouped products along.
  const Setting* products = find_kernel(args, "moe_grouped_gemm");
  const bool grouped = kind == "fused" || (products != nullptr && args.on(products->name));
  draft.set("moe.experts", grouped ? "grouped" : "sequential",
            {products, grouped ? dispatcher : nullptr});
  if (args.number("training.router_aux_loss_coef").value_or(0) > 0)
    draft.set("moe.router.aux_loss", true, {args.find("training.router_aux_loss_coef")});
}

}  // namespace

std::optional<std::int64_t> import_mindspeed_fsdp2(const std::string& path, const std::string& text,
                                                   const ImportOptions& options, Draft& draft) {
  const bool yaml = is_yaml(path, text);
  Launch launch{path, {}, {}, {}, {}, {}};
  std::vector<Setting> all;
  if (yaml) {
    all = flattened(parse_foreign_document(text, path));
  } else {
    launch = read_shell(path, text, inputs_of(options));
    all = settings_of_script(path, launch);
  }
  const std::vector<Setting> settings =
      checked(Framework::mindspeed_fsdp2, std::move(all), options, draft);
  Arguments args{settings, draft.wrong()};
  Fsdp2 job{args, draft};
  job.tp = args.count_in("parallel.tp_size", 1, 1, 1 << 20);
  job.cp = args.count_in("parallel.cp_size", 1, 1, 1 << 20);
  job.ep = args.count_in("parallel.ep_size", 1, 1, 1 << 20);
  job.devices = devices_of(launch, options, draft);
  if (!job.devices && args.find("parallel.fsdp_size") != nullptr)
    job.devices = args.count_in("parallel.fsdp_size", 1, 1, 1 << 20) * job.tp;
  const std::string config = set_model_folder(args.find("model.model_name_or_path"), path, draft);
  import_shards(job);
  import_work(job);
  if (has_experts(config) || job.ep > 1) import_routed(job);
  return job.devices;
}

}  // namespace stepcast::launch
