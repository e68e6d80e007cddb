#include "stepcast/base/judge_keys.hpp"

#include <unordered_set>

#include "read_value.hpp"
#include "stepcast/base/canonical.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/base/whole_visitor.hpp"

namespace stepcast {
namespace {

/// All that is asked for, by path.
struct Asked {
  std::unordered_multimap<std::string, KeyVerdict*> keys;
  std::unordered_set<std::string> above;  ///< paths of mappings that hold some of them
};

/// The value of a number that says where it comes from.
const Node& stated_value(const Node& node, const Field& field) {
  const bool stated = node.kind == Node::Kind::mapping && may_state_source(field.target);
  const Node* value = stated ? node.find("value") : nullptr;
  return value != nullptr ? *value : node;
}

std::string text_of_field(const Field& field) {
  const std::string line = canonical_text([&](Visitor& v) { v.field(field); });
  // Without `key=` and the end of the line.
  return line.substr(field.key.size() + 1, line.size() - field.key.size() - 2);
}

/// Keys of entries of lists are not judged.
class KeyJudge : public WholeVisitor {
 public:
  KeyJudge(std::string path, const Asked& asked) : path_{std::move(path)}, asked_{asked} {}

  void field(const Field& field) override {
    for_each(field.key, [&](KeyVerdict& key) {
      const bool known = key.kind == KeyVerdict::Kind::field;
      // Several alternatives may have the key; one that takes the value is enough.
      if (known && key.wrong.empty()) return;
      key.kind = KeyVerdict::Kind::field;
      key.wrong = read_value(stated_value(*key.value, field), field);
      if (key.wrong.empty()) key.text = text_of_field(field);
    });
  }
  void section(std::string_view key, std::string_view, const Body& body) override {
    for_each(key, [&](KeyVerdict& asked) {
      if (asked.kind == KeyVerdict::Kind::unknown) asked.kind = KeyVerdict::Kind::section;
    });
    const std::string path = path_below(path_, key);
    // Nothing below is asked for.
    if (!asked_.above.contains(path)) return;
    KeyJudge inner{path, asked_};
    body(inner);
  }
  void section_or(std::string_view key, std::string_view doc, std::string_view word, bool&,
                  const Body& body) override {
    for_each(key, [&](KeyVerdict& asked) {
      if (!asked.value->is_word(word)) return;
      asked.kind = KeyVerdict::Kind::field;
      asked.text = word;
    });
    section(key, doc, body);
  }
  void alternatives(std::string_view key, std::string_view, std::size_t& current,
                    const std::vector<Alternative>& bodies) override {
    field({key, words_of(bodies), {}});
    one_of(current, bodies);  // a key may be of any of them
  }

 private:
  template <class Do>
  void for_each(std::string_view key, const Do& what) {
    const auto [first, last] = asked_.keys.equal_range(path_below(path_, key));
    for (auto found = first; found != last; ++found) what(*found->second);
  }

  std::string path_;
  const Asked& asked_;
};

}  // namespace

void judge_keys(const Visitor::Body& body, std::vector<KeyVerdict>& keys) {
  Asked asked;
  for (KeyVerdict& key : keys) {
    asked.keys.emplace(key.path, &key);
    // `a.b.c` stands below `a` and `a.b`.
    for (std::size_t dot = key.path.find('.'); dot != std::string::npos;
         dot = key.path.find('.', dot + 1))
      asked.above.insert(key.path.substr(0, dot));
  }
  KeyJudge judge{{}, asked};
  body(judge);
}

}  // namespace stepcast
