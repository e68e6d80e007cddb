#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "megatron.hpp"
#include "structured.hpp"

// torchtitan: the model is a name, the rest are degrees.
namespace stepcast::launch {
namespace {

/// Layers that embedding and head stand for where a framework deals out layers.
struct EndLayers {
  std::int64_t first, last;
};

/// Layers of each chunk and stage, [chunk][stage]: with the ends they are dealt out evenly over
/// `count` chunks of `stages` stages, the first take what is left, and the ends are taken off.
/// Nothing where a chunk would hold less than no layer.
std::vector<std::vector<std::int64_t>> dealt_layers(std::int64_t layers, EndLayers ends,
                                                    std::int64_t stages, std::int64_t count) {
  const std::int64_t all = layers + ends.first + ends.last;
  std::vector<std::int64_t> dealt;
  for (std::int64_t i = 0; i < count; ++i) dealt.push_back(all / count + (i < all % count ? 1 : 0));
  // Embedding and head took the places of layers.
  dealt.front() -= ends.first;
  dealt.back() -= ends.last;
  if (std::ranges::min(dealt) < 0) return {};
  std::vector<std::vector<std::int64_t>> table;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % stages == 0) table.emplace_back();
    table.back().push_back(dealt[static_cast<std::size_t>(i)]);
  }
  return table;
}

/// Dimensions of models/*/__init__.py of v0.2.2.
struct Flavor {
  std::string_view model, flavor;
  std::int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary;
  bool qk_norm = false;
  std::int64_t experts = 0, top_k = 0, expert_hidden = 0, shared_hidden = 0, first_dense = 0,
               period = 1;
  std::int64_t kv_lora_rank = 0, q_lora_rank = 0;
  bool chunked = false;  ///< attention in chunks, which no key has
};

constexpr std::array<Flavor, 10> flavors{
    {{"llama3", "8B", 32, 4096, 32, 8, 128, 14336, 128256},
     {"llama3", "70B", 80, 8192, 64, 8, 128, 28672, 128256},
     {"llama3", "405B", 126, 16384, 128, 8, 128, 53248, 128256},
     {"qwen3", "8B", 36, 4096, 32, 8, 128, 12288, 151936, true},
     {"qwen3", "32B", 64, 5120, 64, 8, 128, 25600, 151936, true},
     {"qwen3", "30B-A3B", 48, 2048, 32, 4, 128, 6144, 151936, true, 128, 8, 768},
     {"llama4", "17bx16e", 48, 5120, 40, 8, 128, 16384, 202048, false, 16, 1, 8192, 8192, 0, 1, 0,
      0, true},
     {"llama4", "17bx128e", 48, 5120, 40, 8, 128, 16384, 202048, false, 128, 1, 8192, 8192, 1, 2, 0,
      0, true},
     {"deepseek_v3", "16B", 27, 2048, 16, 16, 128, 10944, 102400, false, 64, 6, 1408, 2816, 1, 1,
      512, 0},
     {"deepseek_v3", "671B", 61, 7168, 128, 128, 128, 18432, 129280, false, 256, 8, 2048, 2048, 3,
      1, 512, 1536}}};

struct Job {
  Arguments& args;
  Draft& draft;
  const Flavor& flavor;
  std::int64_t tp = 1, pp = 1, cp = 1, ep = 1, vpp = 1;
  std::optional<std::int64_t> dp;
};

void import_flavor(Job& job) {
  const Flavor& f = job.flavor;
  const Setting* name = job.args.find("model.flavor");
  const auto set = [&](const std::string& key, const auto& value) {
    // All sizes hang on the flavour's name, which errors should therefore point to.
    job.draft.set(key, value, {name, job.args.find("model.name")});
  };
  set("model.layers", f.layers);
  set("model.hidden", f.hidden);
  set("model.attention.kind", f.kv_lora_rank > 0 ? "mla" : "gqa");
  set("model.attention.heads", f.heads);
  if (f.kv_lora_rank > 0) {
    set("model.attention.q_lora_rank", f.q_lora_rank);
    // DeepSeek-V3's head sizes, which all flavours share.
    set("model.attention.kv_lora_rank", f.kv_lora_rank);
    set("model.attention.nope_dim", 128);
    set("model.attention.rope_dim", 64);
    set("model.attention.v_dim", 128);
  } else {
    set("model.attention.kv_heads", f.kv_heads);
    set("model.attention.head_dim", f.head_dim);
  }
  set("model.ffn.kind", "swiglu");
  set("model.ffn.hidden", f.ffn);
  set("model.vocabulary", f.vocabulary);
  set("model.tied_embeddings", false);
  set("model.norm", "rms");
  set("model.position", "rope");
  set("model.bias", "none");
  if (f.qk_norm) set("model.qk_norm", "head");
  if (f.experts == 0) return;
  set("model.moe.experts", f.experts);
  set("model.moe.top_k", f.top_k);
  set("model.moe.expert_hidden", f.expert_hidden);
  set("model.moe.first_dense", f.first_dense);
  set("model.moe.period", f.period);
  if (f.shared_hidden > 0) {
    set("model.moe.shared_experts", 1);
    set("model.moe.shared_hidden", f.shared_hidden);
  }
  // A chunk of attention as long as the sequence is plain attention.
  constexpr std::int64_t chunk = 8192;  // attention_chunk_size of Llama 4
  if (f.chunked && job.args.count_or("training.seq_len", 2048) > chunk)
    job.args.fail("training.seq_len",
                  "is longer than the chunks of attention of 8192 tokens, which "
                  "no value of model.attention.window says, allowed: up to 8192");
}

