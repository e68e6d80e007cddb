#include "draft.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/document.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast::launch {
namespace {

constexpr std::array<std::string_view, 11> order{
    "stepcast", "name",     "framework", "cluster",       "model",  "parallel",
    "training", "schedule", "moe",       "communication", "runtime"};

/// Keys with what stands below them, in the order of the format and then of their first setting.
struct Tree {
  std::string key, value, comment;
  std::vector<Tree> below;

  Tree& child(std::string_view name) {
    const auto found = std::ranges::find(below, name, &Tree::key);
    if (found != below.end()) return *found;
    below.push_back({std::string(name), {}, {}, {}});
    return below.back();
  }
  void write(std::string& text, std::size_t depth) const {
    constexpr std::size_t comment_column = 44;
    std::string line = std::string(2 * depth, ' ') + key + ":";
    if (below.empty()) line += " " + value;
    if (!comment.empty()) {
      line.resize(std::max(line.size() + 2, comment_column), ' ');
      line += "# " + comment;
    }
    text += line + "\n";
    for (const Tree& tree : below) tree.write(text, depth + 1);
  }
};

Tree& at_path(Tree& root, std::string_view path) {
  Tree* node = &root;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    node = &node->child(path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  return node->child(path);
}

/// `cluster={extends: x, devices: 8}` as a key each, so that what a launch file says can stay.
std::vector<std::string> split_preset(const std::string& path, const std::string& value) {
  const std::string whole = path + "=" + value;
  Node node;
  try {
    node = parse_document(value, {});
  } catch (const InputError&) {
    return {whole};  // the scenario says what is wrong
  }
  const auto plain = [](const Node::Entry& e) { return e.value.kind == Node::Kind::scalar; };
  if (node.find("extends") == nullptr || !std::ranges::all_of(node.entries, plain)) return {whole};
  std::vector<std::string> all;
  for (const Node::Entry& e : node.entries)
    all.push_back(path + "." + e.key + "=" +
                  (e.value.quoted ? "'" + e.value.text + "'" : e.value.text));
  return all;
}

/// What an entry stands for: another preset is all of its mapping but what the job decides.
std::string_view covered(const Entry& entry, std::string_view asked) {
  std::string_view path = entry.path;
  constexpr std::string_view end = ".extends";
  const bool job = asked == "cluster.devices" || asked == "cluster.allocation";
  if (path.ends_with(end) && !job) path.remove_suffix(end.size());
  return path;
}

std::size_t rank_of(const Tree& tree) {
  return static_cast<std::size_t>(std::ranges::find(order, tree.key) - order.begin());
}

/// Comments are one line of printable text.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) c = ' ';
  constexpr std::size_t longest = 160;
  if (text.size() <= longest) return text;
  text.resize(longest);
  text += " ..";
  return text;
}

std::string text_of(const Setting& setting) {
  std::string text = setting.shown();
  for (const std::string& word : setting.words) text += " " + word;
  return text;
}

}  // namespace

Draft::Draft(const std::vector<std::string>& overrides) {
  for (const std::string& assignment : overrides) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      wrong_.push_back({{"--set " + assignment}, {}, "has no '=', allowed: path.to.key=value"});
      continue;
    }
    const Place place{"--set " + assignment};
    // A preset stands for many keys, each of which a later `--set` may replace.
    for (const std::string& one :
         split_preset(assignment.substr(0, equals), assignment.substr(equals + 1))) {
      const std::size_t end = one.find('=');
      const std::string path = one.substr(0, end);
      // Of one key given twice the last one counts.
      std::erase_if(entries_, [&](const Entry& e) { return e.path == path; });
      entries_.push_back({path, one.substr(end + 1), "--set", place, true});
    }
  }
}

