#include <algorithm>
#include <filesystem>
#include <set>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/format_version.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/sim/forecast/load_steps.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "stepcast/sim/study/gallery.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

constexpr const char* gallery_file = "gallery.yaml";

void describe(Visitor& visitor, std::vector<AssumedValue>& assumptions) {
  visitor.optional_list(
      "assumptions", "what the source does not state", assumptions.size(),
      [&](std::size_t size) { assumptions.resize(size); },
      [&](Visitor& v, std::size_t i) {
        AssumedValue& a = assumptions[i];
        v.field({"what", &a.what, "which value, and why the assumed one", any_number(), true});
        v.field(
            {"low", &a.low, "one end: keys of both scenarios, as for --set", any_number(), true});
        v.field({"high", &a.high, "the other end", any_number(), true});
      });
}

void describe(Visitor& v, Technique& t) {
  v.field({"name", &t.name, "what is done, and to what", any_number(), true});
  v.field({"source", &t.source, "key of one of the sources", any_number(), true});
  v.field({"kind", &t.kind, "which technique it is an instance of", any_number(), true});
  v.field({"where", &t.where, "place in the source, and what it states", any_number(), true});
  v.field({"baseline", &t.baseline, "scenario file without it, relative to the folder",
           any_number(), true});
  v.field({"technique", &t.technique, "scenario file with it", any_number(), true});
  v.field({"set", &t.set, "keys of the technique on top of its file, as for --set"});
  v.field({"less", &t.less,
           "the time of both scenarios with these keys is subtracted, which leaves a module"});
  v.field({"load_steps", &t.load_steps,
           "compares means over so many steps of changing expert loads, relocations included, in "
           "place of one step",
           between(0, static_cast<double>(most_load_steps))});
  v.field({"experts", &t.experts,
           "compares the routed experts of a layer by themselves, from dispatch to combine "
           "(result.experts.module_*), in place of steps"});
  v.field({"gain", &t.gain, "published time without it over time with it", positive()});
  v.field({"at_least", &t.at_least, "instead: lower end of a published range", positive()});
  v.field({"at_most", &t.at_most, "its upper end, or a figure that is said to be the best",
           positive()});
  v.field({"apart", &t.apart, "why the row does not count"});
  v.field({"remark", &t.remark, "what is not in the forecast"});
  describe(v, t.assumptions);
}

void describe(Visitor& visitor, Gallery& gallery) {
  describe_format_version(visitor, true);
  visitor.list(
      "sources", "papers, reports and pages", gallery.sources.size(),
      [&](std::size_t size) { gallery.sources.resize(size); },
      [&](Visitor& v, std::size_t i) {
        v.field({"key", &gallery.sources[i].key, "word by which rows name it", any_number(), true});
        v.field({"name", &gallery.sources[i].name, "what it is", any_number(), true});
      });
  visitor.list(
      "techniques", "rows of the gallery", gallery.techniques.size(),
      [&](std::size_t size) { gallery.techniques.resize(size); },
      [&](Visitor& v, std::size_t i) { describe(v, gallery.techniques[i]); });
  visitor.optional_list(
      "systems", "systems without a row", gallery.systems.size(),
      [&](std::size_t size) { gallery.systems.resize(size); },
      [&](Visitor& v, std::size_t i) {
        v.field({"name", &gallery.systems[i].name, "of the system", any_number(), true});
        v.field({"reason", &gallery.systems[i].reason, "why it has none", any_number(), true});
      });
}

/// What only several keys of a row together can get wrong.
void check(const Gallery& gallery, const fs::path& folder, const Node& root, Reading& reading) {
  std::set<std::string> keys;
  for (const GallerySource& s : gallery.sources) keys.insert(s.key);
  for (std::size_t i = 0; i < gallery.techniques.size(); ++i) {
    const Technique& t = gallery.techniques[i];
    const auto wrong = [&](const char* key, const std::string& what) {
      const std::string path = "techniques." + std::to_string(i) + "." + key;
      if (!reading.failed.contains(path)) reading.report(place_of(root, path), path, what);
    };
    for (const auto& [key, file] : {std::pair{"baseline", t.baseline}, {"technique", t.technique}})
      if (!file.empty() && !fs::exists(folder / file))
        wrong(key,
              "names '" + shortened(file) + "', which does not exist, allowed: a scenario file");
    if (!t.source.empty() && !keys.contains(t.source))
      wrong("source", "is '" + t.source + "', allowed: the key of one of the sources");
    if (t.gain > 0 && t.at_least + t.at_most > 0)
      wrong("gain", "stands beside a range, allowed: one of the two");
    if (t.at_least > 0 && t.at_most < t.at_least)
      wrong("at_least", "has no higher at_most, allowed: both ends of a range");
    if (t.load_steps > 0 && (t.experts || !t.less.empty()))
      wrong("load_steps", "stands beside experts or less, allowed: one of the three");
    if (t.experts && !t.less.empty())
      wrong("less", "stands beside experts, which is a module already, allowed: one of the two");
    if (t.baseline == t.technique && t.set.empty() && !t.technique.empty())
      wrong("technique", "is the baseline and sets nothing, allowed: another file, or set");
  }
}

}  // namespace

void describe_gallery_file(Visitor& visitor) {
  Gallery gallery;
  describe(visitor, gallery);
}

Gallery read_gallery(const std::string& path, const SearchPath& search) {
  Reading reading;
  const Node root =
      load_document_text(read_document_text(path, search), path, search, &reading.diagnostics);
  require_kind(file_kind(root), FileKind::gallery, path);
  Gallery gallery;
  Section section{root, {}, reading};
  describe(section, gallery);
  section.finish();
  check(gallery, fs::path(path).parent_path(), root, reading);
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
  return gallery;
}

bool is_gallery(const std::string& folder) { return fs::exists(fs::path(folder) / gallery_file); }

}  // namespace stepcast
