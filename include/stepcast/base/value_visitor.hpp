#pragma once
#include <string>
#include <utility>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {

/// Visits what a described value holds: sections that are present, the alternative that is chosen,
/// all entries of lists. Knows the path of each key.
class ValueVisitor : public Visitor {
 public:
  void section(std::string_view key, std::string_view, const Body& body) override {
    const std::string outer = std::exchange(path_, child(key));
    body(*this);
    path_ = outer;
  }
  void section_or(std::string_view key, std::string_view doc, std::string_view, bool& present,
                  const Body& body) override {
    if (present) section(key, doc, body);
  }
  void alternatives(std::string_view, std::string_view, std::size_t& current,
                    const std::vector<Alternative>& bodies) override {
    bodies[current].body(*this);
  }
  void one_of(std::size_t& current, const std::vector<Alternative>& bodies) override {
    bodies[current].body(*this);
  }
  void list(std::string_view key, std::string_view doc, std::size_t size, const Resize&,
            const Entry& body) override {
    for (std::size_t i = 0; i < size; ++i)
      section(std::string(key) + "." + std::to_string(i), doc, [&](Visitor& v) { body(v, i); });
  }

 protected:
  std::string child(std::string_view key) const { return path_below(path_, key); }

 private:
  std::string path_;
};

}  // namespace stepcast
