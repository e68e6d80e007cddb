#include <algorithm>

#include "imported_adapters.hpp"
#include "megatron.hpp"
#include "stepcast/base/describe.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/workloads/training_spec.hpp"

// Precision, recomputation, gradients, kernels, the environment.
namespace stepcast::launch {
namespace {

/// Recipes of Megatron-LM's --fp8-recipe; the scenario has the same names.
constexpr std::string_view fp8_recipes[] = {"delayed", "tensorwise", "blockwise", "mxfp8"};

/// What stands beside FP8 products: how they are scaled, and rows of experts that are padded.
void import_fp8(MegatronLaunch& launch) {
  Draft& draft = launch.draft;
  const Setting* recipe = launch.flag("--fp8-recipe");
  const Setting* padding =
      launch.args.find({"--moe-router-padding-for-quantization", "--moe-router-padding-for-fp8"});
  if (!draft.says("training.precision", "fp8_mixed")) {
    for (const Setting* flag : {recipe, padding})
      if (flag != nullptr) draft.note(*flag, "counts only with --fp8-format");
    return;
  }
  // A recipe that --set gives is not judged: it stands for one that no value has.
  const std::string name = launch.args.text("--fp8-recipe", "delayed");
  if (draft.given("training.fp8_recipe") ||
      std::ranges::find(fp8_recipes, name) != std::end(fp8_recipes))
    draft.set("training.fp8_recipe", name, {recipe});
  else
    launch.args.fail(*recipe, "is '" + name + "', allowed: delayed, tensorwise, blockwise, mxfp8");
  // Rows that fill a capacity are padded already.
  const Setting* padded = launch.flag("--moe-pad-expert-input-to-capacity");
  // FP8 products take rows in multiples of 16 or 32. Transformer Engine copies rows of experts into
  // padded ones unless the router pads them; MindSpeed has products that take any number.
  if (launch.experts && !launch.mindspeed())
    draft.set("moe.row_padding", padding != nullptr || padded != nullptr ? "none" : "copies",
              {padding, padded});
  else if (padding != nullptr)
    draft.note(*padding, "counts only with experts");
}

void import_precision(MegatronLaunch& launch) {
  const Setting* bf16 = launch.flag("--bf16");
  const Setting* fp16 = launch.flag("--fp16");
  const Setting* fp8 = launch.flag("--fp8-format");
  Draft& draft = launch.draft;
  // Megatron-LM trains in FP32 then, which nobody means at this size.
  if (bf16 == nullptr && fp16 == nullptr && !draft.given("training.precision"))
    draft.wrong({}, "training.precision",
                "would be FP32, as neither --bf16 nor --fp16 is given, which no value stands for; "
                "give --set training.precision=bf16");
  draft.set("training.precision",
            fp8 != nullptr    ? "fp8_mixed"
            : fp16 != nullptr ? "fp16"
                              : "bf16",
            {fp8, bf16, fp16});
  import_fp8(launch);
  const Setting* reduced = launch.args.find({"--grad-reduce-in-bf16", "--o2-gradient"});
  const Setting* type = launch.flag("--main-grads-dtype");
  const Setting* wide = launch.flag("--accumulate-allreduce-grads-in-fp32");
  // Megatron-LM reduces in FP32 with --bf16 unless told, and with --fp16 only when told.
  const bool half = reduced != nullptr || launch.args.text("--main-grads-dtype") == "bf16" ||
                    (fp16 != nullptr && bf16 == nullptr && wide == nullptr);
  draft.set("communication.gradient.precision", half ? "bf16" : "fp32",
            {reduced, type, wide, half && reduced == nullptr && type == nullptr ? fp16 : nullptr});
}

/// `block`: the first n layers of each chunk, or of each stage.
std::string block_table(const MegatronLaunch& launch, std::int64_t most, bool per_stage,
                        bool& all) {
  std::vector<std::vector<std::int64_t>> table(launch.cut.size());
  for (std::size_t s = 0; s < launch.cut.front().size(); ++s) {
    std::int64_t left = most;
    for (std::size_t c = 0; c < launch.cut.size(); ++c) {
      // Per stage the count runs on from chunk to chunk; per chunk each begins anew.
      const std::int64_t take = per_stage ? std::min(left, launch.cut[c][s]) : most;
      left -= take;
      const std::int64_t count = launch.real_layers(c, s, take);
      all = all && count == launch.real_layers(c, s, launch.cut[c][s]);
      table[c].push_back(count);
    }
  }
  return table_text(table);
}

void import_full(MegatronLaunch& launch, const Setting* granularity) {
  const Setting* method = launch.flag("--recompute-method");
  const Setting* layers = launch.flag("--recompute-num-layers");
  const std::string name = launch.args.text("--recompute-method");
  const std::int64_t n = launch.args.count_or("--recompute-num-layers", 1);
  // Uniform keeps the input of every group of n layers; with n = 1 that is the input of every
  // layer, which is what full means.
  if (name == "uniform") {
    if (n == 0) launch.args.fail(*layers, "is 0, allowed: 1");
    if (n > 1)
      launch.args.fail(*layers,
                       "keeps one input for several layers, which no value of training.recompute "
                       "says, allowed: 1");
    return launch.draft.set("training.recompute", "full", {granularity, method, layers});
  }
  if (name != "block")
    return launch.args.fail(*granularity,
                            "is full without --recompute-method, allowed: uniform, block");
  if (launch.cut.empty() || n < 0) return;
  bool all = true;
  const Setting* per_stage = launch.flag("--enable-recompute-layers-per-pp-rank");
  const std::string table = block_table(launch, n, per_stage != nullptr, all);
  launch.draft.set("training.recompute", all ? std::string("full") : table,
                   {granularity, method, layers, per_stage});
}

/// Switches that are a module each, older ones of Megatron-LM and MindSpeed's own.
constexpr std::pair<std::string_view, std::string_view> module_switches[] = {
    {"--moe-layer-recompute", "moe"},
    {"--recompute-mla-up-proj", "mla_up_proj"},
    {"--recompute-norm", "layernorm"},
    {"--recompute-activation-function", "mlp_act"}};

/// The modules that the flags name; `selective` where that is the attention core alone.
void import_modules(MegatronLaunch& launch, std::vector<std::string> words,
                    std::initializer_list<const Setting*> flags) {
  for (const auto& [flag, module] : module_switches)
    if (launch.flag(flag) != nullptr && std::ranges::find(words, module) == words.end())
      words.emplace_back(module);
  // Selective recomputation of Megatron-LM's paper is that of the attention core alone.
  const bool core = words == std::vector<std::string>{"core_attn"};
  launch.draft.set("training.recompute",
                   core ? std::string("selective") : "{modules: [" + joined(words) + "]}", flags);
}

/// Without a word the attention core. False: a word is unknown, which is said.
bool selected_modules(MegatronLaunch& launch, const Setting* named,
                      std::vector<std::string>& words) {
  words = named != nullptr ? named->words : std::vector<std::string>{};
  std::vector<std::string> all(recompute_modules.begin(), recompute_modules.end());
  std::erase(all, "mlp_act");  // a flag of MindSpeed's own
  for (const std::string& word : words)
    if (std::ranges::find(all, word) == all.end()) {
      launch.args.fail(*named, "names " + word + ", allowed: " + joined(all));
      return false;
    }
  if (words.empty()) words = {"core_attn"};
  return true;
}

const Setting* module_switch(const MegatronLaunch& launch) {
  for (const auto& [flag, module] : module_switches)
    if (const Setting* setting = launch.flag(flag)) return setting;
  return nullptr;
}

/// MindSpeed's checks. What it rebuilds of shared experts is not known.
void check_activation_function(MegatronLaunch& launch) {
  const Setting* activation = launch.flag("--recompute-activation-function");
  if (activation == nullptr || launch.draft.given("training.recompute")) return;
  if (launch.args.text("--recompute-granularity") == "selective")
    launch.args.fail(*activation, "does not go with --recompute-granularity selective");
  if (launch.experts)
    launch.args.fail(*activation,
                     "does not go with experts: no value of training.recompute says which of their "
                     "activations run again; give it as --set training.recompute=...");
}

/// MindSpeed's --swap-attention: attention waits on the host, and what recomputation asks for is
/// done for the feed-forward parts and experts alone. True: that said what is rebuilt.
bool import_swapped(MegatronLaunch& launch) {
  const Setting* swap = launch.flag("--swap-attention");
  if (swap == nullptr) return false;
  if (launch.flag("--use-flash-attn") == nullptr) launch.args.fail(*swap, "needs --use-flash-attn");
  launch.draft.set("training.offload.activations", "attention", {swap});
  const Setting* layers = launch.flag("--recompute-num-layers");
  const std::int64_t n = launch.args.count_or("--recompute-num-layers", 0);
  if (n == 0 || launch.draft.given("training.recompute")) return false;
  // MindSpeed rebuilds the first n layers of each chunk; with n of at least a chunk these are all.
  const bool uniform = launch.args.text("--recompute-method") == "uniform";
  const auto all_of = [n](const auto& stages) { return n >= std::ranges::max(stages); };
  if (!uniform && !std::ranges::all_of(launch.cut, all_of)) {
    launch.args.fail(
        *layers,
        "rebuilds some feed-forward parts of a chunk beside --swap-attention, which no "
        "value of training.recompute says, allowed: all layers");
    return true;
  }
  const bool dense = !launch.experts ||
                     launch.draft.count("model.moe.first_dense").value_or(0) > 0 ||
                     launch.draft.count("model.moe.period").value_or(1) > 1;
  const std::string modules = !launch.experts ? "mlp" : dense ? "mlp, moe" : "moe";
  launch.draft.set(
      "training.recompute", "{modules: [" + modules + "]}",
      {launch.flag("--recompute-granularity"), launch.flag("--recompute-method"), layers, swap});
  return true;
}

void import_recompute(MegatronLaunch& launch) {
  check_activation_function(launch);
  if (import_swapped(launch)) return;
  const Setting* activations = launch.flag("--recompute-activations");
  const Setting* granularity = launch.flag("--recompute-granularity");
  const Setting* modules = launch.flag("--recompute-modules");
  const Setting* single = module_switch(launch);
  // The short switch stands for selective recomputation and wins over the long one.
  const std::string name =
      activations != nullptr ? "selective" : launch.args.text("--recompute-granularity", "none");
  // Without a granularity its parameters do nothing, which is worth a note and no error.
  if (name == "none" || name == "null") {
    if (const Setting* method = launch.flag("--recompute-method"))
      launch.draft.note(*method, "counts only with --recompute-granularity full");
    if (modules != nullptr)
      launch.draft.note(*modules, "counts only with --recompute-granularity selective");
    // Switches of single modules are MindSpeed's and count by themselves.
    if (single != nullptr) return import_modules(launch, {}, {single});
    return launch.draft.set("training.recompute", "none", {});
  }
  if (name == "full") {
    if (single != nullptr && !launch.draft.given("training.recompute"))
      return launch.args.fail(*single,
                              "does not go with --recompute-granularity full, and "
                              "training.recompute is one of both");
    return import_full(launch, granularity);
  }
  if (name != "selective")
    return launch.args.fail("--recompute-granularity",
                            "is '" + name + "', allowed: full, selective");
  std::vector<std::string> words;
  if (launch.draft.given("training.recompute") || selected_modules(launch, modules, words))
    import_modules(launch, words, {activations, granularity, modules, single});
}

void import_attention(MegatronLaunch& launch) {
  const Setting* flash = launch.flag("--use-flash-attn");
  const Setting* backend = launch.flag("--attention-backend");
  const Setting* implementation = launch.flag("--transformer-impl");
  const std::string impl = launch.args.text("--transformer-impl", "transformer_engine");
  const std::string kind = launch.args.text("--attention-backend", "auto");
  // MindSpeed fuses attention on demand; Megatron-LM's Transformer Engine chooses a fused kernel
  // itself, and only its own local layers need the flag.
  const bool unfused = launch.mindspeed() ? flash == nullptr
                                          : kind == "unfused" || kind == "local" ||
                                                (impl == "local" && flash == nullptr);
  // Megatron-DeepSpeed's, by another name here; where both are given it takes this one.
  const bool triton = flash != nullptr && flash->shown() == "--use-flash-attn-triton";
  const std::string fused = triton ? "flash_triton" : "fused";
  launch.draft.set("training.attention", unfused ? "unfused" : fused,
                   {flash, backend, unfused || flash == nullptr ? implementation : nullptr});
  const bool chosen = launch.draft.count("model.attention.index_heads").value_or(0) > 0;
  if (!launch.mindspeed() || !launch.latent || unfused || chosen) return;
  const Setting* whole = launch.flag("--mla-fa-without-pad");
  const Setting* base = launch.flag("--padded-base-length");
  if (whole != nullptr) return launch.draft.set("training.attention_head", "none", {whole});
  // CANN's kernel takes heads of one width: the widest of queries and values, rounded up.
  const std::int64_t multiple = launch.args.count_in("--padded-base-length", 128, 1, most_counted);
  const std::int64_t widest =
      std::max(launch.draft.count("model.attention.nope_dim").value_or(0) +
                   launch.draft.count("model.attention.rope_dim").value_or(0),
               launch.draft.count("model.attention.v_dim").value_or(0));
  const Setting* width = launch.args.find({"--v-head-dim", "--qk-nope-head-dim", "--qk-head-dim"});
  launch.draft.set("training.attention_head", (widest + multiple - 1) / multiple * multiple,
                   {base, base == nullptr ? width : nullptr}, "heads are padded for the kernel");
}

void import_dropout(MegatronLaunch& launch) {
  const Setting* hidden = launch.flag("--hidden-dropout");
  // Megatron-LM drops a tenth unless told; most scripts say 0.
  const double rate = hidden == nullptr ? 0.1 : launch.args.rate("--hidden-dropout");
  launch.draft.set("training.dropout", rate > 0, {hidden},
                   hidden == nullptr ? "0.1 unless given" : "");
}

/// Products and collectives of tensor ranks in one kernel of CANN.
void import_mc2(MegatronLaunch& launch, const Setting& mc2) {
  if (launch.tp == 1 || !launch.args.on("--sequence-parallel"))
    return launch.draft.note(
        mc2, "counts only with tensor and sequence parallelism: it changes nothing here");
  if (launch.experts)
    return launch.draft.note(mc2,
                             "is taken to do nothing beside experts, which is assumed; --set "
                             "communication.tensor.overlap says otherwise");
  if (!launch.draft.given("communication.tensor.overlap"))
    launch.draft.note(mc2,
                      "is taken for four pieces, which is assumed, as no flag says how many; "
                      "--set communication.tensor.overlap='chunks(n)' says it");
  launch.draft.set("communication.tensor.overlap", "chunks(4)", {&mc2}, "in four pieces: assumed");
}

void import_tensor_overlap(MegatronLaunch& launch) {
  const Setting* userbuffers = launch.flag("--tp-comm-overlap");
  const Setting* coc = launch.flag("--use-ascend-coc");
  const Setting* pieces = launch.flag("--coc-parallel-num");
  // Transformer Engine cuts products before a reduction into four, and those behind a gather into
  // one for each rank: more than four calls of a library would start later than its ring's steps.
  constexpr std::int64_t pieces_of_reduction = 4;
  if (userbuffers != nullptr && launch.tp > 1) {
    if (!launch.args.on("--sequence-parallel"))
      return launch.args.fail(*userbuffers, "needs --sequence-parallel");
    return launch.draft.set(
        "communication.tensor.overlap",
        "chunks(" + std::to_string(std::min(launch.tp, pieces_of_reduction)) + ")", {userbuffers});
  }
  if (const Setting* mc2 = launch.args.find({"--use-mc2", "--use-ascend-mc2"}))
    return import_mc2(launch, *mc2);
  if (coc == nullptr || launch.tp == 1) return;
  const std::int64_t n = launch.args.count_or("--coc-parallel-num", 1);
  launch.draft.set("communication.tensor.overlap",
                   n > 1 ? "chunks(" + std::to_string(n) + ")" : std::string("none"),
                   {coc, pieces});
}

/// Documents that do not see each other: how long they are no flag says.
void import_documents(MegatronLaunch& launch) {
  Draft& draft = launch.draft;
  const Setting* fixed = launch.flag("--fix-sub-seq-length");
  const Setting* reset =
      launch.args.on("--reset-attention-mask") ? launch.flag("--reset-attention-mask") : nullptr;
  if (reset == nullptr) {
    if (fixed != nullptr) draft.note(*fixed, "counts only with --reset-attention-mask");
    return;
  }
  const bool given = draft.given("schedule.data.documents");
  // -1 asks MindSpeed for the lengths that the data has.
  const bool alike = fixed != nullptr && launch.args.text(fixed->name) != "-1";
  if (alike && !given) {
    const std::int64_t length = launch.args.count_in(fixed->name, 1, 1, most_counted);
    draft.set("schedule.data.documents.distribution", "fixed", {fixed});
    draft.set("schedule.data.documents.length", length, {fixed});
  } else if (!given) {
    return draft.note(*reset,
                      "hides documents from each other (schedule.data.mask document), and no flag "
                      "says how long they are: attention is that of whole sequences until --set "
                      "'schedule.data.documents={mean: TOKENS}' says it");
  }
  draft.set("schedule.data.packing", "sequential", {fixed, reset});
  draft.set("schedule.data.mask", "document", {fixed, reset});
}

bool has_rotary_positions(const MegatronLaunch& launch) {
  const std::string type = launch.args.text("--position-embedding-type", "learned_absolute");
  return launch.flag("--use-rotary-position-embeddings") != nullptr || type == "rope" ||
         type == "yarn" || type == "mrope";
}

/// Kernels that MindSpeed-LLM fuses on demand, and Megatron-LM unless told. Layer norms are one
/// kernel of PyTorch whatever the flags say, and learned positions rotate nothing.
void import_kernels(MegatronLaunch& launch) {
  const auto kernel = [&](const char* key, bool statements, const Setting* fused,
                          const Setting* unfused, const char* word = "fused") {
    // MindSpeed-LLM fuses on demand, Megatron-LM unless told not to.
    const bool together = launch.mindspeed() ? fused != nullptr : unfused == nullptr;
    launch.draft.set(key,
                     std::string(!statements ? "fused"
                                 : together  ? word
                                             : "unfused"),
                     {fused, launch.mindspeed() ? nullptr : unfused});
  };
  if (launch.mindspeed())
    kernel("runtime.kernels.norm",
           launch.args.text("--normalization", "LayerNorm") == "RMSNorm" ||
               launch.flag("--post-norm") != nullptr,
           launch.flag("--use-fused-rmsnorm"), nullptr);
  kernel("runtime.kernels.rope", has_rotary_positions(launch),
         launch.flag("--use-fused-rotary-pos-emb"), launch.flag("--no-rope-fusion"),
         launch.mindspeed() ? "sliced" : "fused");
  if (const Setting* formula = launch.flag("--gelu-tanh"))
    return launch.draft.set("runtime.kernels.activation", "formula", {formula});
  // A fused bias and GELU is a script of single statements on NPUs.
  if (launch.mindspeed() && launch.draft.says("model.ffn.kind", "gelu") &&
      launch.draft.says("model.bias", "all") &&
      launch.args.find({"--no-bias-gelu-fusion", "--use-fused-swiglu"}) == nullptr) {
    launch.draft.set("runtime.kernels.activation", "formula", {}, "bias and GELU as a script");
    return launch.draft.keep("runtime.kernels.activation");
  }
  kernel("runtime.kernels.activation", true, launch.flag("--use-fused-swiglu"),
         launch.args.find({"--no-bias-swiglu-fusion", "--no-bias-gelu-fusion"}));
}

/// All parts of the layers that the model has.
std::vector<std::string> whole_layers(const MegatronLaunch& launch) {
  if (!launch.experts) return {"attn", "mlp"};
  const bool dense = launch.draft.count("model.moe.first_dense").value_or(0) > 0 ||
                     launch.draft.count("model.moe.period").value_or(1) > 1;
  if (dense) return {"attn", "mlp", "moe"};
  return {"attn", "moe"};
}

/// Scopes of --cuda-graph-scope. Nothing: a word has no counterpart, which is said.
std::vector<std::string> graph_words(MegatronLaunch& launch, const Setting* scope) {
  static const std::vector<std::string> known{
      "attn", "mlp", "moe_router", "moe_preprocess", "shared_experts", "moe"};
  if (scope == nullptr || scope->words.empty() || scope->words.front() == "full")
    return whole_layers(launch);
  for (const std::string& word : scope->words)
    if (std::ranges::find(known, word) == known.end()) {
      launch.args.fail(*scope, "names " + word +
                                   ", which no value of runtime.graphs says, allowed: full, " +
                                   joined(known));
      return {};
    }
  return scope->words;
}

void import_graphs(MegatronLaunch& launch) {
  const Setting* made = launch.flag("--cuda-graph-impl");
  const Setting* external = launch.flag("--external-cuda-graph");
  const Setting* scope = launch.args.find({"--cuda-graph-modules", "--cuda-graph-scope"});
  if (launch.draft.given("runtime.graphs")) return;
  const std::string name =
      launch.args.text("--cuda-graph-impl", external != nullptr ? "transformer_engine" : "none");
  // The name of a Python value is what configurations write.
  if (name == "none" || name == "None") {
    if (scope != nullptr)
      launch.draft.note(*scope, "counts only with --cuda-graph-impl transformer_engine");
    return;
  }
  if (name != "transformer_engine")
    return launch.args.fail(*made,
                            "is '" + name +
                                "', graphs that no value of runtime.graphs says, allowed: none, "
                                "transformer_engine");
  const std::vector<std::string> words = graph_words(launch, scope);
  if (!words.empty())
    launch.draft.set("runtime.graphs", "{scopes: [" + joined(words) + "]}",
                     {scope, made, external});
}

/// Of GPUs. Where it holds nothing back nothing is said, as most scripts set the variable.
void import_start_order(MegatronLaunch& launch) {
  Draft& draft = launch.draft;
  const Setting* connections = launch.environment.find("CUDA_DEVICE_MAX_CONNECTIONS");
  if (launch.mindspeed() || connections == nullptr) return;
  // With one connection the device takes kernels of all streams in the order in which the host
  // issued them.
  const bool one = launch.environment.text("CUDA_DEVICE_MAX_CONNECTIONS") == "1";
  if (one && draft.says("communication.gradient.overlap", "true") &&
      (!draft.given("runtime.dispatch") || draft.says("runtime.dispatch", "eager")))
    draft.set("runtime.start_order", "as_issued", {connections});
  if (one) return;
  if (draft.says("communication.gradient.overlap", "true"))
    draft.set_where_used("runtime.start_order", "by_stream", {connections});
  if (launch.tp > 1 || launch.cp > 1)
    draft.note(
        *connections,
        "must be 1 before Blackwell with tensor or context parallelism, or overlaps are lost");
}

void import_environment(MegatronLaunch& launch) {
  Draft& draft = launch.draft;
  // Variables of CANN and torch_npu, which GPUs do not read.
  if (launch.mindspeed()) {
    const Setting* queue = launch.environment.find("TASK_QUEUE_ENABLE");
    // torch_npu hands operators to a second thread unless told; 0 launches them from the main one.
    const std::string level = launch.environment.text("TASK_QUEUE_ENABLE", "1");
    draft.set("runtime.dispatch", level == "0" ? "eager" : "task_queue", {queue});
    if (const Setting* blocking = launch.environment.find("ASCEND_LAUNCH_BLOCKING");
        blocking != nullptr && launch.environment.text("ASCEND_LAUNCH_BLOCKING") == "1")
      draft.set("stalls.host_sync", "unit", {blocking});
    if (const Setting* algorithm = launch.environment.find("HCCL_ALGO")) {
      const std::string text = launch.environment.text("HCCL_ALGO");
      // `level0:NA;level1:pipeline`: what it says of the network between nodes.
      const std::size_t outer = text.find("level1:");
      const std::string name =
          outer == std::string::npos
              ? ""
              : text.substr(outer + 7, text.find_first_of(";/,", outer + 7) - outer - 7);
      const bool known = name == "mesh" || name == "pairwise" || name == "hierarchical";
      if (text.starts_with("alltoall=") && known)
        draft.set("communication.algorithm.all_to_all", name, {algorithm});
      else if (text.starts_with("alltoall=") && name == "pipeline")
        draft.note(*algorithm, "is '" + text +
                                   "': not followed; --set cluster.collectives.all_to_all=pipeline "
                                   "takes it, where nodes are meshes and no super-nodes");
      else
        draft.note(*algorithm,
                   "is '" + text + "': not followed, the library's own selection is taken");
    }
    if (const Setting* buffer = launch.environment.find("HCCL_BUFFSIZE"))
      draft.note(*buffer, "is " + launch.environment.text("HCCL_BUFFSIZE") +
                              " MB; --set cluster.collectives.buffer=" +
                              launch.environment.text("HCCL_BUFFSIZE") + "MiB takes it");
  }
  import_start_order(launch);
}

/// Of MindSpeed-LLM, which takes those of peft.
void import_adapters(MegatronLaunch& launch) {
  const Setting* targets = launch.flag("--lora-target-modules");
  const Setting* rank = launch.flag("--lora-r");
  const Setting* packed = launch.flag("--qlora-nf4");
  if (targets == nullptr) {
    for (const Setting* flag : {rank, packed})
      if (flag != nullptr) launch.draft.note(*flag, "counts only with --lora-target-modules");
    return;
  }
  set_adapters(
      {.rank = rank, .targets = targets, .packed = packed, .otherwise = 16, .split = "one"},
      launch.args, launch.draft);
}

}  // namespace

void import_training(MegatronLaunch& launch) {
  Draft& draft = launch.draft;
  const Setting* sequence = launch.args.find({"--seq-length", "--encoder-seq-length"});
  if (sequence != nullptr)
    draft.set("training.sequence", launch.args.count_or(sequence->name, 1), {sequence});
  import_precision(launch);
  import_recompute(launch);
  import_dropout(launch);
  import_attention(launch);
  // Unfused is Megatron-LM's default.
  const Setting* loss = launch.flag("--cross-entropy-loss-fusion");
  draft.set("training.cross_entropy", loss != nullptr ? "fused" : "unfused", {loss});
  import_states(launch);
  // Both frameworks accumulate inside the product unless told not to; MindSpeed names the switch
  // the other way round.
  const Setting* separate = launch.flag("--no-gradient-accumulation-fusion");
  const Setting* fused = launch.flag("--gemm-gradient-accumulation-fusion");
  draft.set("communication.gradient.accumulation",
            separate != nullptr && fused == nullptr ? "separate" : "fused",
            {fused != nullptr ? fused : separate});
  if (const Setting* bucket = launch.flag("--ddp-bucket-size"))
    draft.set("communication.gradient.bucket", launch.args.count_or(bucket->name, 1), {bucket});
  import_tensor_overlap(launch);
  import_documents(launch);
  import_adapters(launch);
}

void import_runtime(MegatronLaunch& launch) {
  import_kernels(launch);
  import_graphs(launch);
  import_environment(launch);
}

}  // namespace stepcast::launch
