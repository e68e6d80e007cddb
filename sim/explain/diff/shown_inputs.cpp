#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "diff_text.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/key_units.hpp"

namespace stepcast {
namespace {

constexpr double rounding_of_inputs = 1e-12;  ///< of a number that was computed

bool is_written(const DiffSide& side, const std::string& path) {
  return side.sources.contains(path);
}

/// `clusters/ideal.yaml` of `clusters/ideal.yaml:31 datasheet`.
std::string file_of(const std::string& source) { return source.substr(0, source.find(':')); }

bool below(const std::string& path, const std::string& part) {
  return path.starts_with(part + ".");
}

/// The files that say more of a side than its cluster, its model and its framework.
std::set<std::string> own_files(const DiffSide& side) {
  std::set<std::string> files{"--set"};
  for (const auto& [path, source] : side.sources)
    if (!below(path, "cluster") && !below(path, "model") && !source.starts_with("frameworks/"))
      files.insert(file_of(source));
  return files;
}

/// `dgx-h800` of `clusters/dgx-h800.yaml`, the folder of a `config.json`.
std::string short_name(const std::string& preset) {
  const std::filesystem::path path{preset};
  const std::string stem = path.stem().string();
  return stem == "config" && path.has_parent_path() ? path.parent_path().filename().string() : stem;
}

/// What brings many keys at once: a preset, or the rules of a framework.
struct Bundle {
  std::string part;
  InputRow row;  ///< with its name on each side
  std::size_t keys = 0;
};

class Bundles {
 public:
  explicit Bundles(const std::vector<DiffSide>& sides) : sides_{sides} {
    files_.reserve(sides.size());
    for (const DiffSide& side : sides) files_.push_back(own_files(side));
    for (const char* part : {"cluster", "model"}) {
      InputRow row{part, {}};
      for (const DiffSide& side : sides) {
        const auto found = side.presets.find(part);
        row.values.push_back(
            found == side.presets.end() ? std::nullopt : std::optional{short_name(found->second)});
      }
      add(part, std::move(row));
    }
    InputRow row{"framework", {}};
    for (const DiffSide& side : sides) {
      const auto found = std::ranges::find(side.inputs, "framework", [](const auto& input) {
        return std::string_view(input.first);
      });
      row.values.push_back(found == side.inputs.end() ? std::nullopt
                                                      : std::optional{found->second});
    }
    add("framework", std::move(row));
  }

  /// Whether a bundle brings this key, which is then counted there.
  bool take(const std::string& path) {
    for (Bundle& bundle : bundles_) {
      if (path == bundle.part) return true;
      if (!brings(bundle.part, path)) continue;
      ++bundle.keys;
      return true;
    }
    return false;
  }
  const std::vector<Bundle>& all() const { return bundles_; }

 private:
  void add(const char* part, InputRow row) {
    const bool differs = std::ranges::any_of(
        row.values, [&](const auto& value) { return value != row.values.front(); });
    if (differs) bundles_.push_back({part, std::move(row), 0});
  }
  bool brings(const std::string& part, const std::string& path) const {
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const auto source = sides_[i].sources.find(path);
      if (source == sides_[i].sources.end()) continue;
      if (part == "framework" ? !source->second.starts_with("frameworks/")
                              : files_[i].contains(file_of(source->second)))
        return false;
    }
    if (part != "framework") return below(path, part);
    return std::ranges::any_of(sides_,
                               [&](const DiffSide& side) { return is_written(side, path); });
  }

