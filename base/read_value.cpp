#include "read_value.hpp"

#include <algorithm>

#include "dimension.hpp"

namespace stepcast {
namespace {

constexpr std::string_view whole_number = "a whole number such as 8 or 40Mi";
constexpr std::string_view plain_number = "a number such as 0.8";

std::string with_range(std::string_view what, const Range& range, std::string_view unit) {
  std::string limits = range_text(range, unit);
  if (range.low == range.high) return limits;  // one value needs no example
  return std::string(what) + (limits.empty() ? "" : ", " + limits);
}

/// What a number with commas was meant to be.
std::string comma_hint(const Node& node) {
  const std::string& text = node.text;
  if (node.kind != Node::Kind::scalar || text.find(',') == std::string::npos ||
      text.find_first_not_of("0123456789,") != std::string::npos)
    return {};
  constexpr std::size_t group = 4;  // a comma and three digits
  const std::size_t first = text.find(',');
  bool thousands = first < group && (text.size() - first) % group == 0;
  for (std::size_t i = first; i < text.size(); ++i)
    thousands = thousands && (text[i] == ',') == ((i - first) % group == 0);
  if (!thousands) return "; a list, for plans and sweeps, is written [" + text + "]";
  std::string digits = text;
  std::erase(digits, ',');
  return "; thousands are written " + digits;
}

/// What to do with a list where one value is wanted.
std::string list_hint(const Node& node, const std::string& allowed) {
  if (node.kind != Node::Kind::list || allowed.find("list") != std::string::npos) return {};
  const bool one = node.items.size() == 1 && node.items.front().kind == Node::Kind::scalar;
  return "; one value is wanted" + (one ? ", " + shortened(node.items.front().text) : "") +
         ": several are for plans and sweeps";
}

std::string not_this(const Node& node, const std::string& allowed) {
  return "is " + quoted(node) + ", allowed: " + allowed + comma_hint(node) +
         list_hint(node, allowed);
}

std::string out_of_range(const Node& node, const Range& range, std::string_view unit) {
  return "is " + shortened(node.text) + ", allowed: " + range_text(range, unit);
}

std::string table_words(const Range& range) {
  return with_range("a table [chunk][stage] of whole numbers such as [[4, 4], [4, 3]]", range, "");
}

std::optional<double> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return {};
  const auto value = parse_number(text.substr(0, text.size() - 1));
  if (!value) return {};
  return *value / 100;
}

std::optional<double> parse_amount(std::string_view text, Tolerance::Of of) {
  const auto plain = [](const auto& quantity) -> std::optional<double> {
    if (!quantity) return {};
    return quantity->value();
  };
  switch (of) {
    case Tolerance::Of::number:
      return parse_number(text);
    case Tolerance::Of::time:
      return plain(parse_seconds(text));
    case Tolerance::Of::size:
      return plain(parse_bytes(text));
  }
  return {};
}

std::string tolerance_text(Tolerance::Of of) {
  switch (of) {
    case Tolerance::Of::number:
      return "a percentage such as 1%, or an amount such as 0.002";
    case Tolerance::Of::time:
      return "a percentage such as 1%, or a time such as 50ms";
    case Tolerance::Of::size:
      return "a percentage such as 1%, or a size such as 100MiB";
  }
  return {};
}

/// One reader per value type; each returns what is wrong.
class Reader {
 public:
  Reader(const Node& node, const Field& field) : node_{node}, field_{field} {}

  template <int T, int B, int F>
  std::string operator()(Quantity<T, B, F>* target) const {
    using Unit = Dimension<Quantity<T, B, F>>;
    if (!plain()) return not_this(node_, with_range(Unit::what, field_.range, Unit::unit));
    const auto value = Unit::parse(node_.text);
    if (!value && parse_number(node_.text)) {
      return "is " + shortened(node_.text) + " without a unit, allowed: " + std::string(Unit::what);
    }
    if (!value) return not_this(node_, with_range(Unit::what, field_.range, Unit::unit));
    if (!field_.range.contains(value->value()))
      return out_of_range(node_, field_.range, Unit::unit);
    *target = *value;
    return {};
  }

