#include <algorithm>

#include "forms.hpp"
#include "stepcast/sim/scenario/framed_document.hpp"

// Keys that the framework says by itself: an import does not write them again.
namespace stepcast::launch {
namespace {

using FrameworkKeys = std::vector<std::pair<std::string, Node>>;

const Node* value_of(const FrameworkKeys& keys, const std::string& path) {
  const auto found = std::ranges::find(keys, path, &FrameworkKeys::value_type::first);
  return found == keys.end() ? nullptr : &found->second;
}

/// A value as its text, a mapping or a list as nothing that an entry could equal.
bool says_the_same(const Node& value, const Entry& entry) {
  return value.kind == Node::Kind::scalar && value.text == entry.value;
}

bool is_ruled(const stepcast::Framework& framework, const std::string& path) {
  return std::ranges::any_of(framework.rules,
                             [&](const FrameworkRule& rule) { return rule.key == path; });
}

/// Whether some rule gives the key this value.
bool may_say(const stepcast::Framework& framework, const Entry& entry) {
  return std::ranges::any_of(framework.rules, [&](const FrameworkRule& rule) {
    return rule.key == entry.path && says_the_same(rule.value, entry);
  });
}

/// What the framework says of a document.
FrameworkKeys keys_without(const Node& root, const SearchPath& search) {
  Reading reading;
  const FramedDocument framed{root, search, reading};
  return framed.keys_of(framed.root(), {});
}

}  // namespace

void take_out(Node& root, std::string_view path) {
  const std::size_t dot = path.find('.');
  Node* below = root.kind == Node::Kind::mapping ? root.find(path.substr(0, dot)) : nullptr;
  if (below == nullptr) return;
  if (dot != std::string_view::npos) {
    take_out(*below, path.substr(dot + 1));
    // A section that becomes empty goes with its last key.
    if (below->kind != Node::Kind::mapping || !below->entries.empty()) return;
  }
  std::erase_if(root.entries, [&](const Node::Entry& e) { return e.key == path.substr(0, dot); });
}

void set_framework(Draft& draft, const std::string& chosen) {
  const Identity& runs = draft.runs();
  // Without a preset for what runs, no rules apply; the comment says why.
  if (runs.file.empty() || draft.given("framework")) {
    draft.set("framework", "none", {}, chosen == "none" ? "--framework" : "no preset");
    return;
  }
  const bool assumed = chosen.empty() && runs.version.empty();
  const std::string why = !chosen.empty() ? "--framework"
                          : assumed       ? "assumed: the file says no version"
                                          : "by " + runs.words;
  draft.set("framework.extends", runs.file, {}, why);
  draft.set("framework.recipe", "none", {}, "flags are those of the file");
}

bool leave_out_idle(const InputError& error, Node& root, Draft& draft) {
  bool any = false;
  for (const Diagnostic& d : error.diagnostics()) {
    const auto entry = std::ranges::find(draft.entries(), d.path, &Entry::path);
    // Only what no flag said is left out: a key that the file asks for and that does nothing is an
    // error.
    if (!d.idle || entry == draft.entries().end() || !(entry->soft || !entry->said)) continue;
    draft.leave_out(d.path, "changes nothing here: " + d.path + " " + d.message);
    take_out(root, d.path);
    any = true;
  }
  return any;
}

void leave_to_framework(Node& root, const SearchPath& search, Draft& draft) {
  Reading reading;
  const auto framework = framework_of(root, search, reading);
  if (!framework) return;  // none, or the reader of scenarios says what is wrong with it
  // Defaults of the framework are its rules' to say, where one holds.
  std::vector<Entry> defaults, flags;
  for (const Entry& entry : draft.entries())
    if (is_ruled(*framework, entry.path) && entry.comment != "--set")
      (entry.said ? flags : defaults).push_back(entry);
  Node bare = root;
  for (const Entry& entry : defaults) take_out(bare, entry.path);
  const auto leave = [&](const Entry& entry) {
    draft.leave_out(entry.path);
    take_out(root, entry.path);
  };
  const FrameworkKeys said = keys_without(bare, search);
  for (const Entry& entry : defaults)
    if (value_of(said, entry.path) != nullptr) leave(entry);
  // A flag that says what the framework does anyway.
  for (const Entry& entry : flags) {
    if (!may_say(*framework, entry)) continue;
    Node without = bare;
    take_out(without, entry.path);
    const FrameworkKeys keys = keys_without(without, search);
    const Node* value = value_of(keys, entry.path);
    if (value == nullptr || !says_the_same(*value, entry)) continue;
    leave(entry);
    bare = std::move(without);
  }
}

}  // namespace stepcast::launch
