#pragma once
#include <algorithm>
#include <string_view>

#include "stepcast/base/describe.hpp"

namespace stepcast {

/// A searched key may hold several values in a plan. docs/plan.md says what `search` stands for.
struct SearchedKey {
  std::string_view path;
  Several several = Several::listed_or_searched;
  /// Says whether one value of the key in a scenario may be a list, too.
  bool also_list = false;
};

inline constexpr SearchedKey searched_keys[] = {{"cluster.devices", Several::listed},
                                                {"parallel.tp"},
                                                {"parallel.pp"},
                                                {"parallel.vpp"},
                                                {"parallel.cp"},
                                                {"parallel.ep"},
                                                {"parallel.etp"},
                                                {"parallel.zero"},
                                                {"parallel.sequence_parallel"},
                                                {"training.micro_batch"},
                                                {.path = "training.recompute", .also_list = true},
                                                {"training.offload.activations"},
                                                {"training.offload.optimizer"},
                                                {"schedule.pipeline"},
                                                {.path = "schedule.slices", .also_list = true},
                                                {"moe.dispatch"},
                                                {"moe.overlap"}};

/// Whether a plan may hold several values of the key at `path`.
constexpr bool is_searched_key(std::string_view path) {
  return std::ranges::any_of(searched_keys,
                             [&](const SearchedKey& key) { return key.path == path; });
}

/// The key at `path`; it is nullptr when the key holds one value in a plan, too.
constexpr const SearchedKey* searched_key(std::string_view path) {
  const auto* key = std::ranges::find(searched_keys, path, &SearchedKey::path);
  return key == std::end(searched_keys) ? nullptr : key;
}

}  // namespace stepcast