  const std::vector<DiffSide>& sides_;
  std::vector<std::set<std::string>> files_;
  std::vector<Bundle> bundles_;
};

bool is_rounding(const InputRow& row) {
  std::optional<double> first;
  for (const auto& value : row.values) {
    const auto number = value ? parse_number(*value) : std::nullopt;
    if (!number) return false;
    if (!first) first = number;
    if (std::abs(*number - *first) > rounding_of_inputs * std::abs(*first)) return false;
  }
  return true;
}

InputRow with_units(const InputRow& row) {
  // Few digits if they tell the values apart, all of them otherwise, and the text as written where
  // even these do not.
  for (const Digits digits : {Digits::few, Digits::all}) {
    InputRow out{row.path, {}};
    std::set<std::optional<std::string>> texts;
    for (const auto& value : row.values) {
      out.values.push_back(value ? std::optional{value_with_unit(row.path, *value, digits)}
                                 : std::nullopt);
      texts.insert(out.values.back());
    }
    const std::set<std::optional<std::string>> values(row.values.begin(), row.values.end());
    if (texts.size() == values.size()) return out;
  }
  return row;
}

std::string keys_text(std::size_t count) {
  return fmt::format("{} key{}", count, count == 1 ? "" : "s");
}

std::string rows_block(const char* title, const std::vector<InputRow>& rows, const char* between) {
  std::string text = fmt::format("  {}\n", title);
  for (const InputRow& row : rows) {
    std::string values;
    for (const auto& value : row.values)
      values += (values.empty() ? "" : between) + value.value_or("-");
    text += fmt::format("    {:<40} {}\n", row.path, values);
  }
  return text;
}

/// What differs and how much, as pairs have it.
struct PairChange {
  std::string kind;
  double ratio = 1;
};
std::optional<PairChange> pair_change(const DiffSide& before, const DiffSide& after) {
  const auto &a = before.device_tokens_per_s, &b = after.device_tokens_per_s;
  if (!a || !b || !comparable({before, after})) return {};
  std::vector<std::string> paths;
  for (const InputRow& row : shown_inputs({before, after}).rows) paths.push_back(row.path);
  const std::string kind = kind_of_change(paths);
  // Another model is another job, whatever else differs.
  const bool job = std::ranges::any_of(
      paths, [](const std::string& path) { return kind_of_change({path}) == "model"; });
  if (paths.empty() || job) return {};
  return PairChange{kind, *a / *b};
}

}  // namespace

std::optional<PairCount> pairs_of(const DiffSide& before, const DiffSide& after,
                                  const std::vector<PublishedPair>& pairs) {
  const auto change = pair_change(before, after);
  return change ? pairs_like(pairs, change->kind, change->ratio) : std::nullopt;
}

std::string pairs_line(const DiffSide& before, const DiffSide& after,
                       const std::vector<PublishedPair>& pairs, const char* begin) {
  const auto change = pair_change(before, after);
  const std::string text =
      change ? pairs_sentence(pairs, change->kind, change->ratio) : std::string();
  return text.empty() ? text : begin + text + "\n";
}

ShownInputs shown_inputs(const std::vector<DiffSide>& sides) {
  ShownInputs shown;
  Bundles bundles{sides};
  // Without sources nothing can be left out: what nobody wrote and what a user wrote look alike.
  const bool sourced =
      std::ranges::all_of(sides, [](const DiffSide& side) { return !side.sources.empty(); });
  std::vector<InputRow> rows;
  for (const InputRow& row : differing_inputs(sides)) {
    if (is_rounding(row) || bundles.take(row.path)) continue;
    const bool written = !sourced || row.path == "framework" ||
                         std::ranges::any_of(sides, [&](const DiffSide& side) {
                           return is_written(side, row.path);
                         });
    if (written)
      rows.push_back(with_units(row));
    else
      ++shown.followed;
  }
  // A preset that differs is one row with the number of its keys.
  for (const Bundle& bundle : bundles.all()) {
    InputRow row = bundle.row;
    if (bundle.keys > 0) row.path += fmt::format(" ({})", keys_text(bundle.keys));
    shown.of_presets += bundle.keys;
    shown.rows.push_back(std::move(row));
  }
  shown.rows.insert(shown.rows.end(), rows.begin(), rows.end());
  return shown;
}

std::string inputs_block(const std::vector<DiffSide>& sides, InputList list, const char* between) {
  if (!comparable(sides)) return not_compared;
  const std::vector<InputRow> all = differing_inputs(sides);
  if (all.empty()) return "  inputs: none differs\n";
  if (list == InputList::all) {
    std::vector<InputRow> rows;
    rows.reserve(all.size());
    for (const InputRow& row : all) rows.push_back(with_units(row));
    return rows_block("inputs that differ", rows, between);
  }
  const ShownInputs shown = shown_inputs(sides);
  std::string text = shown.rows.empty() ? "  inputs: nobody wrote what differs\n"
                                        : rows_block("inputs that differ", shown.rows, between);
  if (shown.followed > 0)
    text += fmt::format("    ... and {} that follow{} from these\n", keys_text(shown.followed),
                        shown.followed == 1 ? "s" : "");
  if (shown.followed + shown.of_presets > 0) text += "    (--inputs lists every key)\n";
  return text;
}

}  // namespace stepcast
