#include "stepcast/base/section.hpp"

#include <algorithm>

#include "read_value.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

const Node& empty_mapping() {
  static const Node node{.kind = Node::Kind::mapping};
  return node;
}

std::vector<Option> as_options(const std::vector<Visitor::Alternative>& bodies) {
  std::vector<Option> options;
  options.reserve(bodies.size());
  for (const auto& body : bodies) options.push_back({body.name, body.built});
  return options;
}

}  // namespace

void Reading::report(Place place, std::string path, std::string message) {
  diagnostics.push_back({std::move(place), std::move(path), std::move(message)});
}

Section::Section(const Node& node, std::string path, Reading& reading)
    : node_{node}, path_{std::move(path)}, reading_{reading} {
  if (node.kind == Node::Kind::mapping || node.kind == Node::Kind::null) return;
  const std::size_t colon = node.text.find(':');
  const bool glued = colon != std::string::npos && colon + 1 < node.text.size();
  fail(node.place, path_,
       "is " + quoted(node) + ", allowed: a mapping" +
           (glued ? ", with a blank behind each colon" : ""));
  // One error is enough: no key of it is said to be missing.
  all_known_ = true;
}

void Section::field(const Field& field) {
  const Node* node = take(field.key);
  const std::string path = child(field.key);
  if (node == nullptr) {
    if (!field.required || all_known_ || reading_.partial) return;
    return fail(node_.place, path,
                "is missing (" + std::string(field.doc) + "), allowed: " + allowed_values(field));
  }
  // What is noted of a value stays only if the value reads.
  const std::size_t assumed = reading_.assumptions.size();
  if (node->kind == Node::Kind::mapping && may_state_source(field.target)) {
    node = unwrap(*node, path);
    if (node == nullptr) return;
  }
  const std::string wrong = read_value(*node, field);
  if (wrong.empty()) return;
  reading_.assumptions.resize(assumed);
  fail(node->place, path, wrong);
}

void Section::section(std::string_view key, std::string_view, const Body& body) {
  const Node* node = take(key);
  if (node != nullptr && node->kind != Node::Kind::null) return inside(*node, child(key), body);
  // A section that is left out still has defaults, and perhaps required keys: one error names them
  // all.
  Reading inner;
  Section section{empty_mapping(), {}, inner};
  body(section);
  if (inner.diagnostics.empty() || all_known_ || reading_.partial) return;
  std::vector<std::string> needed;
  for (const Diagnostic& d : inner.diagnostics) needed.push_back(d.path);
  for (const std::string& failed : inner.failed) reading_.failed.insert(child(key) + "." + failed);
  fail(node != nullptr ? node->place : node_.place, child(key),
       (node != nullptr ? "is empty" : "is missing") + std::string(", allowed: a mapping with ") +
           joined(needed));
}

void Section::section_or(std::string_view key, std::string_view, std::string_view word,
                         bool& present, const Body& body) {
  const Node* node = take(key);
  present = node != nullptr && !node->is_word(word);
  if (!present) return;
  if (node->kind == Node::Kind::mapping) return inside(*node, child(key), body);
  present = false;
  Reading unused;  // only to learn which keys it has
  Section probe{empty_mapping(), {}, unused};
  body(probe);
  const std::string keys = probe.known_.empty() ? "" : " of " + joined(probe.known_);
  fail(node->place, child(key),
       "is " + quoted(*node) + ", allowed: a mapping" + keys + ", or " + std::string(word));
}

void Section::alternatives(std::string_view key, std::string_view, std::size_t& current,
                           const std::vector<Alternative>& bodies) {
  if (const Node* node = take(key)) {
    const std::vector<Option> options = as_options(bodies);
    const auto found = std::ranges::find(options, node->text, &Option::name);
    if (node->kind != Node::Kind::scalar || found == options.end() || !found->built) {
      // Unknown is then which keys may stand beside it.
      all_known_ = true;
      return fail(node->place, child(key),
                  wrong_option(node->text, quoted(*node), options, built_options(options)));
    }
    current = static_cast<std::size_t>(found - options.begin());
  }
  bodies[current].body(*this);
}

void Section::one_of(std::size_t& current, const std::vector<Alternative>& bodies) {
  std::vector<std::string> names;
  std::vector<const Node::Entry*> given;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    names.emplace_back(bodies[i].name);
    const auto entry = std::ranges::find(node_.entries, bodies[i].name, &Node::Entry::key);
    if (entry == node_.entries.end()) continue;
    given.push_back(&*entry);
    if (given.size() == 1) current = i;
  }
  if (given.empty()) {
    for (const Alternative& alternative : bodies) {
      reading_.failed.insert(child(alternative.name));
      Reading unused;  // only to learn which keys may stand here
      Section probe{node_, path_, unused};
      alternative.body(probe);
      for (const std::string& key : probe.known_) know(key);
    }
    if (all_known_ || reading_.partial) return;
    return fail(node_.place, path_,
                "has none of " + joined(names) + ", allowed: exactly one of them");
  }
  // The first that is given is read, so that its own errors are told.
  bodies[current].body(*this);
  for (std::size_t i = 1; i < given.size(); ++i) {
    know(given[i]->key);
    fail(given[i]->place, child(given[i]->key),
         "does not go with " + given[0]->key + ", allowed: exactly one of " + joined(names));
  }
}

