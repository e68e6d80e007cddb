#pragma once
#include <set>
#include <string>

#include "stepcast/base/whole_visitor.hpp"

namespace stepcast::fuzz {

/// A key of a description as `--set` reaches it: `before` + value + `after`. A key of a list's
/// entries sets the whole list, `stalls.slow_devices=[{factor: ` and `}]`.
struct Slot {
  std::string before, after;
  auto operator<=>(const Slot&) const = default;
};

/// Collects every key of a description, of all its alternatives.
class Slots : public WholeVisitor {
 public:
  static std::set<Slot> of(const Visitor::Body& body) {
    std::set<Slot> all;
    Slots slots{all, "", ""};
    body(slots);
    return all;
  }

  void field(const Field& field) override { add(field.key); }
  void section(std::string_view key, std::string_view, const Body& body) override {
    add(key);
    inside(key, body);
  }
  void section_or(std::string_view key, std::string_view, std::string_view, bool& present,
                  const Body& body) override {
    present = true;
    add(key);
    inside(key, body);
  }
  void alternatives(std::string_view key, std::string_view, std::size_t& current,
                    const std::vector<Alternative>& bodies) override {
    add(key);
    one_of(current, bodies);
  }
  void list(std::string_view key, std::string_view, std::size_t, const Resize& resize,
            const Entry& body) override {
    add(key);
    resize(1);
    Slots entry{all_,
                in_list_ ? before_ + std::string(key) + ": [{" : before_ + std::string(key) + "=[{",
                "}]" + after_, true};
    body(entry, 0);
  }
  void paths(std::string_view key, std::string_view, const PathMap&) override { add(key); }

 private:
  Slots(std::set<Slot>& all, std::string before, std::string after, bool in_list = false)
      : all_{all}, before_{std::move(before)}, after_{std::move(after)}, in_list_{in_list} {}

  void add(std::string_view key) {
    all_.insert({before_ + std::string(key) + (in_list_ ? ": " : "="), after_});
  }
  void inside(std::string_view key, const Body& body) {
    Slots inner{all_, before_ + std::string(key) + (in_list_ ? ": {" : "."),
                (in_list_ ? "}" : "") + after_, in_list_};
    body(inner);
  }

  std::set<Slot>& all_;
  std::string before_, after_;
  bool in_list_;
};

}  // namespace stepcast::fuzz
