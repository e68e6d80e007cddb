#include "stepcast/base/suggest.hpp"

#include <algorithm>

#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

constexpr std::size_t most = 3;

/// What frameworks and people call a name of ours, without dashes in front.
struct Spoken {
  std::string_view word, name;
};
constexpr Spoken spoken[] = {{"batch_size", "global_batch"},
                             {"batch_size", "micro_batch"},
                             {"batch", "global_batch"},
                             {"batch", "micro_batch"},
                             {"batchsize", "global_batch"},
                             {"batchsize", "micro_batch"},
                             {"gbs", "global_batch"},
                             {"mbs", "micro_batch"},
                             {"mbs", "micro_batches"},
                             {"mb", "micro_batches"},
                             {"tensor_parallel", "tp"},
                             {"tensor_parallel_size", "tp"},
                             {"tensor_model_parallel_size", "tp"},
                             {"pipeline_parallel", "pp"},
                             {"pipeline_parallel_size", "pp"},
                             {"pipeline_model_parallel_size", "pp"},
                             {"virtual_pipeline_model_parallel_size", "vpp"},
                             {"data_parallel", "dp"},
                             {"data_parallel_size", "dp"},
                             {"context_parallel", "cp"},
                             {"context_parallel_size", "cp"},
                             {"expert_parallel", "ep"},
                             {"expert_parallel_size", "ep"},
                             {"expert_model_parallel_size", "ep"},
                             {"zero_stage", "zero"},
                             {"zero_bubble", "zb_h1"},
                             {"zb", "zb_h1"},
                             {"seq_len", "sequence"},
                             {"seqlen", "sequence"},
                             {"context_length", "sequence"},
                             {"gpus", "devices"},
                             {"gpu", "device"},
                             {"gpu", "devices"},
                             {"gpus", "clusters"},
                             {"num_gpus", "devices"},
                             {"npus", "devices"},
                             {"npu", "device"},
                             {"npu", "devices"},
                             {"world_size", "devices"},
                             {"nodes", "devices"},
                             {"num_nodes", "devices"},
                             {"nnodes", "devices"},
                             {"sp", "sequence_parallel"},
                             {"stages", "pp"},
                             {"num_layers", "layers"},
                             {"hidden_size", "hidden"},
                             {"vocab_size", "vocabulary"},
                             {"num_experts", "experts"},
                             {"grad_accum", "global_batch"},
                             {"gradient_accumulation", "global_batch"},
                             {"gradient_accumulation_steps", "global_batch"},
                             {"gradient_checkpointing", "recompute"},
                             {"activation_checkpointing", "recompute"},
                             {"bfloat16", "bf16"},
                             {"float16", "fp16"},
                             {"half", "fp16"},
                             {"fp32", "bf16"},
                             {"float32", "bf16"},
                             {"tf32", "bf16"},
                             {"memory", "capacity"},
                             {"size", "devices"},
                             {"size", "model"},
                             {"out", "output"},
                             {"write", "output"},
                             {"out", "json"},
                             {"seed", "seeds"},
                             {"j", "jobs"},
                             {"dtype", "precision"},
                             {"format", "json"},
                             {"output", "json"},
                             {"o", "json"},
                             {"page", "serve"},
                             {"version", "version"},
                             {"memory", "run"},
                             {"forecast", "run"},
                             {"predict", "run"},
                             {"simulate", "run"},
                             {"estimate", "run"},
                             {"search", "plan"},
                             {"optimize", "plan"},
                             {"optimise", "plan"},
                             {"tune", "plan"},
                             {"models", "list"},
                             {"clusters", "list"},
                             {"convert", "import"}};

