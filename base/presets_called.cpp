#include "stepcast/base/presets_called.hpp"

#include <algorithm>
#include <filesystem>

#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/suggest.hpp"

namespace stepcast {
namespace {

/// A file that cannot be read has none.
std::string vendor_of(const std::string& file, const SearchPath& search) {
  try {
    const Node root = load_document(file, search);
    const Node* device = root.find("device");
    const Node* vendor = device == nullptr ? nullptr : device->find("vendor");
    return vendor == nullptr ? std::string() : vendor->text;
  } catch (const InputError&) {
    return {};
  }
}

bool is_called(const std::string& file, const std::string& word, const SearchPath& search) {
  const std::string aliases = ", " + lower_case(aliases_of(read_document_text(file, search))) + ",";
  return aliases.find(", " + word + ",") != std::string::npos || vendor_of(file, search) == word;
}

}  // namespace

std::string aliases_of(const std::string& text) {
  constexpr std::string_view mark = "# also: ";
  std::size_t at = text.find(mark);
  while (at != std::string::npos && at > 0 && text[at - 1] != '\n') at = text.find(mark, at + 1);
  if (at == std::string::npos) return {};
  at += mark.size();
  return text.substr(at, text.find('\n', at) - at);
}

std::vector<std::string> presets_called(const std::string& word, const std::string& folder,
                                        const SearchPath& search) {
  const std::string meant = lower_case(word);
  std::vector<std::string> names;
  for (const std::filesystem::path& directory : search.directories)
    for (const std::filesystem::path& file : files_in(directory / folder, ".yaml"))
      if (is_called(file.string(), meant, search)) names.push_back(file.stem().string());
  std::ranges::sort(names);  // a folder has no order
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace stepcast