const Setting* degree_of(const Job& job, const char* name) {
  return job.args.find(std::string("parallelism.") + name);
}

void import_fsdp(Job& job) {
  const std::int64_t replicate = job.args.count_or("parallelism.data_parallel_replicate_degree", 1);
  const std::int64_t shard = job.args.count_or("parallelism.data_parallel_shard_degree", -1);
  // Context ranks hold shards, too: FSDP's group is that of both.
  const bool sharded = shard != 1 || job.cp > 1;
  if (replicate > 1 && sharded)
    job.draft.set("parallel.dp_replicate", replicate,
                  {degree_of(job, "data_parallel_replicate_degree")});
  const std::string reshard = job.args.text("parallelism.fsdp_reshard_after_forward", "default");
  // With stages parameters are gathered once for all micro-batches, which is ZeRO-2; else anew for
  // each pass.
  const bool keeps = reshard == "never" || (reshard == "default" && job.pp > 1);
  job.draft.set(
      "parallel.zero",
      !sharded ? 0
      : keeps  ? 2
               : 3,
      {degree_of(job, "data_parallel_shard_degree"), degree_of(job, "fsdp_reshard_after_forward")});
  job.draft.set("communication.gradient.overlap", true, {}, "of its sharding");
}

void import_degrees(Job& job) {
  Draft& draft = job.draft;
  const auto degree = [&](const char* name) { return degree_of(job, name); };
  draft.set("parallel.tp", job.tp, {degree("tensor_parallel_degree")});
  draft.set("parallel.pp", job.pp, {degree("pipeline_parallel_degree")});
  draft.set("parallel.cp", job.cp, {degree("context_parallel_degree")});
  // torchtitan's tensor parallelism always splits norms over the sequence.
  draft.set("parallel.sequence_parallel", job.tp > 1, {degree("tensor_parallel_degree")});
  if (job.flavor.experts > 0) {
    draft.set("parallel.ep", job.ep, {degree("expert_parallel_degree")});
    draft.set("parallel.etp", job.args.count_or("parallelism.expert_tensor_parallel_degree", 1),
              {degree("expert_tensor_parallel_degree")});
    const std::string backend =
        job.args.text("parallelism.expert_parallel_comm_backend", "standard");
    if (job.ep > 1)
      draft.set("moe.dispatch", backend == "deepep" ? "two_hop_dedup" : "flat",
                {degree("expert_parallel_comm_backend")});
    draft.set("moe.experts", "grouped", {});
  }
  // Its `alltoall` rotates keys step by step as a ring does.
  if (job.cp > 1)
    draft.set("parallel.context_algorithm",
              job.args.text("parallelism.context_parallel_rotate_method", "allgather") == "alltoall"
                  ? "ring"
                  : "allgather",
              {degree("context_parallel_rotate_method")});
  // Pieces of the asynchronous form: one per rank, as symmetric memory copies them.
  if (job.args.on("parallelism.enable_async_tensor_parallel") && job.tp > 1)
    draft.set("communication.tensor.overlap",
              "chunks(" + std::to_string(std::min<std::int64_t>(job.tp, 64)) + ")",
              {degree("enable_async_tensor_parallel")});
  import_fsdp(job);
}

struct KnownSchedule {
  std::string_view name, key;
  std::int64_t chunks;
};
constexpr std::array<KnownSchedule, 5> known_schedules{{{"GPipe", "gpipe", 1},
                                                        {"1F1B", "1f1b", 1},
                                                        {"Interleaved1F1B", "interleaved_1f1b", 2},
                                                        {"ZBVZeroBubble", "zb_v", 2},
                                                        {"DualPipeV", "dualpipe_v", 2}}};

