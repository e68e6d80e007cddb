#include "stepcast/base/known_keys.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "read_value.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/base/whole_visitor.hpp"

namespace stepcast {
namespace {

/// Looks for one key path in a description. Where several alternatives know it, one that takes the
/// value is enough.
class Finder : public WholeVisitor {
 public:
  Finder(std::string_view path, const Node& value) : value_{value} {
    const std::size_t dot = std::min(path.find('.'), path.size());
    head_ = path.substr(0, dot);
    rest_ = path.substr(std::min(dot + 1, path.size()));
  }

  std::string verdict() const {
    if (verdict_) return *verdict_;
    const std::string near = did_you_mean(head_, known_);
    return "is not a known key" + (!near.empty() ? near : ", allowed: " + joined(known_));
  }

  void field(const Field& field) override {
    if (!here(field.key)) return;
    const bool stated = may_state_source(field.target);
    if (rest_.empty()) return judge(read_value(stated ? inner_value() : value_, field));
    if (stated && rest_ == "value") return judge(read_value(value_, field));
    judge(stated && (rest_ == "source" || rest_ == "note") ? "" : "holds no keys of its own");
  }
  void section(std::string_view key, std::string_view, const Body& body) override {
    if (!here(key)) return;
    if (!rest_.empty()) return descend(rest_, body);
    const bool mapping = value_.kind == Node::Kind::mapping;
    judge(mapping ? "" : "is " + quoted(value_) + ", allowed: a mapping");
  }
  void section_or(std::string_view key, std::string_view doc, std::string_view word, bool&,
                  const Body& body) override {
    if (here(key) && rest_.empty() && value_.is_word(word)) return judge("");
    section(key, doc, body);
  }
  void alternatives(std::string_view key, std::string_view, std::size_t& current,
                    const std::vector<Alternative>& bodies) override {
    field({key, words_of(bodies), {}});
    one_of(current, bodies);
  }
  void list(std::string_view key, std::string_view, std::size_t, const Resize& resize,
            const Entry& body) override {
    if (!here(key)) return;
    if (rest_.empty()) {
      const bool list = value_.kind == Node::Kind::list;
      return judge(list ? "" : "is " + quoted(value_) + ", allowed: a list of mappings");
    }
    const std::size_t dot = rest_.find('.');
    if (dot == std::string_view::npos || !parse_count(rest_.substr(0, dot)))
      return judge("names no key of an entry, allowed: " + head_ + ".0.key");
    // One entry is enough to learn the keys of all.
    resize(1);
    descend(rest_.substr(dot + 1), [&](Visitor& v) { body(v, 0); });
  }
  void optional_list(std::string_view key, std::string_view doc, std::size_t size,
                     const Resize& resize, const Entry& body) override {
    if (here(key) && rest_.empty() && value_.is_word("none")) return judge("");
    list(key, doc, size, resize, body);
  }
  void paths(std::string_view key, std::string_view, const PathMap&) override {
    if (here(key)) judge("maps paths of keys, which are set one by one");
  }

 private:
  bool here(std::string_view key) {
    // Other keys are remembered to suggest a near one.
    if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
    return key == head_;
  }
  void judge(const std::string& wrong) {
    if (!verdict_ || wrong.empty()) verdict_ = wrong;
  }
  void descend(std::string_view path, const Body& body) {
    Finder inner{path, value_};
    body(inner);
    judge(inner.verdict());
  }
  const Node& inner_value() const {
    const Node* inner = value_.kind == Node::Kind::mapping ? value_.find("value") : nullptr;
    return inner != nullptr ? *inner : value_;
  }

  const Node& value_;
  std::string head_;
  std::string_view rest_;
  std::vector<std::string> known_;
  std::optional<std::string> verdict_;
};

}  // namespace

std::string wrong_assignment(const Visitor::Body& body, std::string_view path, const Node& value) {
  Finder finder{path, value};
  body(finder);
  return finder.verdict();
}

}  // namespace stepcast
