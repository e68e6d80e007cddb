#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

/// Here techniques stand beside the gains that their authors publish: docs/papers.md says how to
/// read them. A gain is the old time over the new one, of a device per token: a technique may use
/// other numbers of devices, or another batch.
namespace stepcast {

/// The scenarios of a row in which a value is assumed.
enum class AssumedIn { both, baseline, technique };
std::string_view name(AssumedIn in);

/// A value that the source does not state, and the ends between which it may lie: `--set` of the
/// scenarios that have it.
struct AssumedValue {
  std::string what;
  std::vector<std::string> low, high;
  double at_low = 0, at_high = 0;  ///< forecast gains
  AssumedIn in = AssumedIn::both;
  Place place;
};

/// One of the two steps of a row.
struct GalleryStep {
  Seconds published{0};  ///< 0: not stated
  Seconds forecast{0};
  bool fits = true;  ///< into device memory, and what is kept elsewhere into its own
};

/// A row of the gallery: one change of a step, and what it is said to gain.
struct Technique {
  std::string name;
  std::string source;    ///< key of GallerySource
  std::string kind;      ///< what is alike counts at most three times
  std::string where;     ///< place in the source, and what it states
  std::string baseline;  ///< scenario files, relative to the folder
  std::string technique;
  std::vector<std::string> set;      ///< of the technique, on top of its file
  std::vector<std::string> less;     ///< the time of both with these values is subtracted: a module
  std::int64_t load_steps = 0;       ///< above 0: mean over so many steps of changing loads
  bool experts = false;              ///< the gain is that of ExpertModuleTimes, not of the step
  double gain = 0;                   ///< published; 0: none, or one of the two below
  double at_least = 0, at_most = 0;  ///< a range; `at_most` alone is an upper bound
  /// Published times are those of the row, or of the `expect` of its scenarios.
  GalleryStep without, with;
  std::string apart;   ///< why the row does not count, empty where it does
  std::string remark;  ///< why the forecast is off, or what is not in it
  std::vector<AssumedValue> assumptions;
  double forecast = 0;
  Place place;  ///< of the key `technique` in the file
};

/// A paper, report or page, by the word that its rows name it with.
struct GallerySource {
  std::string key, name;
};
struct UntimedSystem {
  std::string name, reason;
};
/// `gallery.yaml` of a folder.
struct Gallery {
  std::vector<GallerySource> sources;
  std::vector<Technique> techniques;
  std::vector<UntimedSystem> systems;  ///< those that have no row, with the reason
};

/// Its keys.
void describe(Visitor& visitor, Gallery& gallery);
/// Reads such a file. Throws InputError: also for scenarios that do not stand beside it, for
/// sources that it does not name or that have no row, for rows with two published figures that
/// contradict or none to miss (a gain of 1), for rows that stand twice, and for assumptions whose
/// ends are one.
Gallery read_gallery(const std::string& path, const SearchPath& search);
/// Says whether a folder holds a gallery.
bool is_gallery(const std::string& folder);
/// That of a folder with all forecasts. Throws InputError, also where a row compares a
/// scenario with itself, and EngineError where a forecast fails.
Gallery measure_gallery(const std::string& folder, const SearchPath& search, int workers);

/// - within: no further from the published gain than 15 % of it, of the part above 1, or than one
///   point of step time; or in the stated range, or above 1 and no higher than a bound.
/// - direction: it gains where the source says so.
enum class Verdict { within, direction, wrong, unpublished };
std::string_view name(Verdict verdict);
/// The verdict of some forecast gain of the row.
Verdict verdict_of(const Technique& row, double forecast);
/// Says whether an end of an assumption changes the verdict.
bool is_assumed(const Technique& row);
/// The error of the forecast, as a part of the published gain above 1; of a range to its
/// nearer end. Nothing without a figure, for an upper bound, and inside the range.
std::optional<double> gain_error(const Technique& row);
/// Says whether the steps of a row are what it compares: not those of modules.
bool compares_steps(const Technique& row);

/// How many rows there are of each verdict, and how many of those within count: not those apart,
/// not upper bounds, not gains under 3 %, at most four of a source and three of a kind in the order
/// of the file, and at most six that are assumed.
struct GalleryFigures {
  std::size_t rows = 0, published = 0, within = 0, direction = 0, wrong = 0, assumed = 0,
              counted = 0;
};
GalleryFigures figures(const Gallery& gallery);
/// Says of each row whether it counts.
std::vector<bool> counted_rows(const Gallery& gallery);

/// Rows with verdicts, and how many of them count, for people.
std::string gallery_text(const Gallery& gallery);
std::string gallery_json(const Gallery& gallery);
/// The tables of docs/papers.md; `read_counted` finds their first figure again.
std::string gallery_markdown(const Gallery& gallery);
std::optional<double> read_counted(std::string_view markdown);

}  // namespace stepcast
