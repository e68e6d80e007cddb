#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "document.hpp"
#include "fast_keys.hpp"
#include "stepcast/sim/scenario/searched_keys.hpp"

namespace stepcast {

inline constexpr const char *schedule_key = "schedule.pipeline", *devices_key = "cluster.devices";
/// A slow key makes a base of each value. `searched` is what `search` stands for; empty: the words
/// that are built.
struct SlowKey {
  const char* path;
  std::array<const char*, 3> searched = {};
};
inline constexpr SlowKey slow_keys[] = {{"training.recompute"},
                                        {"training.offload.activations", {"0", "0.5", "1"}},
                                        {"training.offload.optimizer", {"false", "true"}},
                                        {"moe.dispatch"},
                                        {"moe.overlap"},
                                        {"schedule.slices", {"1", "2", "4"}}};
// What the search can vary is what a plan may list.
static_assert(std::ranges::all_of(fast_keys, is_searched_key, &FastKey::path));
static_assert(std::ranges::all_of(slow_keys, is_searched_key, &SlowKey::path));
static_assert(is_searched_key(schedule_key) && is_searched_key(devices_key));
static_assert(std::size(searched_keys) == fast_key_count + std::size(slow_keys) + 2);

/// The words that `search` stands for at the key.
inline std::vector<std::string> words_of(const SlowKey& key) {
  if (key.searched.front() == nullptr) return built_words(key.path);
  std::vector<std::string> words;
  for (const char* word : key.searched)
    if (word != nullptr) words.emplace_back(word);
  return words;
}

}  // namespace stepcast
