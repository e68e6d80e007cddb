#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "stepcast/sim/scenario/scenario.hpp"
#include "stepcast/sim/sweep/sweep.hpp"
#include "temporary_files.hpp"

// Another cluster or model is that cluster or model: however a preset comes in the place of
// another, the scenario is that of the file with the line edited.
namespace stepcast {
namespace {

using test::TemporaryFiles;
namespace fs = std::filesystem;

/// One kind of preset, and a scenario around it.
struct Swapped {
  const char *key, *folder, *beside;
  std::vector<std::string> presets() const {
    std::vector<std::string> found;
    for (const auto& file :
         fs::directory_iterator(fs::path(STEPCAST_SOURCE_DIR) / "scenarios" / folder))
      if (file.path().extension() == ".yaml")
        found.push_back(std::string(folder) + "/" + file.path().filename().string());
    std::ranges::sort(found);
    return found;
  }
  std::string entry(const std::string& preset) const {
    return std::string(key) + ": {extends: " + preset + beside + "}\n";
  }
  std::string scenario(const std::string& preset) const {
    const bool cluster = std::string_view(key) == "cluster";
    return std::string("stepcast: 1\nname: swapped\n") + entry(preset) +
           (cluster ? "model: {extends: models/llama2-7b.yaml, layers: 4}\n"
                    : "cluster: {extends: clusters/ideal.yaml, devices: 8}\n") +
           "parallel: {tp: 1, pp: 1, dp: auto}\n"
           "training: {sequence: 512, global_batch: 512, micro_batch: 1}\n"
           "schedule: {pipeline: 1f1b}\n";
  }
};
const Swapped clusters{"cluster", "clusters", ", devices: 512"}, models{"model", "models", ""};

const SearchPath& shipped() {
  static const SearchPath search = default_search_path({});
  return search;
}

/// Whether two documents say the same, whatever the order of their keys.
bool same(const Node& a, const Node& b) {
  const auto entry = [&](const Node::Entry& e) {
    const Node* other = b.find(e.key);
    return other != nullptr && same(e.value, *other);
  };
  return a.kind == b.kind && a.text == b.text && a.quoted == b.quoted &&
         a.entries.size() == b.entries.size() && std::ranges::all_of(a.entries, entry) &&
         std::ranges::equal(a.items, b.items, same);
}

/// The hash of what a scenario says, or its refusal without the places.
std::string answer(const std::function<Scenario()>& read) {
  try {
    return read().sha256;
  } catch (const InputError& error) {
    std::string all;
    for (const Diagnostic& d : error.diagnostics()) all += d.path + ": " + d.message + "\n";
    return all;
  }
}

class SwappedPresets : public ::testing::TestWithParam<const Swapped*> {};

TEST_P(SwappedPresets, AreTheFileWithItsLineEditedInEveryRowOfASweep) {
  const Swapped& kind = *GetParam();
  const TemporaryFiles files;
  const std::vector<std::string> all = kind.presets();
  std::string list, mappings;
  for (const std::string& preset : all) {
    list += (list.empty() ? "" : ", ") + preset;
    mappings += (mappings.empty() ? "{extends: " : ", {extends: ") + preset + "}";
  }
  std::vector<Node> edited;
  for (const std::string& preset : all)
    edited.push_back(load_document_text(kind.entry(preset), "edited.yaml", shipped()));
  const std::string head = "stepcast: 1\nname: s\nsweep: {base: base.yaml, grid: {";
  for (const std::string& axis :
       {std::string(kind.key) + ".extends: [" + list, std::string(kind.key) + ": [" + mappings}) {
    files.write("base.yaml", kind.scenario(all.front()));
    Sweep sweep = read_sweep(files.write("sweep.yaml", head + axis + "]}}\n"), shipped());
    // Both ways are one from here on: the second with every fifth.
    const bool few = axis.find(".extends:") == std::string::npos;
    for (std::size_t o = 0; o < all.size(); o += few ? 5 : 1) {
      const std::string& old = all[o];
      sweep.base.root = load_document_text(kind.entry(old), "base.yaml", shipped());
      for (std::size_t i = 0; i < all.size(); ++i)
        ASSERT_TRUE(same(point_document(sweep, i).root, edited[i]))
            << old << " swapped for " << all[i] << " by " << kind.key;
    }
  }
}

TEST_P(SwappedPresets, AreTheFileWithItsLineEditedBySetsAndByFilesAbove) {
  const Swapped& kind = *GetParam();
  const TemporaryFiles files;
  const std::vector<std::string> all = kind.presets();
  const std::string key = kind.key;
  // A ring of pairs, one way each; at night all pairs by every way.
  const bool every = std::getenv("STEPCAST_ALL_PAIRS") != nullptr;
  const std::size_t steps = every ? all.size() : 2;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t step = 1; step < steps; ++step) {
      const std::string &from = all[i], &to = all[(i + step) % all.size()];
      const std::string base = files.write("base.yaml", kind.scenario(from));
      const std::string above =
          files.write("above.yaml", "extends: base.yaml\n" + key + ": {extends: " + to + "}\n");
      const auto by = [&](const std::string& file, const std::vector<std::string>& overrides) {
        return answer([&] { return read_scenario(file, overrides, shipped()); });
      };
      const std::string wanted = by(files.write("edited.yaml", kind.scenario(to)), {});
      const std::string word = fs::path(to).stem().string(), set = key + ".extends=";
      const std::function<std::string()> ways[] = {
          [&] { return by(base, {set + to}); }, [&] { return by(base, {set + word}); },
          [&] { return by(base, {key + "={extends: " + to + "}"}); }, [&] { return by(above, {}); },
          [&] {
            return by(above, {set + from, set + to});
          }};
      for (std::size_t way = 0; way < std::size(ways); ++way)
        if (every || (i + step) % std::size(ways) == way) {
          EXPECT_EQ(ways[way](), wanted) << from << " " << to << " by " << way;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(, SwappedPresets, ::testing::Values(&clusters, &models),
                         [](const auto& kind) { return std::string(kind.param->folder); });

std::string document(const Node& node) {
  std::string text;
  for (const Node::Entry& e : node.entries)
    text += (text.empty() ? "" : ", ") + e.key + ": " +
            (e.value.kind == Node::Kind::mapping ? "{" + document(e.value) + "}" : e.value.text);
  return text;
}

struct SwapFiles {
  TemporaryFiles files;
  std::string base;
  explicit SwapFiles(const std::string& text) {
    files.write("a.yaml", "x: 1\ny: {u: 1, v: 1}\n");
    files.write("b.yaml", "x: 2\nz: 2\n");
    base = files.write("base.yaml", text);
  }
  std::string set(std::vector<std::string> overrides, const std::string& above = {}) const {
    for (std::string& text : overrides)
      if (const auto at = text.find('@'); at != std::string::npos)
        text.replace(at, 1, files.path(""));
    try {
      Node root = load_document(above.empty() ? base : files.write("above.yaml", above), {});
      std::vector<Diagnostic> wrong;
      apply_overrides(root, overrides, {}, wrong);
      if (!wrong.empty()) throw InputError(wrong);
      return document(root);
    } catch (const InputError& error) {
      std::string text = error.what();
      for (std::size_t at; (at = text.find(files.path(""))) != std::string::npos;)
        text.erase(at, files.path("").size());
      return text;
    }
  }
};

TEST(SwappedPreset, StartsFromItselfAndKeepsWhatTheJobDecides) {
  const SwapFiles f(
      "cluster: {extends: a.yaml, devices: 8, allocation: q}\nmodel: {extends: a.yaml}\n");
  EXPECT_EQ(f.set({"cluster.extends=@b.yaml"}),
            "cluster: {x: 2, z: 2, devices: 8, allocation: q}, model: {x: 1, y: {u: 1, v: 1}}");
  EXPECT_EQ(f.set({"cluster={extends: @b.yaml, devices: 4, z: 5}"}),
            "cluster: {x: 2, z: 5, devices: 4, allocation: q}, model: {x: 1, y: {u: 1, v: 1}}");
  EXPECT_EQ(f.set({"model={extends: @b.yaml}"}),
            "cluster: {x: 1, y: {u: 1, v: 1}, devices: 8, allocation: q}, model: {x: 2, z: 2}");
  EXPECT_EQ(f.set({}, "extends: base.yaml\ncluster: {extends: b.yaml, devices: 4}\n"),
            "cluster: {x: 2, z: 2, devices: 4, allocation: q}, model: {x: 1, y: {u: 1, v: 1}}");
}

TEST(SwappedPreset, GoesBeforeKeysWhateverTheirOrder) {
  const SwapFiles f("cluster: {extends: a.yaml, devices: 8}\n");
  const std::string wanted = "cluster: {x: 3, z: 2, devices: 8}";
  EXPECT_EQ(f.set({"cluster.extends=@b.yaml", "cluster.x=3"}), wanted);
  EXPECT_EQ(f.set({"cluster.x=3", "cluster.extends=@b.yaml"}), wanted);
  EXPECT_EQ(f.set({"cluster={extends: @a.yaml}", "cluster.x=3", "cluster={extends: @b.yaml}"}),
            wanted);
}

TEST(SwappedPreset, NamesTheKeysThatBelongToTheOldOne) {
  const SwapFiles f("cluster:\n  extends: a.yaml\n  devices: 8\n  x: 5\n  y: {v: 2}\n");
  EXPECT_EQ(f.set({"cluster.extends=@b.yaml"}),
            "base.yaml:4:3: cluster.x: is written beside extends: a.yaml, which b.yaml replaces, "
            "allowed: devices, allocation; say it again or leave it: --set 'cluster={extends: "
            "b.yaml, x: null, y: null}'\n"
            "base.yaml:5:3: cluster.y: is written beside extends: a.yaml, which b.yaml replaces, "
            "allowed: devices, allocation; say it again or leave it: --set 'cluster={extends: "
            "b.yaml, x: null, y: null}'");
  EXPECT_EQ(f.set({"cluster={extends: @b.yaml, x: null, y: {w: 1}}"}),
            "cluster: {x: 2, z: 2, y: {w: 1}, devices: 8}");
  // The remedy beside what it mends.
  EXPECT_EQ(f.set({"cluster.extends=@b.yaml", "cluster={extends: @b.yaml, x: null, y: {w: 1}}"}),
            "cluster: {x: 2, z: 2, y: {w: 1}, devices: 8}");
  // A key that a layer between wrote is one beside the old preset, too.
  EXPECT_NE(f.set({"cluster.extends=@b.yaml"}, "extends: base.yaml\ncluster: {w: 1}\n")
                .find("above.yaml:2:11: cluster.w: is written beside extends"),
            std::string::npos);
}

TEST(SwappedPreset, LeavesNothingOfAMappingWithoutOne) {
  const SwapFiles f("cluster: {devices: 8, x: 9, w: 9}\n");
  EXPECT_EQ(f.set({"cluster.extends=@b.yaml"}), "cluster: {x: 2, z: 2, devices: 8}");
}

}  // namespace
}  // namespace stepcast
