#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stepcast/base/edit_document.hpp"
#include "stepcast/base/node_at.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/explain/check.hpp"

namespace stepcast {
namespace {

/// What goes into the file at a place: a number for the text that stands there, or a new key.
struct Replacement {
  Place place;
  std::string old;  ///< text at the place
  bool plain;       ///< it may be replaced
  std::string path, text;
};

/// `12.31s` -> `s`
std::string unit_of(const std::string& text) {
  const std::size_t last = text.find_last_of("0123456789.");
  return last == std::string::npos ? text : text.substr(last + 1);
}

/// SI units in one of the written unit.
double scale_of(const std::string& unit) {
  const std::string one = "1" + unit;
  if (const auto seconds = parse_seconds(one)) return seconds->value();
  if (const auto bytes = parse_bytes(one)) return bytes->value();
  return 1;
}

std::string written(const std::string& old, double value) {
  const std::string unit = unit_of(old);
  return fmt::format("{:.6g}{}", value / scale_of(unit), unit);
}

/// Where line `line`, column `column` begin, both from 1.
std::size_t offset_of(const std::string& text, const Place& place) {
  std::size_t begin = 0;
  for (int line = 1; line < place.line && begin != std::string::npos; ++line) {
    begin = text.find('\n', begin);
    if (begin != std::string::npos) ++begin;
  }
  return begin == std::string::npos ? begin : begin + static_cast<std::size_t>(place.column) - 1;
}

const Node::Entry* entry_of(const Node& mapping, const std::string& key) {
  const auto found = std::ranges::find(mapping.entries, key, &Node::Entry::key);
  return found == mapping.entries.end() ? nullptr : &*found;
}

/// The parts that a breakdown lacks go before the next one that it has, in its own layout.
void add_missing(const CheckResult& result, const Node& breakdown, const std::string& text,
                 std::vector<Replacement>& list) {
  if (breakdown.entries.empty()) return;
  const std::vector<std::string>& names = breakdown_names();
  const std::size_t begin = offset_of(text, breakdown.place);
  const bool flow = begin < text.size() && text[begin] == '{';
  const Node::Entry& first = breakdown.entries.front();
  const std::string indent(static_cast<std::size_t>(first.place.column) - 1, ' ');
  const auto part = [&](std::size_t i) {
    return fmt::format("{}: {:.6g}s{}", names[i], result.breakdown[i], flow ? ", " : "\n" + indent);
  };
  std::string missing;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (entry_of(breakdown, names[i]) == nullptr) {
      missing += part(i);
      continue;
    }
    // What comes after the last one that is there goes before it.
    const bool last = std::none_of(names.begin() + static_cast<std::ptrdiff_t>(i) + 1, names.end(),
                                   [&](const auto& name) { return entry_of(breakdown, name); });
    for (std::size_t k = i + 1; last && k < names.size(); ++k) missing += part(k);
    if (!missing.empty())
      list.push_back({entry_of(breakdown, names[i])->place, names[i], true, "expect.breakdown",
                      std::exchange(missing, {}) + names[i]});
    if (last) return;
  }
}

/// All parts, for a file that has none.
std::string breakdown_text(const CheckResult& result) {
  std::string text;
  for (std::size_t i = 0; i < result.breakdown.size(); ++i)
    text += fmt::format("{}{}: {:.6g}s", text.empty() ? "{" : ", ", breakdown_names()[i],
                        result.breakdown[i]);
  return text + "}";
}

std::vector<Replacement> replacements(const CheckResult& result, const Node& root,
                                      const std::string& text) {
  std::vector<Replacement> list;
  const auto add = [&](const std::string& path, double value) {
    const Node* node = node_at(root, path);
    if (node != nullptr && node->kind == Node::Kind::mapping) node = node->find("value");
    if (node == nullptr) return;
    const bool plain = !node->quoted && !node->text.empty();
    list.push_back({node->place, node->text, plain, path, plain ? written(node->text, value) : ""});
  };
  for (const CheckedValue& v : result.values)
    if (v.found) add("expect." + v.key, *v.found);
  for (std::size_t i = 0; i < result.breakdown.size(); ++i)
    add("expect.breakdown." + breakdown_names()[i], result.breakdown[i]);
  const Node* breakdown = node_at(root, "expect.breakdown");
  if (breakdown != nullptr && breakdown->kind == Node::Kind::mapping)
    add_missing(result, *breakdown, text, list);
  return list;
}

}  // namespace

std::string updated_text(const CheckResult& result, const SearchPath& search) {
  std::string text = read_document_text(result.file, search);
  const Node root = load_document_text(text, result.file, search);
  std::vector<Replacement> list = replacements(result, root, text);
  // From the end, so that earlier places stay valid.
  std::ranges::sort(list, std::greater<>{},
                    [](const Replacement& r) { return std::pair(r.place.line, r.place.column); });
  std::vector<Diagnostic> wrong;
  for (const Replacement& r : list) {
    const Place& place = r.place;
    // The value would have to change in a file that other scenarios extend.
    if (place.file != result.file) {
      wrong.push_back({place, r.path, "comes from a file that is extended, update that file"});
      continue;
    }
    const std::size_t offset = offset_of(text, place);
    // A value that is quoted, or an anchor, is not replaced blindly.
    const bool there = offset < text.size() && text.compare(offset, r.old.size(), r.old) == 0;
    if (!there || !r.plain) {
      wrong.push_back(
          {place, r.path, "cannot be replaced where it stands, allowed: a plain value"});
      continue;
    }
    text.replace(offset, r.old.size(), r.text);
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
  // Added once: a breakdown that is there was replaced with the rest.
  if (node_at(root, "expect.breakdown") != nullptr || result.breakdown.empty()) return text;
  return edited_document(text, result.file, {"expect.breakdown=" + breakdown_text(result)});
}

}  // namespace stepcast
