#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// ASCII letters alone: names have no others.
std::string lower_case(std::string text);

/// Whether a word is one of several with blanks, or another sign, between them.
bool is_among(std::string_view word, std::string_view words, char between = ' ');

/// What may have been meant by `word`, at most three, the likeliest first: candidates that begin
/// with it or hold it as one of their parts (`fp8` of `fp8_mixed`), those that share most of their
/// parts (`atlas-800t-a3` and `atlas-900-a3`), and the nearest by letters.
std::vector<std::string> suggestions(std::string_view word,
                                     std::span<const std::string> candidates);

/// Candidates that frameworks or people call `word`: `global_batch` of `--batch-size`.
std::vector<std::string> called_elsewhere(std::string_view word,
                                          std::span<const std::string> candidates);

/// All names that frameworks or people mean by `word`: `devices` of `world_size`.
std::vector<std::string> names_of(std::string_view word);

/// `; did you mean a, b or c?`; empty where nothing is near. Each has `before` and `behind` it.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates,
                         const std::string& before = {}, const std::string& behind = {});

}  // namespace stepcast