/// Chunks of n layers, where embedding and head count as layers of the first and last.
void import_chunks(Job& job, const KnownSchedule& known, const Setting* schedule) {
  const EndLayers ends{
      job.args.count_or("parallelism.pipeline_parallel_first_stage_less_layers", 1),
      job.args.count_or("parallelism.pipeline_parallel_last_stage_less_layers", 1)};
  const Setting* each = job.args.find("parallelism.pipeline_parallel_layers_per_stage");
  const std::int64_t all = job.flavor.layers + ends.first + ends.last;
  std::int64_t chunks = known.chunks;
  if (each != nullptr) {
    const std::int64_t n = job.args.count_in(each->name, 1, 1, most_counted);
    // The last chunk may be shorter.
    if (((all + n - 1) / n) % job.pp != 0)
      return job.args.fail(*each, "makes chunks that the stages do not divide");
    chunks = (all + n - 1) / n / job.pp;
  }
  const std::int64_t count = chunks * job.pp;
  if (count > 4096 || ends.first < 0 || ends.last < 0)
    return job.args.fail("parallelism.pipeline_parallel_degree", "makes more than 4096 chunks");
  auto table = dealt_layers(job.flavor.layers, ends, job.pp, count);
  if (table.empty())
    return job.args.fail("parallelism.pipeline_parallel_degree",
                         "makes more chunks than embedding, layers and head fill");
  const bool turned = known.key == "zb_v" || known.key == "dualpipe_v";
  // In a V the second chunk of the first stage is the last of the model.
  if (turned && table.size() == 2) std::ranges::reverse(table[1]);
  job.draft.set("parallel.vpp", chunks, {schedule, each});
  job.draft.set("parallel.layers_per_chunk", table_text(table), {each},
                "embedding and head count as layers");
}

void import_stages(Job& job) {
  Draft& draft = job.draft;
  const Setting* schedule = job.args.find("parallelism.pipeline_parallel_schedule");
  const std::string name = job.args.text("parallelism.pipeline_parallel_schedule", "1F1B");
  if (job.pp == 1) {
    if (schedule != nullptr) draft.note(*schedule, "counts only with several stages");
    draft.set("parallel.vpp", 1, {});
    draft.set("parallel.layers_per_chunk", "even", {});
    return;
  }
  const auto found = std::ranges::find(known_schedules, name, &KnownSchedule::name);
  // Other schedules exist in PyTorch, and none that a key lacks is taken for another.
  if (found == known_schedules.end())
    return job.args.fail(
        "parallelism.pipeline_parallel_schedule",
        "is '" + name + "', allowed: GPipe, 1F1B, Interleaved1F1B, ZBVZeroBubble, DualPipeV");
  draft.set("schedule.pipeline", std::string(found->key), {schedule});
  import_chunks(job, *found, schedule);
}

void import_batches(Job& job) {
  Draft& draft = job.draft;
  const Setting* local = job.args.find({"training.local_batch_size", "training.batch_size"});
  const std::int64_t sequences = local == nullptr ? 8 : job.args.count_or(local->name, 1);
  const Setting* piece = job.args.find("parallelism.pipeline_parallel_microbatch_size");
  // Without stages torchtitan runs its local batch as one micro-batch.
  const std::int64_t micro =
      job.pp > 1 ? job.args.count_or("parallelism.pipeline_parallel_microbatch_size", 1)
                 : sequences;
  draft.set("training.micro_batch", micro, {local, job.pp > 1 ? piece : nullptr});
  const Setting* global = job.args.find("training.global_batch_size");
  const std::int64_t asked = job.args.count_or("training.global_batch_size", -1);
  if (asked > 0)
    draft.set("training.global_batch", asked, {global});
  else if (job.dp)
    draft.set("training.global_batch", sequences * *job.dp, {local}, "no accumulation");
  const Setting* length = job.args.find("training.seq_len");
  draft.set("training.sequence", job.args.count_or("training.seq_len", 2048), {length});
}