bool Draft::given(std::string_view path) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    if (entry.comment != "--set") return false;
    // Also what stands above or below: who sets a section decides about its keys.
    const std::string_view own = covered(entry, path);
    const std::string_view shorter = own.size() < path.size() ? own : path;
    const std::string_view longer = own.size() < path.size() ? path : own;
    return longer.starts_with(shorter) &&
           (longer.size() == shorter.size() || longer[shorter.size()] == '.');
  });
}

bool Draft::says(std::string_view path, std::string_view value) const {
  const auto found = std::ranges::find(entries_, path, &Entry::path);
  return found != entries_.end() && found->value == value;
}

std::optional<std::int64_t> Draft::count(std::string_view path) const {
  const auto found = std::ranges::find(entries_, path, &Entry::path);
  if (found == entries_.end()) return {};
  const auto value = parse_count(found->value);
  if (!value) return {};
  return static_cast<std::int64_t>(*value);
}

void Draft::set(const std::string& path, const std::string& value,
                std::initializer_list<const Setting*> flags, const std::string& words) {
  for (const Setting* flag : flags)
    if (flag != nullptr) used_.insert(flag->shown());
  if (given(path)) return;
  // Sections in the order of the reference page, whichever flag was read first.
  std::string comment;
  Place place;
  for (const Setting* flag : flags) {
    if (flag == nullptr) continue;
    comment += (comment.empty() ? "" : ", ") + text_of(*flag);
    if (place.file.empty()) place = flag->place;
  }
  if (comment.empty())
    comment = words.empty() ? "default of the framework" : words;
  else if (!words.empty())
    comment += ": " + words;
  std::erase_if(entries_, [&](const Entry& e) { return e.path == path; });
  const bool said = std::ranges::any_of(flags, [](const Setting* f) { return f != nullptr; });
  entries_.push_back({path, value, printable(std::move(comment)), std::move(place), said});
}

void Draft::set_where_used(const std::string& path, const std::string& value,
                           std::initializer_list<const Setting*> flags, const std::string& words) {
  if (given(path)) return set(path, value, flags, words);
  set(path, value, flags, words);
  entries_.back().soft = true;
}

void Draft::back(const std::string& path, const Setting& setting) {
  const auto found = std::ranges::find(entries_, path, &Entry::path);
  if (found == entries_.end() || found->said) return;
  used_.insert(setting.shown());
  found->said = true;
  found->comment = printable(text_of(setting));
  found->place = setting.place;
}

void Draft::keep(const std::string& path) {
  const auto found = std::ranges::find(entries_, path, &Entry::path);
  if (found != entries_.end()) found->said = true;
}

void Draft::leave_out(const std::string& path, const std::string& why) {
  const auto found = std::ranges::find(entries_, path, &Entry::path);
  if (found == entries_.end()) return;
  if (!why.empty() && found->said) notes_.push_back({found->place, found->comment, why});
  entries_.erase(found);
}

void Draft::note(const Setting& setting, const std::string& message) {
  used_.insert(setting.shown());
  // A form that stands on another has its settings looked at twice.
  const bool said = std::ranges::any_of(notes_, [&](const Diagnostic& note) {
    return note.path == setting.shown() && note.message == message &&
           note.place.line == setting.place.line && note.place.column == setting.place.column;
  });
  if (!said) notes_.push_back({setting.place, setting.shown(), message});
}

void Draft::settle() {
  for (Diagnostic& setting : expected_) {
    if (!used_.insert(setting.path).second) continue;
    setting.message = "changes nothing here";
    notes_.push_back(std::move(setting));
  }
  expected_.clear();
}

std::string Draft::yaml() const {
  Tree root;
  for (const Entry& entry : entries_) {
    Tree& tree = at_path(root, entry.path);
    tree.value = entry.value;
    tree.comment = entry.comment;
  }
  std::ranges::stable_sort(root.below, {}, rank_of);
  std::string text;
  for (const Tree& tree : root.below) tree.write(text, 0);
  return text;
}

}  // namespace stepcast::launch
