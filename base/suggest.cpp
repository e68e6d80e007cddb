#include "stepcast/base/suggest.hpp"

#include <algorithm>

#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

constexpr std::size_t most = 3;

/// A name of ours, and what frameworks and people call it, without dashes in front.
struct Spoken {
  std::string_view name, words;
};
constexpr Spoken spoken[] = {
    {"global_batch",
     "batch_size batch batchsize gbs grad_accum gradient_accumulation gradient_accumulation_steps"},
    {"micro_batch", "batch_size batch batchsize mbs"},
    {"micro_batches", "mbs mb"},
    {"tp", "tensor_parallel tensor_parallel_size tensor_model_parallel_size"},
    {"pp", "pipeline_parallel pipeline_parallel_size pipeline_model_parallel_size stages"},
    {"vpp", "virtual_pipeline_model_parallel_size"},
    {"dp", "data_parallel data_parallel_size"},
    {"cp", "context_parallel context_parallel_size"},
    {"ep", "expert_parallel expert_parallel_size expert_model_parallel_size"},
    {"zero", "zero_stage"},
    {"zb_h1", "zero_bubble zb"},
    {"sequence", "seq_len seqlen context_length"},
    {"device", "gpu npu"},
    {"devices", "gpus gpu num_gpus npus npu world_size nodes num_nodes nnodes size"},
    {"clusters", "gpus"},
    {"sequence_parallel", "sp"},
    {"layers", "num_layers"},
    {"hidden", "hidden_size"},
    {"vocabulary", "vocab_size"},
    {"experts", "num_experts"},
    {"recompute", "gradient_checkpointing activation_checkpointing"},
    {"bf16", "bfloat16 fp32 float32 tf32"},
    {"fp16", "float16 half"},
    {"capacity", "memory"},
    {"model", "size"},
    {"output", "out write o"},
    {"json", "out format output o"},
    {"seeds", "seed"},
    {"jobs", "j"},
    {"precision", "dtype"},
    {"type", "dtype precision"},
    {"serve", "page"},
    {"version", "version"},
    {"run", "memory forecast predict simulate estimate"},
    {"plan", "search optimize optimise tune"},
    {"list", "models clusters"},
    {"import", "convert"}};

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

bool is_among(std::string_view word, std::string_view words, char between) {
  const auto enclosed = [&](std::string_view text) {
    return between + std::string(text) + between;
  };
  return enclosed(words).find(enclosed(word)) != std::string::npos;
}

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
      if (plain(c) == other.name && is_among(meant, other.words)) add(found, c);
  return found;
}

std::vector<std::string> names_of(std::string_view word) {
  std::vector<std::string> names;
  for (const Spoken& other : spoken)
    if (is_among(plain(word), other.words)) names.emplace_back(other.name);
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
