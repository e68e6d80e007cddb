#include "stepcast/workloads/hugging_face.hpp"

#include <algorithm>
#include <filesystem>

#include "deepspeed.hpp"
#include "model_folder.hpp"
#include "stepcast/base/foreign_document.hpp"
#include "stepcast/workloads/model_spec.hpp"
#include "structured.hpp"

// A Hugging Face model: config.json says the model alone, and the JSON of DeepSpeed the training.
namespace stepcast::launch {
namespace {

void ask(Draft& draft, const char* key, const char* why) {
  if (!draft.given(key)) draft.wrong({}, key, std::string(why) + "; give --set " + key + "=N");
}

/// What no file of either says: one rank holds the whole model unless --set cuts it.
std::int64_t import_plan(Draft& draft) {
  std::int64_t ranks = 1;
  for (const char* key : {"parallel.tp", "parallel.pp", "parallel.cp"}) {
    draft.set(key, 1, {}, "said by no file");
    ranks *= std::max<std::int64_t>(draft.count(key).value_or(1), 1);
  }
  draft.set("parallel.layers_per_chunk", "even", {}, "said by no file");
  ask(draft, "training.sequence", "is not said by a configuration");
  return ranks;
}

/// How the Trainer runs a model of the library: statement by statement but for attention.
void import_transformers(Draft& draft, const std::string& config) {
  const char* why = "Transformers, statement by statement";
  draft.set("training.attention", "fused", {}, "Transformers, sdpa");
  draft.set("training.recompute", "none", {}, "unless gradient_checkpointing is on");
  draft.set("training.dropout", false, {}, "Transformers, models of the last years");
  draft.set("training.cross_entropy", "unfused", {}, why);
  draft.set("communication.gradient.accumulation", "separate", {}, why);
  for (const char* kernel : written_out(config))
    draft.set("runtime.kernels." + std::string(kernel), "unfused", {}, why);
}

/// Of --set, between quotes or not; empty: the model is given key by key.
std::string given_configuration(const Draft& draft) {
  const auto& entries = draft.entries();
  const auto found = std::ranges::find(entries, "model.hf_config", &Entry::path);
  if (found == entries.end()) return {};
  std::string path = found->value;
  std::erase_if(path, [](char c) { return c == '\'' || c == '"'; });
  return path;
}

Node read_json(const std::string& path) {
  return parse_foreign_document(read_document_text(path, SearchPath{}, "a JSON file"), path);
}

}  // namespace

std::vector<const char*> written_out(const std::string& config) {
  ModelSpec model;
  try {
    model = read_hugging_face(config);
  } catch (const InputError&) {
    return {"norm", "rope", "activation"};  // reading the scenario says what is wrong with it
  }
  // Models in Python write out what has no kernel in PyTorch: all activations, every norm but the
  // layer norm, the rotation.
  std::vector<const char*> kernels{"activation"};
  if (model.norm != ModelSpec::Norm::layer || model.qk_norm != ModelSpec::QkNorm::none ||
      model.linear || !std::holds_alternative<GroupedQueryAttention>(model.attention))
    kernels.push_back("norm");
  if (model.position == ModelSpec::Position::rope) kernels.push_back("rope");
  return kernels;
}

std::optional<std::int64_t> hidden_of(const std::string& config) {
  if (config.empty()) return {};
  try {
    return read_hugging_face(config).hidden;
  } catch (const InputError&) {
    return {};  // reading the scenario says what is wrong with it
  }
}

std::optional<std::int64_t> import_deepspeed(const std::string& path, const std::string& text,
                                             const ImportOptions& options, Draft& draft) {
  if (!draft.given("model"))
    draft.wrong({}, "model.hf_config",
                "is not said by a JSON of DeepSpeed; give --set model.hf_config=config.json, or "
                "import config.json with --deepspeed " +
                    path);
  const std::int64_t ranks = import_plan(draft);
  import_transformers(draft, given_configuration(draft));
  const DeepSpeedJob job{options.devices, ranks, {}, hidden_of(given_configuration(draft))};
  apply_deepspeed(parse_foreign_document(text, path), job, options, draft);
  return options.devices;
}

std::string path_of(const std::string& file) {
  if (file == "-")
    refuse_input({file}, {},
                 "is a pasted text, which the scenario cannot name, allowed: the path of a "
                 "file, as model.hf_config");
  return std::filesystem::absolute(file).lexically_normal().string();
}

std::optional<std::int64_t> import_hugging_face(const std::string& path, const std::string&,
                                                const ImportOptions& options, Draft& draft) {
  const std::string file = path_of(path);
  draft.set("model.hf_config", "'" + file + "'", {}, path);
  if (const std::string left_out = left_out_of_hugging_face(file); !left_out.empty())
    draft.note({{path}, {}, left_out});
  if (!options.deepspeed.empty()) {
    const std::int64_t ranks = import_plan(draft);
    import_transformers(draft, file);
    const DeepSpeedJob job{options.devices, ranks, {}, hidden_of(file)};
    apply_deepspeed(read_json(options.deepspeed), job, options, draft);
    return options.devices;
  }
  (void)import_plan(draft);
  ask(draft, "training.global_batch", "is not said by a configuration");
  draft.set("training.micro_batch", 1, {}, "said by no file");
  draft.note({{path},
              {},
              "says the model alone: what is not given with --set or --deepspeed is one rank per "
              "model and Stepcast's defaults; stepcast plan searches a plan"});
  return options.devices;
}

}  // namespace stepcast::launch
