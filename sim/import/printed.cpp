#include "printed.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "deepspeed.hpp"
#include "forms.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"
#include "unknown_names.hpp"

// The arguments that Megatron-LM, MindSpeed-LLM and Megatron-DeepSpeed print when they start: each
// one with its value, defaults too, so that no shell is left to follow.
namespace stepcast::launch {
namespace {

/// A name that is printed otherwise than its flag, or a value that is the default of a name which
/// no table of flags has.
struct PrintedName {
  std::string_view printed, flag;
  bool off = false;  ///< the flag is there when False is printed
};

// Read in megatron/training/arguments.py of Megatron-LM core_v0.4 to core_v0.19 and d98e8a64ddf3,
// MindSpeed and MindSpeed-LLM c77308a14bfc (features_manager), Megatron-DeepSpeed (arguments.py).
constexpr PrintedName names[] = {
    {"fp8", "--fp8-format"},
    {"fp4", "--fp4-format"},
    {"microbatch_group_size_per_vp_stage", "--microbatch-group-size-per-virtual-pipeline-stage"},
    {"overlap_p2p_comm_warmup_flush", "--overlap-p2p-communication-warmup-flush"},
    {"use_flash_attn_v1", "--use-flash-attn"},
    {"add_bias_linear", "--disable-bias-linear", true},
    {"overlap_p2p_comm", "--no-overlap-p2p-communication", true},
    {"apply_rope_fusion", "--no-rope-fusion", true},
    {"add_position_embedding", "--no-position-embedding", true},
    {"perform_initialization", "--no-initialization", true},
    {"enable_gloo_process_groups", "--disable-gloo-process-groups", true},
    {"moe_token_dropping", "--disable-moe-token-dropping", true},
    {"num_moe_experts", "--num-experts"},
    {"cpu_offloading_num_layers", "--cpu-offloading-num-layers"},
    {"bias_activation_fusion", "--no-bias-swiglu-fusion", true},
    {"layernorm_zero_centered_gamma", "--apply-layernorm-1p"},
    {"async_tensor_model_parallel_allreduce", "--no-async-tensor-model-parallel-allreduce", true},
};

/// What is worked out of flags, or says nothing about a step.
constexpr std::string_view derived =
    "rank local_rank world_size data_parallel_size iteration curr_iteration consumed_train_samples "
    "consumed_valid_samples skipped_train_samples params_dtype encoder_num_layers "
    "encoder_seq_length decoder_num_layers decoder_seq_length "
    "transformer_pipeline_model_parallel_size virtual_pipeline_model_parallel_size "
    "variable_seq_lengths replication_jump iter_per_epoch head_lr_mult img_h img_w num_channels "
    "patch_dim num_classes data_cache_path cache_dir json_keys prompt_type_path "
    "transformer_pipeline start_weight_decay end_weight_decay deepspeed deepspeed_configuration "
    "deepspeed_mpi deepscale deepscale_config timing_log_level no_load_rng no_load_optim do_train "
    "do_valid do_test model_type num_floating_point_operations_so_far dataloader_type "
    "blendable_index_path tokenizer_name is_pretrained_single_model stage task save_dir "
    "app_tag_run_name app_tag_run_version yaml_cfg enable_msc num_dataset_builder_threads "
    "async_strategy yarn_correction_range_round_to_int ";

/// Beginnings of names of other jobs: inference, images, retrieval, reinforcement, checkpoints.
constexpr std::string_view others =
    "inference_ dino_ retro_ rl_ grpo_ langrl_ fim_ muon_ inprocess_ ft_ logits_ mamba_inference_ "
    "ttp_ auto_settings_ profile_ soap_ adaptive_muon_ lion_ swin_ vision_ mask_ one_logger_ "
    "biencoder_ bert_ sft_ tp_comm_bulk_ tp_comm_split_ tp_comm_overlap_ tp_comm_bootstrap_ "
    "error_injection_ dpo_ lu_lora_ flight_recorder_ kl_loss_ reader_ indexer_log ict_ "
    "tokenizer_hf_ async_ckpt_ ckpt_fully_ data_per_ relative_attention_ use_tokenizer_model_ "
    "non_persistent_ hccl_ep_ wandb_ tensorboard_ rerun_ straggler_ eval_ log_ save_ load_ "
    "evaluation_ ";

/// `name=value` of what is so unless said.
constexpr std::string_view defaults =
    "adlr_autoresume_interval=1000 app_tag_run_version=0.0.0 barrier_with_L1_time=True "
    "classes_fraction=1.0 cuda_graph_warmup_steps=2 cuda_graph_warmup_steps=3 "
    "delay_grad_reduce=True disable_chunked_prefill=True dist_ckpt_workers=1 enable_msc=True "
    "fp4_recipe=nvfp4 head_lr_mult=1.0 img_h=224 img_w=224 indexer_batch_size=128 "
    "iter_per_epoch=1250 mamba_head_dim=64 mamba_num_groups=8 max_tokens_to_oom=12000 "
    "megatron_fsdp_grad_comm_dtype=auto megatron_fsdp_main_grads_dtype=auto "
    "megatron_fsdp_main_params_dtype=fp32 megatron_fsdp_version=1 mid_level_dataset_surplus=0.005 "
    "mlp_chunks_for_prefill=1 moe_upcycling_granularity=1 num_channels=3 num_classes=1000 "
    "num_dataset_builder_threads=1 offset_sampling_seed_by_dp_rank=True patch_dim=16 "
    "pin_cpu_grads=True pin_cpu_params=True query_in_block_prob=0.1 refit_method=gloo "
    "replication_factor=2 retriever_seq_length=256 sample_rate=1.0 short_seq_prob=0.1 "
    "softmax_type=vanilla torch_fsdp2_reshard_after_forward=True use_layer_wise_param_layout=True "
    "yarn_correction_range_round_to_int=True batch_p2p_comm=True batch_p2p_sync=True "
    "cpu_offloading_activations=True cpu_offloading_weights=True preserve_fp32_weights=True "
    "check_for_nan_in_loss=True qk_clip_alpha=0.5 qk_clip_threshold=100 "
    "use_mamba_mem_eff_path=True kitchen_attention_backend=sdpa decoupled_weight_decay=True "
    "store_param_remainders=True num_layers_at_start_in_bf16=1 num_layers_at_end_in_bf16=1 "
    "optimizer_offload_fraction=1.0 mamba_state_dim=128 mamba_head_dim=64 mamba_num_groups=8 "
    "cuda_graph_impl=none cuda_graph_scope=full cuda_graph_modules=full "
    "outer_dp_sharding_strategy=no_shard dsa_indexer_topk_freq=1 dsa_kernel_backend=none "
    "moe_hybridep_num_sms_preprocessing=108 hash_experts=1 mhc_num_residual_streams=4 "
    "mhc_sinkhorn_iterations=20 mhc_init_gating_factor=0.01 cp_window_size=1 coc_parallel_num=1 "
    "coc_mode=-1 expert_interval=1 moe_zero_memory=disable swap_optimizer_times=16 "
    "pre_tockens=65536 pre_tockens=1048576 next_tockens=0 shape_order=SBH "
    "loss_compute_mode=default loss_chunk_size=1024 mamba_d_conv=4 cla_share_factor=1 "
    "output_layer_slice_num=1 index_n_heads=64 index_head_dim=128 index_topk=2048 "
    "padded_base_length=128 moe_model_type=megatron_moe moe_train_capacity_factor=1.0 "
    "moe_adaptive_recompute_activation_scale=2.0 adaptive_recompute_device_size=-1 "
    "adaptive_recompute_profiling_step=10 "
    "swap_modules=input_norm,self_attention,post_attention_norm pipe_experts_multi_data=1 "
    "ampipe_degree=1 optimizer_selection=fused_adamw ema_decay=0.9999 skip_bias_add=True "
    "save_memory_ratio=0.2 recompute_type=2 optimized_mbs_mode=True optimization_level=2 "
    "nd1_dim1_size=1 nd2_dim1_size=1 tp_x=1 tp_y=1 target_nnodes=1 nnodes=1 nproc_per_node=1 "
    "master_addr=127.0.0.1 master_port=29500 compress_dense=disable use_gmm_fp8=True "
    "te_gmm_mode=compatible balanced_moe_hot_expert_num=3 trans_hot_expert_group_num=3 "
    "expert_placement_freq=50 fine_grained_expert_placement_thre=0.08 qad_enable=True "
    "kl_temperature=1.0 aiqos_mode=auto fix_sub_seq_length=-1 "
    "kv_head_repeat_before_uly_alltoall=True mix_strategy=concat workers=1 n_subs=1 "
    "drop_thinking=True refer_model_iter=1 lora_r=16 lora_alpha=32 top_p=0.95 top_k=50 "
    "temperature=0.7 max_length=256 max_new_tokens=128 history_turns=3 mamba_chunk_size=256 "
    "mamba_expand=1 input_jitter=True shared_expert_gate_output_dimension=1 hc_mult=4 "
    "hc_sinkhorn_iters=20 hc_eps=1e-06 o_groups=8 o_lora_rank=1024 sliding_window_size=128 "
    "indexer_loss_coeff=1.0 max_batch_size=4 original_seq_len=65536 compress_rope_theta=40000.0 "
    "rope_theta=10000.0 rope_factor=4.0 index_topk_freq=1 index_skip_topk_offset=2 "
    "moba_chunk_size=64 moba_topk=2 moba_calc_method=1 yarn_scaling_factor=1.0 "
    "hccl_slice_size=10485760 rope_theta=10000 mem_efficient_ln=True "
    "moe_top2_2nd_expert_sampling=True ds_sequence_parallel_fpdt_chunk_size=65536 DDP_impl=local "
    "use_contiguous_buffers_in_local_ddp=True data_impl=infer tile_factor=1 "
    "num_experts_teacher=[1] kd_alpha_ce=1 kd_beta_ce=1 kd_temp=1.0 mlp_type=standard "
    "remote_device=none ds_sequence_parallel_size=1 ";

/// Calls `use` with each word; true where one says so.
template <typename Use>
bool any_word(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!word.empty() && use(word)) return true;
  }
  return false;
}

