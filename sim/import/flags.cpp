#include "flags.hpp"

#include <algorithm>
#include <array>

namespace stepcast::launch {
namespace {

const std::array<FlagTable, 14>& tables() {
  static const std::array<FlagTable, 14> all{
      {{Framework::megatron, "megatron", "Megatron-LM", megatron_flags(), megatron_ignored(), "--"},
       {Framework::mindspeed, "mindspeed", "MindSpeed-LLM", mindspeed_flags(), mindspeed_ignored(),
        "--"},
       {Framework::mindformers, "mindformers", "MindFormers", mindformers_flags(),
        mindformers_ignored(), ""},
       {Framework::torchtitan, "torchtitan", "torchtitan", torchtitan_flags(), torchtitan_ignored(),
        ""},
       {Framework::nemo, "nemo", "NeMo and Megatron-Bridge", nemo_flags(), nemo_ignored(), ""},
       {Framework::megatron_deepspeed, "megatron-deepspeed", "Megatron-DeepSpeed",
        megatron_deepspeed_flags(), megatron_deepspeed_ignored(), "--"},
       {Framework::deepspeed, "deepspeed", "DeepSpeed's JSON", deepspeed_flags(),
        deepspeed_ignored(), ""},
       {Framework::flagscale, "flagscale", "FlagScale", flagscale_flags(), flagscale_ignored(),
        "--"},
       {Framework::primus, "primus", "Primus", primus_flags(), primus_ignored(), "--"},
       {Framework::mindspeed_fsdp2, "mindspeed-fsdp2", "MindSpeed-LLM's FSDP2",
        mindspeed_fsdp2_flags(), mindspeed_fsdp2_ignored(), ""},
       {Framework::trainer, "trainer", "the Trainer of Transformers", trainer_flags(),
        trainer_ignored(), "--"},
       {Framework::llama_factory, "llama-factory", "LLaMA-Factory", llama_factory_flags(),
        llama_factory_ignored(), ""},
       {Framework::axolotl, "axolotl", "axolotl", axolotl_flags(), axolotl_ignored(), ""},
       {Framework::ms_swift, "ms-swift", "ms-swift", ms_swift_flags(), ms_swift_ignored(), "--"}}};
  return all;
}

std::optional<Flag> ignored_in(const FlagTable& table, std::string_view name,
                               std::string_view bare) {
  std::optional<Flag> found;
  for (const IgnoredFlags& group : table.ignored)
    each_name(group, [&](std::string_view known, Numbers numbers) {
      if (known != bare) return;
      found = Flag{name, Arity::any, Treatment::ignored, {}, group.reason};
      found->numbers = numbers;
    });
  return found;
}

std::optional<Flag> find_in(const FlagTable& table, std::string_view name) {
  const auto flag = std::ranges::find(table.flags, name, &Flag::name);
  if (flag != table.flags.end()) return *flag;
  if (!name.starts_with(table.prefix)) return {};
  std::string_view bare = name.substr(table.prefix.size());
  if (!table.prefix.empty()) return ignored_in(table, name, bare);
  // In a tree an ignored key covers what stands below it, and a section that is not read, too.
  for (;;) {
    if (auto found = ignored_in(table, name, bare)) return found;
    const auto section = std::ranges::find(table.flags, bare, &Flag::name);
    if (section != table.flags.end() && section->section) return *section;
    const std::size_t dot = bare.rfind('.');
    if (dot == std::string_view::npos) return {};
    bare = bare.substr(0, dot);
  }
}

bool knows_megatron(Framework framework) {
  return framework == Framework::mindspeed || framework == Framework::megatron_deepspeed ||
         framework == Framework::flagscale || framework == Framework::primus;
}

}  // namespace

std::span<const FlagTable> flag_tables() { return tables(); }

const FlagTable& flag_table(Framework framework) {
  return *std::ranges::find(tables(), framework, &FlagTable::framework);
}

std::optional<Flag> find_flag(Framework framework, std::string_view name) {
  auto found = find_in(flag_table(framework), name);
  if (!found && knows_megatron(framework)) found = find_in(flag_table(Framework::megatron), name);
  return found;
}

std::vector<std::string> flag_names(Framework framework) {
  std::vector<std::string> all;
  const auto add = [&all](const FlagTable& table) {
    for (const Flag& flag : table.flags) all.emplace_back(flag.name);
    for (const IgnoredFlags& group : table.ignored)
      each_name(group, [&](std::string_view name, Numbers) {
        all.push_back(std::string(table.prefix) + std::string(name));
      });
  };
  add(flag_table(framework));
  if (knows_megatron(framework)) add(flag_table(Framework::megatron));
  return all;
}

}  // namespace stepcast::launch
