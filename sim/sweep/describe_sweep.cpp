#include "stepcast/base/format_version.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "stepcast/sim/sweep/sweep.hpp"
#include "sweep_file.hpp"

namespace stepcast {

void describe(Visitor& visitor, SweepFile& file) {
  // Any key that a scenario can vary may be an axis; values are checked when a point is read.
  const auto map = [](const Node*& found, bool lists) {
    return PathMap{"scenario", describe_varied_keys, lists, &found};
  };
  describe_format_version(visitor, true);
  visitor.field({"name", Identifier{&file.name}, "name of the sweep; absent: that of its file"});
  visitor.section("sweep", "what varies", [&](Visitor& v) {
    v.field({"base", &file.base, "the scenario that is varied", any_number(), true});
    v.paths("grid", "lists of values of which every combination is a point", map(file.grid, true));
    v.paths("zip", "lists of one length whose values go together", map(file.zip, true));
    v.optional_section("keep", "what stays when the devices vary", file.weak, [](Visitor& w) {
      w.field({"tokens_per_device", only_first({{"constant"}}),
               "weak scaling: the global batch follows", any_number(), true});
    });
    v.paths("baseline", "values of the points that efficiency is relative to",
            map(file.baseline, false));
  });
}

void describe_sweep_file(Visitor& visitor) {
  SweepFile file;
  describe(visitor, file);
}

}  // namespace stepcast