std::string_view without_dashes(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

/// `--Batch-Size` as `batch_size`: options, keys and people join words in different ways.
std::string plain(std::string_view word) {
  std::string text = lower_case(std::string(without_dashes(word)));
  std::ranges::replace(text, '-', '_');
  return text;
}

std::vector<std::string_view> parts_of(std::string_view word) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= word.size();) {
    const std::size_t end = std::min(word.find_first_of(".-_/", begin), word.size());
    if (end > begin) parts.push_back(word.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// How many parts of `word` stand in the candidate.
std::size_t shared(const std::vector<std::string_view>& word, std::string_view candidate) {
  const auto parts = parts_of(candidate);
  return static_cast<std::size_t>(std::ranges::count_if(
      word, [&](std::string_view part) { return std::ranges::count(parts, part) > 0; }));
}

/// `dualpipev` of `DualPipe-V` and `dualpipe_v`.
std::string in_one_word(std::string_view word) {
  std::string text = plain(word);
  std::erase(text, '_');
  return text;
}

void add(std::vector<std::string>& found, const std::string& candidate) {
  if (found.size() < most && std::ranges::count(found, candidate) == 0) found.push_back(candidate);
}

}  // namespace

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::vector<std::string> called_elsewhere(std::string_view word,
                                          std::span<const std::string> candidates) {
  std::vector<std::string> found;
  const std::string meant = plain(word);
  for (const Spoken& other : spoken)
    for (const std::string& c : candidates)
      if (meant == other.word && plain(c) == other.name) add(found, c);
  return found;
}

std::vector<std::string> names_of(std::string_view word) {
  std::vector<std::string> names;
  for (const Spoken& other : spoken)
    if (plain(word) == other.word) names.emplace_back(other.name);
  return names;
}

std::vector<std::string> suggestions(std::string_view word,
                                     std::span<const std::string> candidates) {
  std::vector<std::string> found;
  constexpr std::size_t shortest_word = 2, longest_word = 64;
  if (word.size() < shortest_word || word.size() > longest_word) return found;
  found = called_elsewhere(word, candidates);
  if (!found.empty()) return found;
  for (const std::string& c : candidates)
    if (in_one_word(c) == in_one_word(word)) add(found, c);
  if (!found.empty()) return found;
  const auto begins = [&](const std::string& c) {
    return c.size() > word.size() && c.starts_with(word);
  };
  const auto holds = [&](const std::string& c) {
    return c.size() > word.size() && std::ranges::count(parts_of(c), word) > 0;
  };
  // Beginnings come first, then parts of names, then slips of the finger.
  // `h100` begins three names and is a part of dgx-h100: one place is left for such.
  const bool held =
      std::ranges::any_of(candidates, [&](const std::string& c) { return holds(c) && !begins(c); });
  for (const std::string& c : candidates)
    if (begins(c) && found.size() + (held ? 1 : 0) < most) add(found, c);
  for (const std::string& c : candidates)
    if (holds(c)) add(found, c);
  if (found.empty())
    if (const auto near = nearest(word, candidates)) add(found, *near);
  const auto parts = parts_of(word);
  // Names of several parts may differ in one of them.
  constexpr std::size_t few = 3;
  if (parts.size() >= few)
    for (const std::string& c : candidates)
      if (c != word && shared(parts, c) + 1 >= parts.size() && parts_of(c).size() == parts.size())
        add(found, c);
  // `seq_length` and `sequence`: a part that a candidate begins with.
  constexpr std::size_t telling = 3;
  if (found.empty() && parts.size() > 1)
    for (const std::string_view part : parts)
      for (const std::string& c : candidates)
        if (part.size() >= telling && c.starts_with(part)) add(found, c);
  const std::string small = lower_case(std::string(word));
  return found.empty() && small != word ? suggestions(small, candidates) : found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates,
                         const std::string& before, const std::string& behind) {
  const std::vector<std::string> found = suggestions(word, candidates);
  std::string text;
  for (std::size_t i = 0; i < found.size(); ++i) {
    text += i == 0 ? "; did you mean " : i + 1 == found.size() ? " or " : ", ";
    text += before;
    text += found[i];
    text += behind;
  }
  return text.empty() ? text : text + "?";
}

}  // namespace stepcast
