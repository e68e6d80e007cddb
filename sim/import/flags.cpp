#include "flags.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "stepcast/base/errors.hpp"

namespace stepcast::launch {
namespace {

using Cells = std::array<std::string_view, 6>;

/// Cells of a row, with ` | ` between them; those that are left out are empty.
Cells cells_of(std::string_view line) {
  Cells cells;
  for (std::string_view& cell : cells) {
    const std::size_t end = std::min(line.find(" | "), line.size());
    cell = line.substr(0, end);
    line.remove_prefix(std::min(end + 3, line.size()));
  }
  return cells;
}

/// The member of an enum whose names are listed in its order.
template <class Enum>
Enum named(std::initializer_list<std::string_view> names, std::string_view name) {
  const auto* found = std::ranges::find(names, name);
  expects(found != names.end(), "every word of a table of flags is known");
  return static_cast<Enum>(found - names.begin());
}

Flag flag_of(const Cells& cells) {
  constexpr std::string_view below = " section";
  std::string_view word = cells[2];
  const bool section = word.ends_with(below);
  if (section) word.remove_suffix(below.size());
  // A count that is the value of the key as it stands is taken, too.
  const bool direct = word == "direct";
  return {cells[0],
          named<Arity>({"none", "one", "any"}, cells[1]),
          named<Treatment>({"taken", "ignored", "unmodelled", "refused", "lacking"},
                           direct ? "taken" : word),
          cells[3],
          cells[4],
          direct,
          cells[5],
          section};
}

/// The tables of the text that CMake makes of one file a framework: `table | name | title | prefix`
/// begins one, `ignored | reason | names` is a group, and every other line is a flag.
std::vector<FlagTable> read_tables(std::string_view text) {
  std::vector<FlagTable> tables;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const Cells cells = cells_of(line);
    if (cells[0] == "table")
      tables.push_back({static_cast<Framework>(tables.size()), cells[1], cells[2], cells[3]});
    else if (cells[0] == "ignored")
      tables.back().ignored.push_back({cells[1], cells[2]});
    else
      tables.back().flags.push_back(flag_of(cells));
  }
  return tables;
}

const std::vector<FlagTable>& tables() {
  static const std::vector<FlagTable> all = read_tables(flag_text());
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
  // Frameworks on top of Megatron-LM take its flags too.
  if (knows_megatron(framework)) add(flag_table(Framework::megatron));
  return all;
}

}  // namespace stepcast::launch