/// Whether a name is worked out or of another job than training, or has the value that it has
/// unless said, so that it says nothing.
bool is_printed_default(std::string_view name, std::string_view value) {
  // Derived values follow from others in the log and are no settings.
  if (any_word(derived, [&](std::string_view word) { return word == name; })) return true;
  if (name == "retro_add_retriever") return false;
  if (any_word(others, [&](std::string_view word) { return name.starts_with(word); })) return true;
  return any_word(defaults, [&](std::string_view word) {
    const std::size_t equals = word.find('=');
    return word.substr(0, equals) == name && word.substr(equals + 1) == value;
  });
}

bool is_name(std::string_view text) {
  return !text.empty() &&
         (std::isalpha(static_cast<unsigned char>(text.front())) != 0 || text.front() == '_') &&
         std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

/// `  hidden_size ............ 4096` behind whatever a launcher writes before it.
std::optional<Printed> printed_line(std::string_view line) {
  const std::size_t dots = line.find(" .");
  if (dots == std::string_view::npos) return {};
  const std::size_t end = line.find_first_not_of('.', dots + 1);
  if (end == std::string_view::npos || line[end] != ' ') return {};
  std::string_view name = trimmed(line.substr(0, dots));
  name = name.substr(name.find_last_of(" \t:|]") + 1);
  if (!is_name(name)) return {};
  return Printed{std::string(name), std::string(trimmed(line.substr(end))), {}};
}

/// A name of 48 letters or more has no dots: `  name value`.
std::optional<Printed> long_line(std::string_view line) {
  constexpr std::size_t column = 47;
  const std::string_view all = trimmed(line);
  const std::size_t first = all.find(' ');
  if (first == std::string_view::npos || first < column || !is_name(all.substr(0, first)))
    return {};
  return Printed{std::string(all.substr(0, first)), std::string(trimmed(all.substr(first))), {}};
}

bool has_rule(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  return at != std::string_view::npos && line.find("-------- ") < at;
}

struct Log {
  std::string title;
  std::vector<Printed> arguments;
  std::optional<Printed> padded;  ///< of `padded vocab (size: 50257) .. (new size: 50432)`
};

std::optional<Printed> padded_line(std::string_view line, const Place& place) {
  constexpr std::string_view mark = "(new size: ";
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos || line.find("padded vocab") > at) return {};
  const std::string_view rest = line.substr(at + mark.size());
  return Printed{"padded_vocab_size", std::string(rest.substr(0, rest.find(')'))), place};
}