  std::string operator()(double* target) const {
    return number(plain_number, "", parse_number, [&](double v) { *target = v; });
  }
  std::string operator()(std::int64_t* target) const {
    return count(whole_number, [&](double v) { *target = static_cast<std::int64_t>(v); });
  }
  std::string operator()(const OptionalCount& target) const {
    if (is_word(target.word)) return target.target->reset(), std::string{};
    return count(std::string(whole_number) + " or " + std::string(target.word),
                 [&](double v) { *target.target = static_cast<std::int64_t>(v); });
  }
  std::string operator()(const OptionalNumber& target) const {
    if (is_word(target.word)) return target.target->reset(), std::string{};
    return number(std::string(plain_number) + " or " + std::string(target.word), "", parse_number,
                  [&](double v) { *target.target = v; });
  }
  std::string operator()(const OptionalTime& target) const {
    *target.given = !is_word(target.word);
    return *target.given ? (*this)(target.target) : std::string{};
  }
  std::string operator()(const Tolerance& t) const {
    const auto percent = plain() ? parse_percent(node_.text) : std::nullopt;
    const auto amount = plain() && !percent ? parse_amount(node_.text, t.of) : std::nullopt;
    if (!percent && !amount) return not_this(node_, tolerance_text(t.of));
    const double value = percent ? *percent : *amount;
    if (value < 0) return "is " + shortened(node_.text) + ", allowed: nothing below 0";
    *t.target = value;
    *t.relative = percent.has_value();
    return {};
  }

  std::string operator()(bool* target) const {
    const bool yes = node_.text == "true" || node_.text == "True";
    if (!plain() || (!yes && node_.text != "false" && node_.text != "False")) {
      return not_this(node_, "true, false");
    }
    *target = yes;
    return {};
  }

  std::string operator()(std::string* target) const {
    if (node_.kind != Node::Kind::scalar || node_.text.empty()) return not_this(node_, "a text");
    *target = node_.text;
    return {};
  }

  std::string operator()(const Identifier& target) const {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    if (node_.kind != Node::Kind::scalar || node_.text.empty() ||
        node_.text.find_first_not_of(letters) != std::string::npos) {
      return not_this(node_, "a name of lower-case letters, digits and . _ -");
    }
    *target.target = node_.text;
    return {};
  }

  std::string operator()(std::vector<std::string>* target) const {
    const bool words = std::ranges::all_of(
        node_.items, [](const Node& item) { return item.kind == Node::Kind::scalar; });
    if (node_.kind != Node::Kind::list || !words) return not_this(node_, "a list of words");
    target->clear();
    for (const Node& item : node_.items) target->push_back(item.text);
    return {};
  }

  std::string operator()(std::vector<std::int64_t>* target) const {
    const std::string allowed = allowed_values(field_);
    if (node_.kind != Node::Kind::list) return not_this(node_, allowed);
    if (node_.items.empty()) return "is an empty list, allowed: " + allowed;
    // The target is written only when all items are right.
    std::vector<std::int64_t> numbers;
    for (const Node& item : node_.items) {
      const auto value = whole(item);
      if (!value) return "holds " + quoted(item) + ", allowed: " + allowed;
      numbers.push_back(*value);
    }
    *target = std::move(numbers);
    return {};
  }

  std::string operator()(const Choice& choice) const;
  std::string operator()(const PartsOf& target) const;

 private:
  /// Quoted texts are words, whatever they look like.
  bool plain() const { return node_.kind == Node::Kind::scalar && !node_.quoted; }
  bool is_word(std::string_view word) const { return plain() && node_.text == word; }

  template <class Parse, class Set>
  std::string number(std::string_view what, std::string_view unit, const Parse& parse,
                     const Set& set) const {
    const auto value = plain() ? parse(node_.text) : std::nullopt;
    if (!value) return not_this(node_, with_range(what, field_.range, unit));
    if (!field_.range.contains(*value)) return out_of_range(node_, field_.range, unit);
    set(*value);
    return {};
  }

