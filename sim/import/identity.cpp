#include <array>
#include <cctype>

#include "draft.hpp"
#include "forms.hpp"
#include "printed.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/sim/scenario/framework.hpp"

namespace stepcast::launch {
namespace {

/// A name in a launch file behind which a version stands: `core_r0.12`, `nemo:25.09`.
struct Mark {
  std::string_view framework, before;
};
// Longer names first: MindSpeed-LLM is told by its own version, not by that of Megatron-Core.
constexpr std::array<Mark, 20> marks{{{"Megatron-Bridge", "megatron-bridge"},
                                      {"Megatron-Bridge", "nvidia/nemo"},
                                      {"Megatron-Bridge", "nemo-container"},
                                      {"NeMo", "nvidia/nemo"},
                                      {"NeMo", "nemo-framework-launcher"},
                                      {"NeMo", "nemo"},
                                      {"MindSpeed", "mindspeed-llm"},
                                      {"MindSpeed", "mindspeed"},
                                      {"MindSpeed", "modellink"},
                                      {"Megatron-Core", "megatron-lm"},
                                      {"Megatron-Core", "megatron-core"},
                                      {"Megatron-Core", "megatron_core"},
                                      {"Megatron-Core", "mcore"},
                                      {"Megatron-Core", "core_r"},
                                      {"Megatron-Core", "core_v"},
                                      {"MindFormers", "mindformers"},
                                      {"torchtitan", "torchtitan"},
                                      {"DeepSpeed", "deepspeed"},
                                      {"Megatron-DeepSpeed", "megatron-deepspeed"},
                                      {"PyTorch-FSDP2", "pytorch"}}};

/// Flags that only some versions have, with the last preset of those.
struct Gone {
  std::string_view framework, flag;
  std::string_view version;
};
constexpr std::array<Gone, 6> gone{
    {{"Megatron-Core", "--use-custom-fsdp", "0.12"},  // 0.14 has --use-megatron-fsdp
     {"Megatron-Core", "--moe-extended-tp", "0.9"},   // 0.10 has --expert-tensor-parallel-size
     {"MindSpeed", "--multi-head-latent-attention", "2.0"},
     {"MindSpeed", "--qk-nope-head-dim", "2.0"},
     {"MindSpeed", "--num-nextn-predict-layers", "2.0"},
     {"MindSpeed", "--first-k-dense-layers", "2.0"}}};

/// Name and first version of a preset; the reader of scenarios says what is wrong with it.
void describe(Identity& found, const SearchPath& search) {
  Node root{.kind = Node::Kind::mapping};
  root.entries.push_back({"framework", {}, Node{.kind = Node::Kind::scalar, .text = found.file}});
  Reading reading;
  const auto framework = framework_of(root, search, reading);
  if (!framework) return;
  found.name = framework->name;
  found.from = framework->from;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The version right behind a name: signs between them, v or r, then digits with dots.
std::string version_behind(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && at < 2 &&
         std::string_view("-_/:=@ ").find(text[at]) != std::string_view::npos)
    ++at;
  if (text.substr(at, 5) == "core_") at += 5;
  if (at < text.size() && (text[at] == 'v' || text[at] == 'r')) ++at;
  std::size_t end = at;
  while (end < text.size() && (is_digit(text[end]) || (text[end] == '.' && end > at))) ++end;
  if (end > at && text[end - 1] == '.') --end;  // of `1.0.RC1`, or of a sentence
  const std::string_view found = text.substr(at, end - at);
  // `mindspeed_1` is a name, not a version
  if (found.find('.') == std::string_view::npos) return {};
  std::string version{found};
  if (text.substr(end, 3) == ".rc" || text.substr(end, 3) == "rc1") version += ".rc1";
  return version;
}

/// What a file says of the version of a framework; nothing: it does not.
bool find_version(Identity& found, const std::string& text) {
  const std::string lower = lower_case(text);
  // What a file says outright, such as the path of a container, wins over what follows from its
  // flags.
  for (const Mark& mark : marks) {
    if (mark.framework != found.name) continue;
    for (std::size_t at = lower.find(mark.before); at != std::string::npos;
         at = lower.find(mark.before, at + 1)) {
      const std::string version =
          version_behind(std::string_view(lower).substr(at + mark.before.size()));
      if (version.empty()) continue;
      found.version = version;
      const std::size_t end = lower.find(version.substr(0, version.find(".rc")), at);
      found.words = text.substr(at, end + version.size() - at);
      return true;
    }
  }
  // Flags that a version removed say that this is an older one.
  for (const Gone& flag : gone) {
    if (flag.framework != found.name) continue;
    const std::size_t at = lower.find(flag.flag);
    const std::size_t end = at + flag.flag.size();
    // A longer flag with the same beginning is another flag.
    if (at == std::string::npos ||
        (end < text.size() &&
         (lower[end] == '-' || std::isalnum(static_cast<unsigned char>(lower[end])) != 0)))
      continue;
    found.version = flag.version;
    found.words = std::string(flag.flag);
    return true;
  }
  return false;
}

bool has_word(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

/// The framework behind a form of file.
std::string name_of_form(std::string_view form, const std::string& text) {
  if (form == "megatron" || form == "megatron-yaml" || form == "flagscale" || form == "primus")
    return "Megatron-Core";
  if (form == "megatron-args") return is_mindspeed(text) ? "MindSpeed" : "Megatron-Core";
  if (form == "mindspeed") return "MindSpeed";
  if (form == "mindformers") return "MindFormers";
  if (form == "mindspeed-fsdp2") return "PyTorch-FSDP2";
  if (form == "trainer" || form == "llama-factory" || form == "axolotl" || form == "ms-swift")
    return has_word(text, "deepspeed") ? "DeepSpeed"
           : has_word(text, "fsdp")    ? "PyTorch-FSDP2"
                                       : "";
  if (form == "torchtitan" || form == "torchtitan-python") return "torchtitan";
  if (form == "megatron-deepspeed") return "Megatron-DeepSpeed";
  if (form == "deepspeed") return "DeepSpeed";
  // The launcher says nodes and devices; Megatron-Bridge writes sections of its own.
  if (form == "nemo")
    return has_word(text, "trainer:") || has_word(text, "exp_manager:") ? "NeMo"
                                                                        : "Megatron-Bridge";
  if (form == "arguments") {
    const Framework printed = printed_framework(text);
    if (printed == Framework::mindspeed) return "MindSpeed";
    return printed == Framework::megatron ? "Megatron-Core" : "Megatron-DeepSpeed";
  }
  return {};
}

}  // namespace

bool Identity::at_least(const std::string& first) const {
  return !from.empty() && !is_earlier(from, first);
}

bool Identity::streams_experts() const {
  return is("Megatron-Bridge") || (is("Megatron-Core") && at_least("0.9"));
}

Identity identify(std::string_view form, const std::string& text, const std::string& chosen,
                  const SearchPath& search) {
  Identity found;
  if (chosen == "none") return found;
  if (!chosen.empty()) {
    found.file = chosen;
    describe(found, search);
    return found;
  }
  found.name = name_of_form(form, text);
  if (found.name.empty()) return found;
  find_version(found, text);
  auto file = framework_for(found.name, found.version, search);
  if (!file) {
    found.version.clear();
    file = framework_for(found.name, {}, search);
  }
  if (!file) return Identity{};
  found.file = *file;
  describe(found, search);
  return found;
}

}  // namespace stepcast::launch