/// The last list of a log counts: it is that of the run that went on.
Log read_log(const std::string& path, std::string_view text) {
  Log log;
  bool inside = false;
  int number = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    const Place place{path, number, 1};
    const std::string words = lower_case(std::string(line));
    if (has_rule(words, "end of ") && words.find("arguments") != std::string::npos) {
      inside = false;
    } else if (has_rule(words, "arguments ----")) {
      log.title = words;
      // A later list replaces what came before.
      log.arguments.clear();
      inside = true;
    } else if (inside) {
      // Lines are `name ..... value`; long names have no dots left.
      auto found = printed_line(line);
      if (!found) found = long_line(line);
      if (!found) continue;
      found->place = place;
      log.arguments.push_back(std::move(*found));
    } else if (auto padded = padded_line(line, place)) {
      log.padded = std::move(padded);
    }
  }
  return log;
}

const Printed* find_printed(const std::vector<Printed>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Printed::name);
  return found == all.end() ? nullptr : &*found;
}

bool is_nothing(std::string_view value) {
  constexpr std::array<std::string_view, 7> nothing{"", "None", "False", "[]", "{}", "()", "''"};
  return std::ranges::find(nothing, value) != nothing.end();
}
bool is_zero(std::string_view value) { return value == "0" || value == "0.0"; }

