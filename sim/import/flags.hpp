#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What each framework's flags mean for a scenario: one table that import, export and the page of
/// docs/formats/launch_files.md use.
namespace stepcast::launch {

enum class Framework {
  megatron,
  mindspeed,
  mindformers,
  torchtitan,
  nemo,
  megatron_deepspeed,
  deepspeed,
  flagscale,
  primus,
  mindspeed_fsdp2,
  trainer,
  llama_factory,
  axolotl,
  ms_swift,
};

enum class Treatment {
  taken,       ///< sets the keys of `key`
  ignored,     ///< changes no time and no memory, for the reason in `note`
  unmodelled,  ///< changes a little that no key has: it is said with its place
  refused,     ///< changes a key, to what the file does not say or no value of it says
  lacking,     ///< changes what no key has
};

/// Words that a flag takes.
enum class Arity { none, one, any };

/// Numbers that a framework takes where they change neither time nor memory.
enum class Numbers {
  usual,  ///< 0 or more, and -1 for all or none
  any,
  share,  ///< 0 to 1
  above,  ///< above 0
};

struct Flag {
  std::string_view name;
  Arity arity = Arity::one;
  Treatment treatment = Treatment::taken;
  std::string_view key;   ///< of the scenario, the first is what --set gives instead of a refusal
  std::string_view note;  ///< how the value becomes the key's, or why it does not
  /// A count that is the key's value as it stands: the one rule both ways.
  bool direct = false;
  /// Refused and unmodelled flags with this value, one of several with |
  /// between them, or none, say nothing that must be refused.
  std::string_view neutral = {};
  /// Of a tree: all keys below it are meant.
  bool section = false;
  Numbers numbers = Numbers::usual;
};

/// Names of flags that change neither time nor memory, for one reason.
struct IgnoredFlags {
  std::string_view reason;
  /// With blanks between them, without the dashes. Behind a colon the numbers that are not the
  /// usual ones: `seed:any`.
  std::string_view names;
};

/// Calls `take(name, numbers)` for each name of a group.
template <typename Take>
void each_name(const IgnoredFlags& group, const Take& take) {
  for (std::size_t at = 0; at < group.names.size();) {
    const std::size_t end = std::min(group.names.find(' ', at), group.names.size());
    const std::string_view word = group.names.substr(at, end - at);
    const std::size_t colon = std::min(word.find(':'), word.size());
    const std::string_view numbers = word.substr(colon);
    if (!word.empty())
      take(word.substr(0, colon), numbers == ":any"     ? Numbers::any
                                  : numbers == ":share" ? Numbers::share
                                  : numbers == ":above" ? Numbers::above
                                                        : Numbers::usual);
    at = end + 1;
  }
}

struct FlagTable {
  Framework framework;
  std::string_view name;   ///< as --from has it
  std::string_view title;  ///< as people call it
  /// What stands in front of names of `ignored`.
  std::string_view prefix;
  std::vector<Flag> flags = {};
  std::vector<IgnoredFlags> ignored = {};
};

const FlagTable& flag_table(Framework framework);
std::span<const FlagTable> flag_tables();
/// A flag as `framework` reads it; those that run Megatron-LM know its flags, too. Nothing for an
/// unknown one.
std::optional<Flag> find_flag(Framework framework, std::string_view name);
/// All names that a framework knows, for "did you mean".
std::vector<std::string> flag_names(Framework framework);

/// All tables as text: cmake/FlagTables.cmake joins those of sim/import/flags/, of which each is a
/// framework's, in the order of Framework.
std::string_view flag_text();

}  // namespace stepcast::launch
