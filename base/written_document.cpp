#include "stepcast/base/written_document.hpp"

#include <filesystem>

#include "stepcast/base/confined_files.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

/// In quotes where YAML would read something else.
std::string written_scalar(const std::string& text, bool quoted) {
  constexpr std::string_view special = ":#{}[],&*!|>'\"%@`\n\t";
  const bool plain = !quoted && !text.empty() && text.find_first_of(special) == std::string::npos &&
                     text.front() != ' ' && text.back() != ' ' && text.front() != '-' &&
                     text.front() != '?';
  const bool number =
      !quoted && text.find_first_not_of("+-.0123456789e") == std::string::npos && !text.empty();
  if (plain || number) return text;
  return in_single_quotes(text);
}

class DocumentWriter {
 public:
  explicit DocumentWriter(std::string directory) : directory_{std::move(directory)} {}

  std::string value(const Node& node) const {
    switch (node.kind) {
      case Node::Kind::null:
        return "null";
      case Node::Kind::scalar:
        return written_scalar(moved(node), node.quoted);
      case Node::Kind::list:
        return list(node);
      case Node::Kind::mapping:
        return mapping(node);
    }
    return {};
  }

 private:
  std::string list(const Node& node) const {
    std::string text;
    for (const Node& item : node.items) text += (text.empty() ? "" : ", ") + value(item);
    return "[" + text + "]";
  }
  std::string mapping(const Node& node) const {
    std::string text;
    if (node.extended) text = "extends: " + written_scalar(node.extended->name, false);
    for (const Node::Entry& entry : node.entries) {
      if (node.extended && !node.extended->beside.contains(entry.key)) continue;
      text +=
          (text.empty() ? "" : ", ") + written_scalar(entry.key, false) + ": " + value(entry.value);
    }
    return "{" + text + "}";
  }
  /// What names a file beside the one it was written in.
  std::string moved(const Node& node) const {
    const fs::path path{node.text};
    if (!path.has_extension() || path.is_absolute() || node.place.file.starts_with("--set"))
      return node.text;
    const fs::path there = fs::path(node.place.file).parent_path() / path;
    if (!is_file(there)) return node.text;
    const fs::path from = fs::weakly_canonical(directory_.empty() ? "." : directory_);
    return fs::weakly_canonical(there).lexically_proximate(from).string();
  }

  std::string directory_;
};

}  // namespace

std::string in_single_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string written_document(const Node& root, const std::string& directory) {
  const DocumentWriter writer{directory};
  std::string text;
  for (const Node::Entry& entry : root.entries)
    text += entry.key + ": " + writer.value(entry.value) + "\n";
  return text;
}

}  // namespace stepcast