/// `[1, 'a']` -> its words; `torch.bfloat16`, `AttnBackend.auto` by the names that flags take.
std::vector<std::string> words_of(std::string_view value) {
  constexpr std::array<std::pair<std::string_view, const char*>, 5> types{
      {{"torch.float32", "fp32"},
       {"torch.bfloat16", "bf16"},
       {"torch.float16", "fp16"},
       {"torch.uint8", "fp8"},
       {"torch.half", "fp16"}}};
  // Types first, since they look like members of a module.
  const auto type =
      std::ranges::find(types, value, &std::pair<std::string_view, const char*>::first);
  if (type != types.end()) return {type->second};
  std::vector<std::string> words;
  // `[0]*3+[1]*58` is no list but a sum of two.
  const bool list = (value.starts_with('[') && value.ends_with(']') &&
                     value.find_first_of("*+") == std::string_view::npos) ||
                    (value.starts_with('(') && value.ends_with(')'));
  if (!list) {
    const std::size_t dot = value.rfind('.');
    // Of `AttnBackend.auto` the member; `1.5` and paths are no members.
    const bool member = dot != std::string_view::npos && is_name(value.substr(0, dot)) &&
                        is_name(value.substr(dot + 1));
    words.emplace_back(member ? value.substr(dot + 1) : value);
    return words;
  }
  value = value.substr(1, value.size() - 2);
  while (!value.empty()) {
    std::string_view word = trimmed(value.substr(0, value.find(',')));
    value.remove_prefix(
        std::min(value.find(',') == std::string_view::npos ? value.size() : value.find(',') + 1,
                 value.size()));
    if (word.size() > 1 && (word.front() == '\'' || word.front() == '"'))
      word = word.substr(1, word.size() - 2);
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

std::string dashed(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

/// The flag behind a name; `off`: the flag is there when the value is False.
struct NamedFlag {
  std::string name;
  bool off = false;
};
std::optional<NamedFlag> flag_of(Framework framework, std::string_view name) {
  const auto known = [&](const std::string& flag) {
    return find_flag(framework, flag).has_value();
  };
  // Names that are printed otherwise than their flag come first: a rule would find another flag for
  // some.
  for (const PrintedName& other : names)
    if (other.printed == name && known(std::string(other.flag)))
      return NamedFlag{std::string(other.flag), other.off};
  constexpr std::string_view deprecated = "deprecated_";
  if (name.starts_with(deprecated)) name.remove_prefix(deprecated.size());
  // The usual rule, then flags with underscores, then switches that are printed without their `no`.
  if (known(dashed(name))) return NamedFlag{dashed(name)};
  if (known("--" + std::string(name))) return NamedFlag{"--" + std::string(name)};
  if (known("--no-" + dashed(name).substr(2)))
    return NamedFlag{"--no-" + dashed(name).substr(2), true};
  return {};
}

/// Names that count only where another one is on, and are printed all the same.
struct Need {
  std::string_view name, other;
};
constexpr std::array<Need, 9> needs{{{"num_query_groups", "group_query_attention"},
                                     {"kv_lora_rank", "multi_latent_attention"},
                                     {"q_lora_rank", "multi_latent_attention"},
                                     {"qk_head_dim", "multi_latent_attention"},
                                     {"qk_pos_emb_head_dim", "multi_latent_attention"},
                                     {"v_head_dim", "multi_latent_attention"},
                                     {"fp8_recipe", "fp8"},
                                     {"context_parallel_algo", "context_parallel_size"},
                                     {"cp_comm_type", "context_parallel_size"}}};

/// Whether what a name counts with is printed, and off.
bool counts_for_nothing(const std::vector<Printed>& all, std::string_view name) {
  const auto need = std::ranges::find(needs, name, &Need::name);
  if (need == needs.end()) return false;
  const Printed* other = find_printed(all, need->other);
  return other != nullptr && (is_nothing(other->value) || other->value == "1");
}

class Arranger {
 public:
  Arranger(Framework framework, const std::vector<Printed>& all)
      : framework_{framework}, all_{all} {}

  Launch launch(const std::string& path) {
    Launch launch{path, {}, {}, {}, {}, {}};
    for (const Printed& printed : all_) add(printed, launch);
    if (const Printed* size = find_printed(all_, "world_size"))
      launch.devices = Setting{"world_size", {size->value}, size->place, false, "world_size"};
    return launch;
  }
  /// Names of no table that are not switched off.
  const std::vector<Setting>& unknown() const { return unknown_; }

 private:
  void add(const Printed& printed, Launch& launch) {
    if (is_printed_default(printed.name, printed.value)) return;
    if (counts_for_nothing(all_, printed.name)) return;
    const auto flag = flag_of(framework_, printed.name);
    if (!flag) return add_unknown(printed);
    const auto row = find_flag(framework_, flag->name);
    if (row->treatment == Treatment::ignored) return;
    Setting setting{
        flag->name, {}, printed.place, false, printed.shown.empty() ? printed.name : printed.shown};
    if (flag->off) {
      if (printed.value == "False") launch.settings.push_back(std::move(setting));
      return;
    }
    const bool open = row->treatment != Treatment::taken;
    if (is_nothing(printed.value) || (open && is_zero(printed.value))) return;
    if (row->arity == Arity::none && (printed.value == "True" || printed.value == "1")) {
      launch.settings.push_back(std::move(setting));
      return;
    }
    setting.words = words_of(printed.value);
    if (row->arity == Arity::one && setting.words.size() != 1) {
      std::string whole = printed.value;  // a list that is one word, such as a pattern of layers
      std::erase(whole, ' ');
      setting.words = {std::move(whole)};
    }
    launch.settings.push_back(std::move(setting));
  }

  /// A name of no table says something only where it is not switched off.
  void add_unknown(const Printed& printed) {
    if (is_nothing(printed.value) || is_zero(printed.value)) return;
    unknown_.push_back({printed.name, {printed.value}, printed.place, false, printed.shown});
  }

  Framework framework_;
  const std::vector<Printed>& all_;
  std::vector<Setting> unknown_;
};

Framework framework_of(const Log& log) {
  for (const char* name : {"deepspeed_config", "zero_stage", "ds_sequence_parallel_size"})
    if (find_printed(log.arguments, name) != nullptr) return Framework::megatron_deepspeed;
  const bool titled = log.title.find("mindspeed") != std::string::npos;
  for (const char* name : {"use_fused_rmsnorm", "context_parallel_algo", "use_ascend_mc2"})
    if (titled || find_printed(log.arguments, name) != nullptr) return Framework::mindspeed;
  return Framework::megatron;
}

}  // namespace

Launch arranged(Framework framework, const std::vector<Printed>& arguments, const std::string& path,
                const ImportOptions& options, Draft& draft) {
  Arranger arranger{framework, arguments};
  Launch launch = arranger.launch(path);
  refuse_other_steps(framework, arranger.unknown());
  settle_unknown(framework, arranger.unknown(), arguments.size(), options.ignore_unknown, {},
                 draft);
  return launch;
}

std::string read_printed(const std::string& path, const SearchPath& search) {
  const auto file = find_file(path, {}, search);
  auto bytes = file ? bytes_of(*file) : std::nullopt;
  if (!bytes) refuse_input({path}, {}, "is no file that can be read");
  std::string text = std::move(*bytes);
  constexpr std::size_t most = std::size_t{64} << 20;  // arguments are printed at the start
  if (text.size() > most) text.resize(most);
  // Logs have tabs, colours and carriage returns of progress bars between what they print.
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n'; }, ' ');
  return text;
}

Framework printed_framework(const std::string& text) { return framework_of(read_log({}, text)); }

bool has_printed_arguments(std::string_view text) {
  const std::size_t at = lower_case(std::string(text)).find("arguments ----");
  return at != std::string_view::npos && text.find(" ....", at) != std::string_view::npos;
}

std::optional<std::int64_t> import_arguments(const std::string& path, const std::string& text,
                                             const ImportOptions& options, Draft& draft) {
  const Log log = read_log(path, text);
  if (log.arguments.empty())
    refuse_input({path}, {},
                 "prints no arguments, allowed: the log of a run from its start, with the "
                 "list between '---- arguments ----' and '---- end of arguments ----'");
  const Framework framework = framework_of(log);
  std::vector<Printed> arguments = log.arguments;
  const Printed* padded = find_printed(arguments, "padded_vocab_size");
  if (log.padded && (padded == nullptr || is_nothing(padded->value)))
    arguments.push_back(*log.padded);
  Launch launch = arranged(framework, arguments, path, options, draft);
  const auto devices =
      framework == Framework::megatron_deepspeed
          ? import_megatron_deepspeed_launch(path, std::move(launch), options, draft)
          : import_flags(framework, std::move(launch), options, draft);
  draft.note({{path},
              {},
              "prints no environment: what CUDA_DEVICE_MAX_CONNECTIONS, TASK_QUEUE_ENABLE and the "
              "like say is left at its default, unless --set says it"});
  draft.expect_nothing();  // all arguments are printed, those without effect as well
  return devices;
}

}  // namespace stepcast::launch