void import_recompute(Job& job) {
  Draft& draft = job.draft;
  const Setting* mode = job.args.find("activation_checkpoint.mode");
  const Setting* option = job.args.find("activation_checkpoint.selective_ac_option");
  const std::string name = job.args.text("activation_checkpoint.mode", "selective");
  if (draft.given("training.recompute")) return;
  if (name == "none" || name == "full") return draft.set("training.recompute", name, {mode});
  const std::string each = job.args.text("activation_checkpoint.selective_ac_option", "2");
  // Every n-th layer is counted over the whole model; with stages it would have to be counted in
  // each.
  if (name != "selective" || each == "op" || job.pp > 1)
    return job.args.fail(
        option != nullptr ? *option
        : mode != nullptr ? *mode
                          : Setting{"activation_checkpoint.mode", {}, {}, false},
        name == "selective" && each == "op"
            ? "runs norms, activations and every second product of a layer again "
              "(distributed/activation_checkpoint.py), which no value of training.recompute says; "
              "the step lies between --set 'training.recompute={modules: [layernorm, mlp_act]}', "
              "with experts moe_act, and --set training.recompute=full"
            : "keeps some operators of a layer, which no value of training.recompute "
              "says; give --set training.recompute=none, selective or full");
  const std::int64_t n =
      job.args.count_in("activation_checkpoint.selective_ac_option", 2, 1, most_counted);
  draft.set("training.recompute",
            n == 1 ? std::string("full") : "[[" + std::to_string(job.flavor.layers / n) + "]]",
            {mode, option});
}

/// A kind of FP8 among torchtitan's converters, whose recipes have names of their own.
struct Converter {
  std::string_view word;  ///< `float8`, `quantize.linear.float8`
  std::string_view missing;
  std::vector<std::pair<std::string_view, const char*>> recipes;  ///< with that of the scenario
};

const std::array<Converter, 2>& fp8_converters() {
  static const std::array<Converter, 2> all{
      {{"float8", "tensorwise", {{"tensorwise", "tensorwise"}, {"rowwise", "rowwise"}}},
       {"mx", "mxfp8_cublas", {{"mxfp8", "mxfp8"}, {"mxfp8_cublas", "mxfp8"}}}}};
  return all;
}

/// The recipe of a converter; what is set of one that is not there does not count.
void import_recipe(Job& job, const Converter& converter, const Setting* converters) {
  const std::string word(converter.word);
  const Setting* named =
      job.args.find({"quantize.linear." + word + ".recipe_name", word + ".recipe_name"});
  if (converters == nullptr) {
    if (named != nullptr) job.draft.note(*named, "counts only with the converter " + word);
    return;
  }
  if (job.draft.given("training.fp8_recipe") || !job.draft.says("training.precision", "fp8_mixed"))
    return;
  const std::string name =
      named == nullptr ? std::string(converter.missing) : job.args.text(named->name);
  for (const auto& [recipe, key] : converter.recipes)
    if (recipe == name)
      return job.draft.set("training.fp8_recipe", std::string(key), {named, converters});
  std::string known;
  for (const auto& recipe : converter.recipes)
    known += (known.empty() ? "" : ", ") + std::string(recipe.first);
  job.args.fail(*named,
                "is '" + name + "', which no value of training.fp8_recipe says, allowed: " + known);
}

/// torchao refuses it for rows; without sharding nothing is gathered.
void import_gathers(Job& job) {
  const Setting* gathers = job.args.find({"quantize.linear.float8.enable_fsdp_float8_all_gather",
                                          "float8.enable_fsdp_float8_all_gather"});
  if (gathers == nullptr || !job.args.on(gathers->name)) return;
  if (!job.draft.says("training.precision", "fp8_mixed") ||
      job.draft.says("training.fp8_recipe", "mxfp8"))
    return job.draft.note(*gathers, "counts only with the converter float8");
  if (job.draft.says("training.fp8_recipe", "rowwise"))
    return job.draft.note(*gathers, "counts only with the recipe tensorwise");
  if (job.draft.says("parallel.zero", "0"))
    return job.draft.note(*gathers, "counts only where parameters are sharded");
  job.draft.set("communication.parameter.precision", "fp8", {gathers});
}

