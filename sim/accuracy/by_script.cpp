#include <algorithm>
#include <filesystem>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/node_at.hpp"
#include "stepcast/sim/accuracy/accuracy.hpp"
#include "stepcast/sim/forecast/prepare.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

bool names(const Difference& d, const std::string& file) {
  return std::ranges::binary_search(d.files, file);
}

/// Takes what stands at `path` away.
void erase(Node& node, std::string_view path) {
  const std::size_t dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  if (dot == std::string_view::npos) {
    std::erase_if(node.entries, [&](const Node::Entry& entry) { return entry.key == key; });
  } else if (Node* inner = node.find(key)) {
    erase(*inner, path.substr(dot + 1));
  }
}

/// What `key` is where the row itself does not write it: that of the nearest file that it extends.
std::optional<Node> extended_value(const Node& own, const fs::path& directory,
                                   const std::string& key, const SearchPath& search) {
  for (std::size_t dot = key.rfind('.'); dot != std::string::npos;
       dot = dot == 0 ? std::string::npos : key.rfind('.', dot - 1)) {
    const Node* part = node_at(own, key.substr(0, dot));
    const Node* file = part == nullptr ? nullptr : part->find("extends");
    if (file == nullptr) continue;
    const auto found = find_file(file->text, directory, search);
    expects(found.has_value(), "the row itself was read with what it extends");
    const Node preset = load_document(found->string(), search);
    if (const Node* value = node_at(preset, key.substr(dot + 1))) return *value;
  }
  return {};
}

}  // namespace

Node document_by_script(const std::string& folder, const std::string& file,
                        const std::vector<Difference>& all, const SearchPath& search) {
  const fs::path path = fs::path(folder) / file;
  const Node own = parse_document(read_document_text(path.string(), search), path.string());
  Node root = load_document(path.string(), search);
  for (const Difference& d : all) {
    if (!names(d, file)) continue;
    for (const DifferingKey& key : d.keys) {
      // What the format has no word for cannot be set;
      // `unset` is what the row has by what it extends.
      if (!key.lacking.empty()) continue;
      erase(root, key.key);
      if (key.script != unset_word)
        apply_override(root, key.key + "=" + key.script, search);
      else if (auto value = extended_value(own, path.parent_path(), key.key, search))
        set_value(root, key.key, std::move(*value));
    }
  }
  return root;
}

std::vector<ScriptRow> measure_by_script(const std::string& folder,
                                         const std::vector<PublishedRow>& rows,
                                         const std::vector<MeasuredRow>& shipped,
                                         const std::vector<Difference>& differences,
                                         const SearchPath& search, int workers) {
  std::vector<ScriptRow> result;
  std::vector<PublishedRow> changed;
  std::vector<Diagnostic> wrong;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const PublishedRow& row = rows[i];
    if (std::ranges::none_of(differences, [&](const auto& d) { return names(d, row.file); }))
      continue;
    const bool lacking = std::ranges::any_of(
        differences, [&](const auto& d) { return names(d, row.file) && d.lacks_words(); });
    result.push_back({shipped[i], lacking});
    // No scenario can say what such a script says.
    if (lacking) continue;
    try {
      const std::string path = (fs::path(folder) / row.file).string();
      changed.push_back(row);
      changed.back().scenario = prepare_scenario(
          {document_by_script(folder, row.file, differences, search), path, row.scenario.question},
          search);
    } catch (const InputError& error) {
      wrong.insert(wrong.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
  auto forecast = measure(changed, workers);
  std::size_t next = 0;
  for (ScriptRow& row : result)
    if (!row.lacking) row.row = std::move(forecast[next++]);
  return result;
}

Ledger emptied(const Ledger& ledger) {
  Ledger result{{}, ledger.ratios, {}, {}};
  for (const MeasuredRow& row : ledger.rows) {
    const auto found = std::ranges::find(ledger.by_script, row.file,
                                         [](const ScriptRow& r) { return r.row.file; });
    // A row by its script stands in for the shipped one; without words for it there is none.
    if (found == ledger.by_script.end())
      result.rows.push_back(row);
    else if (!found->lacking)
      result.rows.push_back(found->row);
  }
  return result;
}

}  // namespace stepcast