  template <class Set>
  std::string count(std::string_view what, const Set& set) const {
    const std::string two = plain() ? two_counts(node_.text) : "";
    return two.empty() ? number(what, "", parse_count, set) : two;
  }

  std::string table(const Choice& choice) const {
    Table table;
    const std::string allowed = allowed_values(field_);
    for (const Node& row : node_.items) {
      if (row.kind != Node::Kind::list) return "holds " + quoted(row) + ", allowed: " + allowed;
      table.emplace_back();
      for (const Node& item : row.items) {
        const auto value = whole(item);
        if (!value) return "holds " + quoted(item) + ", allowed: " + allowed;
        table.back().push_back(*value);
      }
    }
    // Written only when all of it is right.
    *choice.table = std::move(table);
    choice.set(choice.table_option);
    return {};
  }

  /// `{table: FILE}`
  std::string file(const Choice& choice) const {
    const bool one = node_.entries.size() == 1 && node_.entries[0].key == "table" &&
                     node_.entries[0].value.kind == Node::Kind::scalar &&
                     !node_.entries[0].value.text.empty();
    if (!one) return "is a mapping, allowed: " + allowed_values(field_);
    *choice.file = node_.entries[0].value.text;
    return {};
  }

  std::string word_set(const Choice& choice) const {
    const std::string allowed = allowed_values(field_);
    const WordSet& set = choice.set_of_words;
    const bool one = node_.entries.size() == 1 && node_.entries[0].key == set.key &&
                     node_.entries[0].value.kind == Node::Kind::list;
    if (!one) return "is a mapping, allowed: " + allowed;
    std::uint32_t chosen = 0;
    for (const Node& item : node_.entries[0].value.items) {
      const auto found = item.kind == Node::Kind::scalar ? std::ranges::find(set.words, item.text)
                                                         : set.words.end();
      if (found == set.words.end()) return "holds " + quoted(item) + ", allowed: " + allowed;
      // Word i is bit i of the set.
      const std::uint32_t bit = 1U << (found - set.words.begin());
      if ((chosen & bit) != 0) return "holds " + quoted(item) + " twice, allowed: once each";
      chosen |= bit;
    }
    if (chosen == 0) return "holds no word, allowed: " + allowed;
    *set.chosen = chosen;
    choice.set(choice.set_option);
    return {};
  }

  /// A whole number of the field's range; nothing for anything else.
  std::optional<std::int64_t> whole(const Node& item) const {
    const auto value =
        item.kind == Node::Kind::scalar && !item.quoted ? parse_count(item.text) : std::nullopt;
    if (!value || !field_.range.contains(*value)) return {};
    return static_cast<std::int64_t>(*value);
  }