void import_precision(Job& job) {
  const Setting* converters = job.args.find("model.converters");
  const auto has = [&](const std::string& word) {
    return converters != nullptr &&
           std::ranges::find(converters->words, word) != converters->words.end();
  };
  const bool float8 = has("float8") || has("quantize.linear.float8");
  const bool mx = has("mx") || has("quantize.linear.mx");
  const bool experts = has("quantize.grouped_mm.float8") || has("quantize.grouped_mm.mx");
  // Dense products in BF16 and experts in FP8 is a mixture that no recipe has.
  if (!job.draft.given("training.precision") && experts && !float8 && !mx)
    job.args.fail(*converters,
                  "multiplies experts alone in FP8, which no value of training.precision says");
  if (!job.draft.given("training.fp8_recipe") && float8 && mx)
    job.args.fail(*converters, "names float8 and mx, allowed: one of them");
  const std::string param = job.args.text("training.mixed_precision_param", "bfloat16");
  if (param != "bfloat16" && !job.draft.given("training.precision"))
    job.args.fail(
        "training.mixed_precision_param",
        "is '" + param + "', which no value of training.precision says, allowed: bfloat16");
  const bool fp8 = float8 || mx;
  job.draft.set("training.precision", fp8 ? "fp8_mixed" : "bf16",
                {fp8 ? converters : job.args.find("training.mixed_precision_param")});
  // Each converter has its own recipe of scales.
  import_recipe(job, fp8_converters()[0], float8 ? converters : nullptr);
  import_recipe(job, fp8_converters()[1], mx ? converters : nullptr);
  import_gathers(job);
}

void import_rest(Job& job) {
  Draft& draft = job.draft;
  const Setting* reduce = job.args.find("training.mixed_precision_reduce");
  draft.set(
      "communication.gradient.precision",
      job.args.text("training.mixed_precision_reduce", "float32") == "bfloat16" ? "bf16" : "fp32",
      {reduce});
  draft.set("training.dropout", false, {});
  const Setting* compile = job.args.find({"compile.enable", "training.compile"});
  const bool compiled = compile != nullptr && job.args.on(compile->name);
  const Setting* parts = job.args.find("compile.components");
  if (parts != nullptr && !compiled) draft.note(*parts, "counts only with compile.enable");
  // Without a list both parts are compiled.
  const bool loss =
      parts == nullptr || std::ranges::find(parts->words, "loss") != parts->words.end();
  const bool layers =
      parts == nullptr || std::ranges::find(parts->words, "model") != parts->words.end();
  draft.set("runtime.fusion", compiled && layers ? "pattern" : "none", {compile, parts});
  draft.set("training.cross_entropy", compiled && loss ? "fused" : "unfused", {compile, parts});
  const Setting* kernels = job.args.find("optimizer.implementation");
  draft.set("runtime.optimizer",
            job.args.text("optimizer.implementation", "fused") == "fused" ? "fused" : "elementwise",
            {kernels});
}

}  // namespace

std::optional<std::int64_t> import_torchtitan_settings(const std::vector<Setting>& settings,
                                                       const ImportOptions& options, Draft& draft) {
  Arguments args{settings, draft.wrong()};
  const std::string model = args.text("model.name", "llama3"),
                    flavor = args.text("model.flavor", "debugmodel");
  const auto found = std::ranges::find_if(
      flavors, [&](const Flavor& f) { return f.model == model && f.flavor == flavor; });
  if (found == flavors.end()) {
    args.fail("model.flavor",
              "names " + model + " " + flavor +
                  ", whose dimensions are not known, allowed: llama3 8B 70B 405B, qwen3 8B 32B "
                  "30B-A3B, llama4 17bx16e 17bx128e, deepseek_v3 16B 671B");
    return options.devices;
  }
  const auto degree = [&](const char* name) { return args.count_in(name, 1, 1, 1 << 20); };
  Job job{args, draft, *found};
  job.tp = degree("parallelism.tensor_parallel_degree");
  job.pp = degree("parallelism.pipeline_parallel_degree");
  job.cp = degree("parallelism.context_parallel_degree");
  job.ep = degree("parallelism.expert_parallel_degree");
  const std::int64_t shard = args.count_or("parallelism.data_parallel_shard_degree", -1);
  std::optional<std::int64_t> devices = options.devices;
  if (!devices && shard > 0)
    devices =
        shard * degree("parallelism.data_parallel_replicate_degree") * job.tp * job.pp * job.cp;
  if (devices) job.dp = std::max<std::int64_t>(*devices / (job.tp * job.pp * job.cp), 1);
  import_flavor(job);
  import_degrees(job);
  import_stages(job);
  import_batches(job);
  import_recompute(job);
  import_precision(job);
  import_rest(job);
  return devices;
}

std::optional<std::int64_t> import_torchtitan(const std::string& path, const std::string& text,
                                              const ImportOptions& options, Draft& draft) {
  return import_torchtitan_settings(
      checked_settings(Framework::torchtitan, parse_toml(text, path), options, draft), options,
      draft);
}

std::string torchtitan_models_of(std::string_view flavor) {
  std::string all;
  for (const Flavor& known : flavors)
    if (known.flavor == flavor) all += (all.empty() ? "" : " ") + std::string(known.model);
  return all;
}

}  // namespace stepcast::launch
