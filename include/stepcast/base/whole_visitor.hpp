#pragma once
#include <memory>

#include "stepcast/base/describe.hpp"

namespace stepcast {

/// Walks over all keys that a description can have, whichever alternatives a document takes. Says
/// nothing of lists and maps of paths unless the deriving class does.
class WholeVisitor : public Visitor {
 public:
  void section_or(std::string_view key, std::string_view doc, std::string_view, bool&,
                  const Body& body) override {
    section(key, doc, body);
  }
  void alternatives(std::string_view, std::string_view, std::size_t& current,
                    const std::vector<Alternative>& bodies) override {
    one_of(current, bodies);
  }
  void one_of(std::size_t& current, const std::vector<Alternative>& bodies) override {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      if (!bodies[i].built) continue;
      current = i;
      bodies[i].body(*this);
    }
  }
  void list(std::string_view, std::string_view, std::size_t, const Resize&, const Entry&) override {
  }

 protected:
  /// The word of `alternatives` as a field, for those that judge it.
  static Choice words_of(const std::vector<Alternative>& bodies) {
    std::vector<Option> options;
    options.reserve(bodies.size());
    for (const Alternative& body : bodies) options.push_back({body.name, body.built});
    const auto chosen = std::make_shared<std::size_t>(0);
    return Choice{std::move(options), [chosen] { return *chosen; },
                  [chosen](std::size_t i) { *chosen = i; }};
  }
};

}  // namespace stepcast