  const Node& node_;
  const Field& field_;
};

/// `chunks(4)` is the word `chunks` and the number `4`.
struct Call {
  std::string word;
  std::optional<std::string> number;
};

Call split_call(const std::string& text) {
  const std::size_t open = text.find('(');
  if (open == std::string::npos || !text.ends_with(')')) return {text, {}};
  return {text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
}

std::string Reader::operator()(const Choice& choice) const {
  const std::string allowed = allowed_values(field_);
  if (node_.kind == Node::Kind::list && choice.table != nullptr) return table(choice);
  if (node_.kind == Node::Kind::mapping && choice.file != nullptr) return file(choice);
  if (node_.kind == Node::Kind::mapping && choice.set_of_words.chosen != nullptr)
    return word_set(choice);
  if (node_.kind != Node::Kind::scalar) return not_this(node_, allowed);
  const Call call = split_call(node_.text);
  const auto found = std::ranges::find(choice.options, call.word, &Option::name);
  const auto index = static_cast<std::size_t>(found - choice.options.begin());
  // Tables and sets are told by their form: their names are no words.
  const bool no_word = choice.is_table(index) || choice.is_set(index);
  if (found == choice.options.end() || !found->built || no_word)
    return wrong_option(no_word ? std::string{} : call.word, quoted(node_), choice.words(),
                        allowed);
  if (found->takes_number != call.number.has_value()) return not_this(node_, allowed);
  if (call.number) {
    const auto value = parse_count(*call.number);
    if (!value || !field_.range.contains(*value)) {
      return not_this(node_, call.word + "(n) with n " + range_text(field_.range, ""));
    }
    *choice.number = static_cast<std::int64_t>(*value);
  }
  // A word takes the place of a file that stood here.
  if (choice.file != nullptr) choice.file->clear();
  choice.set(index);
  return {};
}

std::string Reader::operator()(const PartsOf& target) const {
  std::vector<std::int64_t> parts;
  std::int64_t count = 0;
  const Call call = plain() ? split_call(node_.text) : Call{};
  if (node_.kind == Node::Kind::list) {
    // As any other list, so that messages are the same.
    const Field list{field_.key, &parts, field_.doc, target.part};
    if (std::string wrong = Reader{node_, list}(&parts); !wrong.empty()) return wrong;
    count = static_cast<std::int64_t>(parts.size());
  } else {
    const auto value = parse_count(call.number.value_or(plain() ? node_.text : std::string{}));
    if (!value || (call.number && call.word != target.word))
      return not_this(node_, allowed_values(field_));
    if (!field_.range.contains(*value)) return out_of_range(node_, field_.range, "");
    count = static_cast<std::int64_t>(*value);
  }
  *target.count = count;
  *target.parts = std::move(parts);
  *target.called = call.number.has_value();
  return {};
}

/// What each value type accepts.
struct Allowed {
  const Field& field;

  template <int T, int B, int F>
  std::string operator()(Quantity<T, B, F>*) const {
    using Unit = Dimension<Quantity<T, B, F>>;
    return with_range(Unit::what, field.range, Unit::unit);
  }
  std::string operator()(double*) const { return with_range(plain_number, field.range, ""); }
  std::string operator()(std::int64_t*) const { return with_range(whole_number, field.range, ""); }
  std::string operator()(const OptionalCount& t) const {
    return with_range(std::string(whole_number) + " or " + std::string(t.word), field.range, "");
  }
  std::string operator()(const OptionalNumber& t) const {
    return with_range(std::string(plain_number) + " or " + std::string(t.word), field.range, "");
  }
  std::string operator()(const OptionalTime& t) const {
    return (*this)(t.target) + " or " + std::string(t.word);
  }
  std::string operator()(const Tolerance& t) const { return tolerance_text(t.of); }
  std::string operator()(bool*) const { return "true, false"; }
  std::string operator()(std::string*) const { return "a text"; }
  std::string operator()(const Identifier&) const {
    return "a name of lower-case letters, digits and . _ -";
  }
  std::string operator()(std::vector<std::string>*) const { return "a list of words"; }
  std::string operator()(std::vector<std::int64_t>*) const {
    return with_range("a list of whole numbers such as [3, 17]", field.range, "");
  }
  std::string operator()(const PartsOf& t) const {
    return with_range(whole_number, field.range, "") + ", " + std::string(t.word) +
           "(n), or a list of whole numbers such as [2048, 1024]";
  }
  std::string operator()(const Choice& choice) const {
    std::string text = built_options(choice.words());
    if (choice.file != nullptr) text += ", {table: FILE}";
    if (choice.table != nullptr) text += ", " + table_words(field.range);
    if (const WordSet& set = choice.set_of_words; set.chosen != nullptr) {
      std::vector<Option> words;
      for (const std::string_view word : set.words) words.push_back({word});
      text += ", {" + std::string(set.key) + ": [...]} of " + built_options(words);
    }
    return text;
  }
};

}  // namespace

std::string read_value(const Node& node, const Field& field) {
  return std::visit(Reader{node, field}, field.target);
}

std::string allowed_values(const Field& field) { return std::visit(Allowed{field}, field.target); }

}  // namespace stepcast
