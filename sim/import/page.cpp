
#include "flags.hpp"
#include "stepcast/sim/import/import.hpp"

// The tables of docs/formats/launch_files.md, from the tables that import reads by.
namespace stepcast {
namespace {

using launch::Flag, launch::FlagTable, launch::IgnoredFlags, launch::Treatment;

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

/// `; `0` and `1` are taken`
std::string taken_values(const Flag& flag) {
  if (flag.neutral.empty()) return {};
  std::string text = "; `";
  for (const char c : flag.neutral) text += c == '|' ? std::string("`, `") : std::string(1, c);
  return text + "` is taken";
}

std::string meaning(const Flag& flag) {
  std::string note = cell(flag.note);
  const std::string key = "`" + std::string(flag.key) + "`";
  switch (flag.treatment) {
    case Treatment::taken:
      return key + (note.empty() ? "" : ": " + note);
    case Treatment::ignored:
      return note;
    case Treatment::unmodelled:
      return "said, not modelled: " + note;
    case Treatment::refused:
      return "refused, no value of " + key + " follows from it: " + note + taken_values(flag);
    case Treatment::lacking:
      return "refused, no key has it: " + note + taken_values(flag);
  }
  return note;
}

}  // namespace

std::string launch_flags_page() {
  std::string text;
  for (const FlagTable& table : launch::flag_tables()) {
    text += "### " + std::string(table.title) + "\n\n| flag | meaning |\n|---|---|\n";
    for (const Flag& flag : table.flags)
      text += "| `" + std::string(flag.name) + "` | " + meaning(flag) + " |\n";
    text += "\nWithout effect on time or memory:\n\n";
    // A list of names per reason, as hundreds of flags change nothing.
    for (const IgnoredFlags& group : table.ignored) {
      std::string marked;
      launch::each_name(group, [&marked](std::string_view name, launch::Numbers) {
        marked += (marked.empty() ? "`" : " `") + std::string(name) + "`";
      });
      text += "- " + std::string(group.reason) + ": " + marked + "\n";
    }
    text += "\n";
  }
  return text;
}

}  // namespace stepcast
