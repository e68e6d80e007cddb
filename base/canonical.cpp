#include "stepcast/base/canonical.hpp"

#include <nettle/sha2.h>

#include <array>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/base/value_visitor.hpp"

namespace stepcast {
namespace {

/// Equal values have the same text, however they were written: texts are compared and hashed.
struct Text {
  template <int T, int B, int F>
  std::string operator()(const Quantity<T, B, F>* target) const {
    return shortest(target->value());
  }
  std::string operator()(const double* target) const { return shortest(*target); }
  std::string operator()(const std::int64_t* target) const { return std::to_string(*target); }
  std::string operator()(const bool* target) const { return *target ? "true" : "false"; }
  std::string operator()(const std::string* target) const { return *target; }
  std::string operator()(const Identifier& target) const { return *target.target; }
  std::string operator()(const OptionalCount& t) const {
    return t.target->has_value() ? std::to_string(**t.target) : std::string(t.word);
  }
  std::string operator()(const OptionalNumber& t) const {
    return t.target->has_value() ? shortest(**t.target) : std::string(t.word);
  }
  std::string operator()(const OptionalTime& t) const {
    return *t.given ? shortest(t.target->value()) : std::string(t.word);
  }
  std::string operator()(const PartsOf& t) const {
    if (!t.parts->empty()) return (*this)(t.parts);
    const std::string count = std::to_string(*t.count);
    return *t.called ? std::string(t.word) + "(" + count + ")" : count;
  }
  std::string operator()(const Tolerance& t) const {
    return shortest(*t.target) + (*t.relative ? " relative" : "");
  }
  std::string operator()(const std::vector<std::string>* target) const { return joined(*target); }
  std::string operator()(const std::vector<std::int64_t>* target) const {
    return table_text({*target}, ",");
  }
  std::string operator()(const Choice& choice) const {
    if (choice.file != nullptr && !choice.file->empty()) return *choice.file;
    const std::size_t index = choice.get();
    if (choice.is_table(index)) return table_text(*choice.table, ",");
    if (choice.is_set(index)) return word_set_text(choice.set_of_words);
    const Option& option = choice.options[index];
    std::string text{option.name};
    if (option.takes_number) text += "(" + std::to_string(*choice.number) + ")";
    return text;
  }
};

class CanonicalWriter : public ValueVisitor {
 public:
  /// `wanted`: of which keys alone; null: of all.
  CanonicalWriter(std::string& out, const WantedKeys* wanted) : out_{out}, wanted_{wanted} {}

  void field(const Field& field) override {
    if (is_wanted(field.key)) line(field.key, value_text(field.target));
  }
  void section(std::string_view key, std::string_view doc, const Body& body) override {
    if (is_wanted(key)) ValueVisitor::section(key, doc, body);
  }
  void section_or(std::string_view key, std::string_view doc, std::string_view word, bool& present,
                  const Body& body) override {
    if (present) return section(key, doc, body);
    if (is_wanted(key)) line(key, word);
  }
  void alternatives(std::string_view key, std::string_view doc, std::size_t& current,
                    const std::vector<Alternative>& bodies) override {
    if (is_wanted(key)) line(key, bodies[current].name);
    ValueVisitor::alternatives(key, doc, current, bodies);
  }

 private:
  bool is_wanted(std::string_view key) const {
    return wanted_ == nullptr || (*wanted_)(child(key));
  }
  void line(std::string_view key, std::string_view value) {
    out_ += child(key) + "=" + std::string(value) + "\n";
  }

  std::string& out_;
  const WantedKeys* wanted_;
};

}  // namespace

std::string canonical_text(const Visitor::Body& body) {
  std::string text;
  CanonicalWriter writer{text, nullptr};
  body(writer);
  return text;
}

std::string canonical_text(const Visitor::Body& body, const WantedKeys& wanted) {
  std::string text;
  CanonicalWriter writer{text, &wanted};
  body(writer);
  return text;
}

std::string value_text(const Target& target) { return std::visit(Text{}, target); }

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

std::string sha256(const std::string& text) {
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_ctx state{};
  sha256_init(&state);
  sha256_update(&state, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()));
  sha256_digest(&state, digest.size(), digest.data());
  return hexadecimal({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace stepcast