void Section::list(std::string_view key, std::string_view doc, std::size_t, const Resize& resize,
                   const Entry& body) {
  const Node* node = take(key);
  const std::string allowed = "a list of mappings (" + std::string(doc) + ")";
  if (node == nullptr) {
    // A part of a file need not have everything.
    if (!reading_.partial) fail(node_.place, child(key), "is missing, allowed: " + allowed);
    return;
  }
  if (node->kind != Node::Kind::list || node->items.empty()) {
    const std::string shown = node->kind == Node::Kind::list ? "an empty list" : quoted(*node);
    return fail(node->place, child(key), "is " + shown + ", allowed: " + allowed);
  }
  entries(*node, child(key), resize, body);
}

void Section::optional_list(std::string_view key, std::string_view doc, std::size_t,
                            const Resize& resize, const Entry& body) {
  const Node* node = take(key);
  if (node == nullptr) return;
  if (node->kind == Node::Kind::list) return entries(*node, child(key), resize, body);
  if (node->is_word("none")) return resize(0);
  fail(node->place, child(key),
       "is " + quoted(*node) + ", allowed: a list of mappings (" + std::string(doc) + "), none");
}

void Section::entries(const Node& node, const std::string& path, const Resize& resize,
                      const Entry& body) {
  resize(node.items.size());
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    inside(node.items[i], path + "." + std::to_string(i),
           [&](Visitor& visitor) { body(visitor, i); });
  }
}

void Section::paths(std::string_view key, std::string_view, const PathMap& map) {
  const Node* node = take(key);
  // Set in any case, as the caller's pointer may be of an earlier reading.
  *map.found = nullptr;
  if (node == nullptr) return;
  if (node->kind == Node::Kind::mapping) {
    *map.found = node;
  } else {
    fail(node->place, child(key), "is " + quoted(*node) + ", allowed: a mapping");
  }
}

void Section::finish() {
  // Which keys may stand here is not known.
  if (all_known_) return;
  for (const Node::Entry& entry : node_.entries) {
    if (std::ranges::find(known_, entry.key) != known_.end()) continue;
    // `tp:8` is one word of YAML.
    const std::size_t colon = entry.key.find(':');
    if (colon != std::string::npos &&
        std::ranges::find(known_, entry.key.substr(0, colon)) != known_.end()) {
      fail(entry.place, child(entry.key.substr(0, colon)),
           "has no blank behind its colon, allowed: " + entry.key.substr(0, colon) + ": " +
               entry.key.substr(colon + 1));
      continue;
    }
    const std::string near = did_you_mean(entry.key, known_);
    fail(entry.place, child(entry.key),
         "is not a known key" + (!near.empty()    ? near
                                 : known_.empty() ? ", allowed: none"
                                                  : ", allowed: " + joined(known_)));
  }
}

const Node* Section::take(std::string_view key) {
  know(key);
  return node_.find(key);
}

void Section::know(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
}

std::string Section::child(std::string_view key) const { return path_below(path_, key); }

void Section::fail(Place place, const std::string& path, std::string message) {
  reading_.failed.insert(path);
  reading_.report(std::move(place), path, std::move(message));
}

void Section::inside(const Node& node, const std::string& path, const Body& body) {
  Section section{node, path, reading_};
  const std::size_t told = reading_.diagnostics.size();
  body(section);
  if (node.kind != Node::Kind::mapping && node.kind != Node::Kind::null)
    reading_.diagnostics[told - 1].message += " of " + joined(section.known_);
  section.finish();
}

const Node* Section::unwrap(const Node& node, const std::string& path) {
  static const std::vector<Option> sources{
      {"datasheet"}, {"measured"}, {"fitted"}, {"derived"}, {"assumed"}};
  Section section{node, path, reading_};
  const std::size_t before = reading_.diagnostics.size();
  const Node* value = section.take("value");
  if (value == nullptr) {
    fail(node.place, path, "is a mapping without value, allowed: {value, source, note}");
    return nullptr;
  }
  std::string note;
  std::size_t source{};
  section.field({"source",
                 Choice{sources, [] { return std::size_t{0}; }, [&](std::size_t i) { source = i; }},
                 "where the number comes from", any_number(), true});
  section.field({"note", &note, "what to know about it"});
  section.finish();
  // Only of a value whose source and note are right.
  if (reading_.diagnostics.size() == before) {
    reading_.assumptions.push_back({path, value->text, std::string(sources[source].name), note});
  }
  return value;
}

Place place_of(const Node& root, std::string_view path) {
  const Node* node = &root;
  const auto inner = [&node](std::string_view key) -> const Node* {
    if (node->kind != Node::Kind::list) return node->find(key);
    const auto index = parse_count(key);
    if (!index || *index < 0 || *index >= static_cast<double>(node->items.size())) return nullptr;
    return &node->items[static_cast<std::size_t>(*index)];
  };
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const Node* next = inner(path.substr(0, dot));
    // The deepest part that is there has the place.
    if (next == nullptr) break;
    node = next;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node->place;
}

}  // namespace stepcast
