#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/format_version.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/sim/accuracy/accuracy.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

/// A name without its folder is a mistake that would make foreign rows count as fitted.
void require_folders(const SourceLabels& labels, const std::string& folder,
                     const std::string& path) {
  std::vector<Diagnostic> wrong;
  const auto check = [&](const std::string& key, const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (!is_folder(fs::path(folder) / name))
        wrong.push_back({{path}, key, "names " + name + ", allowed: folders beside this file"});
  };
  check("foreign", labels.foreign);
  for (const SourceLabels::Framework& f : labels.frameworks) check("frameworks", f.folders);
  if (!wrong.empty()) throw InputError(std::move(wrong));
}

}  // namespace

std::string_view name(RowLabel label) {
  switch (label) {
    case RowLabel::fitted:
      return "fitted";
    case RowLabel::held_out:
      return "held out";
    case RowLabel::foreign:
      return "foreign";
    case RowLabel::superseded:
      return "superseded";
  }
  expects(false, "a label of a row");
  return {};
}

void describe(Visitor& visitor, SourceLabels& labels) {
  describe_format_version(visitor, true);
  // Labels stand beside the rows and not in them, so that one file shows what was fitted to.
  visitor.field({"foreign", &labels.foreign, "folders that no fit has used", any_number(), true});
  visitor.field({"held_out", &labels.held_out, "rows that no fit may use", any_number()});
  visitor.optional_list(
      "frameworks", "who ran which folders", labels.frameworks.size(),
      [&](std::size_t size) { labels.frameworks.resize(size); },
      [&](Visitor& v, std::size_t i) {
        SourceLabels::Framework& f = labels.frameworks[i];
        v.field({"name", &f.name, "of the framework", any_number(), true});
        v.field({"folders", &f.folders, "whose steps it ran", any_number(), true});
      });
}

SourceLabels read_label_file(const std::string& path, const SearchPath& search) {
  const Node root = load_document(path, search);
  SourceLabels labels;
  Reading reading;
  read_mapping(root, {}, reading, [&](Visitor& v) { describe(v, labels); });
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
  require_folders(labels, fs::path(path).parent_path().string(), path);
  return labels;
}

SourceLabels read_labels(const std::string& folder, const SearchPath& search) {
  const std::string path = (fs::path(folder) / "labels.yaml").string();
  return is_there(path) ? read_label_file(path, search) : SourceLabels{};
}

RowLabel label_of(const SourceLabels& labels, std::string_view file, std::string_view name) {
  const fs::path path{file};
  if (path.parent_path().filename() == superseded_folder) return RowLabel::superseded;
  // The outermost folder is the source.
  const bool foreign = std::ranges::any_of(
      labels.foreign, [&](const std::string& f) { return path.begin()->string() == f; });
  if (foreign) return RowLabel::foreign;
  const bool kept = std::ranges::find(labels.held_out, name) != labels.held_out.end();
  return kept || held_out(name) ? RowLabel::held_out : RowLabel::fitted;
}

bool held_out(std::string_view name) {
  // By the name alone, so that no error had a say: about half of all names.
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdU;  // the mix at the end of MurmurHash3
  return ((hash >> 33) & 1U) != 0;
}

}  // namespace stepcast
