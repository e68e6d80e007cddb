#include <filesystem>
#include <set>
#include <tuple>

#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/format_version.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/sim/accuracy/gallery.hpp"
#include "stepcast/sim/forecast/load_steps.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"

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
        v.field({"in",
                 choice(a.in, {{name(AssumedIn::both)},
                               {name(AssumedIn::baseline)},
                               {name(AssumedIn::technique)}}),
                 "the scenarios that have it"});
        v.field(
            {"low", &a.low, "one end: keys of those scenarios, as for --set", any_number(), true});
        v.field({"high", &a.high, "the other end", any_number(), true});
      });
}

void describe(Visitor& v, Technique& t) {
  // Names first, then both scenarios, then what is published and what keeps a row apart.
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
  v.field({"baseline_time", &t.without.published,
           "published time of its step, where the scenario itself expects none", positive()});
  v.field({"technique_time", &t.with.published, "that of the technique", positive()});
  v.field({"apart", &t.apart, "why the row does not count"});
  v.field({"remark", &t.remark, "what is not in the forecast"});
  describe(v, t.assumptions);
}

/// Reports what is wrong with a key of the file that read well by itself.
class Complaints {
 public:
  Complaints(const Node& root, Reading& reading) : root_(root), reading_(reading) {}
  void operator()(const std::string& path, const std::string& what) const {
    if (!reading_.failed.contains(path)) reading_.report(place_of(root_, path), path, what);
  }

 private:
  const Node& root_;
  Reading& reading_;
};

/// A source is named once and has rows.
void check_sources(const Gallery& gallery, const Complaints& wrong) {
  std::set<std::string> named, used;
  for (const Technique& t : gallery.techniques) used.insert(t.source);
  for (std::size_t i = 0; i < gallery.sources.size(); ++i) {
    const std::string& key = gallery.sources[i].key;
    const std::string path = "sources." + std::to_string(i) + ".key";
    if (key.empty()) continue;  // reported already
    if (!named.insert(key).second)
      wrong(path, "is '" + shortened(key) + "' again, allowed: a word of its own");
    else if (!used.contains(key))
      wrong(path, "is '" + shortened(key) + "', which has no row, allowed: a source of techniques");
  }
  for (std::size_t i = 0; i < gallery.techniques.size(); ++i) {
    const std::string& source = gallery.techniques[i].source;
    if (!source.empty() && !named.contains(source))
      wrong("techniques." + std::to_string(i) + ".source",
            "is '" + shortened(source) + "', allowed: the key of one of the sources");
  }
}

/// A row that stands twice would count twice.
void check_repetition(const Gallery& gallery, const Complaints& wrong) {
  std::set<std::tuple<std::string, std::string>> names;
  std::set<std::tuple<std::string, std::string, std::vector<std::string>, std::vector<std::string>,
                      std::int64_t, bool>>
      pairs;
  for (std::size_t i = 0; i < gallery.techniques.size(); ++i) {
    const Technique& t = gallery.techniques[i];
    const std::string path = "techniques." + std::to_string(i);
    if (!names.emplace(t.source, t.name).second)
      wrong(path + ".name", "is '" + shortened(t.name) +
                                "', which its source has already, allowed: a row for each pair");
    else if (!pairs.emplace(t.baseline, t.technique, t.set, t.less, t.load_steps, t.experts).second)
      wrong(path + ".technique", "is compared to this baseline in a row before, allowed: once");
  }
}

void check_assumptions(const Technique& t, const std::string& row, const Complaints& wrong) {
  for (std::size_t k = 0; k < t.assumptions.size(); ++k) {
    const AssumedValue& a = t.assumptions[k];
    const std::string path = row + ".assumptions." + std::to_string(k);
    for (const auto& [key, end] : {std::pair{".low", &a.low}, {".high", &a.high}})
      if (end->empty()) wrong(path + key, "sets nothing, allowed: the keys of an end");
    if (!a.low.empty() && a.low == a.high)
      wrong(path + ".high", "is the same as low, allowed: the other end");
  }
}

/// What only several keys of a row together can get wrong.
void check_row(const Technique& t, const std::string& path, const fs::path& folder,
               const Complaints& report) {
  const auto wrong = [&](const char* key, const std::string& what) {
    report(path + "." + key, what);
  };
  for (const auto& [key, file] : {std::pair{"baseline", t.baseline}, {"technique", t.technique}})
    if (!file.empty() && !is_there(folder / file))
      wrong(key, "names '" + shortened(file) + "', which does not exist, allowed: a scenario file");
  for (const auto& [key, figure] :
       {std::pair{"gain", t.gain}, {"at_least", t.at_least}, {"at_most", t.at_most}})
    if (figure == 1) wrong(key, "is 1, which is no gain, allowed: a number above or below 1");
  if (t.gain > 0 && t.at_least + t.at_most > 0)
    wrong("gain", "does not go with a range, allowed: one of the two");
  if (t.at_least > 0 && t.at_most < t.at_least)
    wrong("at_least", "has no higher at_most, allowed: both ends of a range");
  if (t.load_steps > 0 && (t.experts || !t.less.empty()))
    wrong("load_steps", "does not go with experts or less, allowed: one of the three");
  if (t.experts && !t.less.empty())
    wrong("less", "does not go with experts, which is a module already, allowed: one of the two");
  if (t.baseline == t.technique && t.set.empty() && !t.technique.empty())
    wrong("technique", "is the baseline and sets nothing, allowed: another file, or set");
  for (const auto& [key, step] :
       {std::pair{"baseline_time", t.without}, {"technique_time", t.with}})
    if (step.published > Seconds{0} && !compares_steps(t))
      wrong(key, "is that of a step beside experts or less, allowed: in rows about steps");
  check_assumptions(t, path, report);
}

void check(Gallery& gallery, const fs::path& folder, const Node& root, Reading& reading) {
  const Complaints wrong{root, reading};
  check_sources(gallery, wrong);
  check_repetition(gallery, wrong);
  for (std::size_t i = 0; i < gallery.techniques.size(); ++i) {
    Technique& t = gallery.techniques[i];
    const std::string path = "techniques." + std::to_string(i);
    check_row(t, path, folder, wrong);
    // Where forecasts find a row that compares nothing.
    t.place = place_of(root, path + ".technique");
    for (std::size_t k = 0; k < t.assumptions.size(); ++k)
      t.assumptions[k].place = place_of(root, path + ".assumptions." + std::to_string(k));
  }
}

}  // namespace

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

Gallery read_gallery(const std::string& path, const SearchPath& search) {
  Reading reading;
  const Node root =
      load_document_text(read_document_text(path, search), path, search, &reading.diagnostics);
  require_kind(file_kind(root), FileKind::gallery, path);
  Gallery gallery;
  read_mapping(root, {}, reading, [&](Visitor& v) { describe(v, gallery); });
  // What reads well by itself need not go together.
  check(gallery, fs::path(path).parent_path(), root, reading);
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
  return gallery;
}

bool is_gallery(const std::string& folder) { return is_there(fs::path(folder) / gallery_file); }

}  // namespace stepcast
