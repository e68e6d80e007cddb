#include <fmt/format.h>

#include <algorithm>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/study/check.hpp"

namespace stepcast {
namespace {

/// A value in the file, and the number that belongs there in SI units.
struct Replacement {
  const Node* node;
  std::string path;
  double value;
};

const Node* at(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = node->find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

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

std::vector<Replacement> replacements(const CheckResult& result, const Node& root) {
  std::vector<Replacement> list;
  const auto add = [&](const std::string& path, double value) {
    const Node* node = at(root, path);
    if (node != nullptr && node->kind == Node::Kind::mapping) node = node->find("value");
    if (node != nullptr) list.push_back({node, path, value});
  };
  for (const CheckedValue& v : result.values)
    if (v.found) add("expect." + v.key, *v.found);
  for (std::size_t i = 0; i < result.breakdown.size(); ++i)
    add("expect.breakdown." + breakdown_names()[i], result.breakdown[i]);
  return list;
}

}  // namespace

std::string updated_text(const CheckResult& result, const SearchPath& search) {
  std::string text = read_document_text(result.file, search);
  const Node root = load_document_text(text, result.file, search);
  std::vector<Replacement> list = replacements(result, root);
  std::ranges::sort(list, std::greater<>{}, [](const Replacement& r) {
    return std::pair(r.node->place.line, r.node->place.column);
  });
  std::vector<Diagnostic> wrong;
  for (const Replacement& r : list) {
    const Place& place = r.node->place;
    if (place.file != result.file) {
      wrong.push_back({place, r.path, "stands in a file that is extended, update that file"});
      continue;
    }
    const std::size_t offset = offset_of(text, place);
    const bool there =
        offset < text.size() && text.compare(offset, r.node->text.size(), r.node->text) == 0;
    if (!there || r.node->quoted || r.node->text.empty()) {
      wrong.push_back(
          {place, r.path, "cannot be replaced where it stands, allowed: a plain value"});
      continue;
    }
    text.replace(offset, r.node->text.size(), written(r.node->text, r.value));
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
  return text;
}

}  // namespace stepcast
