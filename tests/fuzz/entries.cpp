#include "entries.hpp"

#include <unistd.h>

#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/import/shell_syntax.hpp"
#include "sim/import/structured.hpp"
#include "stepcast/base/csv.hpp"
#include "stepcast/base/foreign_document.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/import/import.hpp"
#include "stepcast/sim/kernels/profile.hpp"
#include "stepcast/sim/plan/plan.hpp"
#include "stepcast/sim/sweep/store.hpp"

namespace stepcast::fuzz {
namespace {

namespace fs = std::filesystem;

/// The folders of the corpus too: a text that lay in one of them names others beside itself.
const SearchPath& presets() {
  static const fs::path folder = fs::path(STEPCAST_SOURCE_DIR) / "scenarios";
  static const SearchPath search{
      {folder, folder / "clusters", folder / "models", folder / "plans", folder / "regression"}};
  return search;
}

/// A file with the text, for what takes only files; one of each name per process.
std::string file_of(const std::string& name, std::string_view text) {
  static const fs::path folder =
      fs::temp_directory_path() / ("stepcast-fuzz-" + std::to_string(getpid()));
  const fs::path path = folder / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
  return path.string();
}

/// Whether `read` took it.
template <class Read>
bool accepts(const Read& read) {
  try {
    read();
    return true;
  } catch (const InputError&) {
    return false;
  }
}

bool parser(std::string_view text) {
  const bool own = accepts([&] { parse_document(text, "f"); });
  return accepts([&] { parse_foreign_document(text, "f"); }) || own;
}

/// A launch file is a document or a script.
bool launch_parser(std::string_view text) {
  return parser(text) || accepts([&] { launch::parse_toml(std::string(text), "f"); }) ||
         accepts([&] {
           shell::Sources sources;
           std::deque<shell::HereDocument> documents;
           shell::parse_script(sources.add("f", std::string(text)), sources, documents);
         });
}

/// A file of a profile is a table or a document.
bool profile_parser(std::string_view text) {
  return accepts([&] { parse_csv(text, "f"); }) || parser(text);
}

bool scenario(std::string_view text) {
  return accepts([&] {
    const ScenarioDocument document{load_document_text(text, "f.yaml", presets()), "f.yaml", {}};
    Scenario scenario = prepare_scenario(document, presets());
    if (!is_small(scenario)) return;
    if (const std::string wrong = wrong_forecast(std::move(scenario)); !wrong.empty())
      throw std::logic_error("a forecast holds " + wrong);
  });
}

bool cluster(std::string_view text) {
  return accepts([&] { read_cluster(file_of("cluster.yaml", text), {}, presets()); });
}

bool model(std::string_view text) {
  return accepts([&] { read_model(file_of("model.yaml", text), presets()); });
}

bool plan(std::string_view text) {
  return accepts([&] { read_plan(file_of("plan.yaml", text), {}, {}, presets()); });
}

bool hugging_face(std::string_view text) {
  return accepts([&] { read_hugging_face(file_of("config.json", text)); });
}

/// Each kind in turn: what one refuses by its first word, another reads.
bool launch(std::string_view text) {
  const std::string path = file_of("launch.sh", text);
  bool any = false;
  for (const std::string& kind : import_kinds())
    any = accepts([&] {
            import_launch(path,
                          {.from = kind,
                           .devices = 1024,
                           .cluster = "clusters/dgx-h100.yaml",
                           .overrides = {"model.vocabulary=32000"},
                           .ignore_unknown = true},
                          presets());
          }) ||
          any;
  return any;
}

/// What is inside is the database's own business.
bool store_parser(std::string_view text) { return text.starts_with("SQLite format 3"); }

bool store(std::string_view text) {
  const std::string path = file_of("store.sqlite", text);
  return accepts([&] { Store(path, Store::Open::existing).rows(""); });
}

/// As each of the files of a profile.
bool profile(std::string_view text) {
  static constexpr std::array names{"kernel_details.csv", "op_statistic.csv", "step_trace_time.csv",
                                    "communication.json", "all_reduce-16.txt"};
  bool any = false;
  for (const char* name : names) {
    const std::string path = file_of(std::string("profile/") + name, text);
    any = accepts([&] {
            Profile profile;
            read_profile(fs::path(path).parent_path().string(), profile);
          }) ||
          any;
    fs::remove(path);
  }
  return any;
}

constexpr std::array<NamedEntry, 9> all{
    {{"parser", parser, "scenarios .yaml", parser},
     {"scenario", scenario, "scenarios/regression .yaml", parser},
     {"cluster", cluster, "scenarios/clusters .yaml", parser},
     {"model", model, "scenarios/models .yaml", parser},
     {"plan", plan, "scenarios/plans .yaml", parser},
     {"hugging_face", hugging_face, "tests/fuzz/seeds .json", parser},
     {"launch", launch, "tests/sim/import/data .sh", launch_parser},
     {"store", store, "", store_parser},
     {"profile", profile, "tests/fuzz/seeds .csv", profile_parser}}};

}  // namespace

std::span<const NamedEntry> entries() { return all; }

std::string store_seed() {
  const std::string path = file_of("seed.sqlite", "");
  fs::remove(path);
  {
    PointResult row{.key = "k", .version = "1", .fingerprint = "f", .sweep = "s"};
    row.numbers.resize(number_names().size());
    Store(path, Store::Open::create).put(row);
  }
  std::ifstream stream{path, std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{}};
  fs::remove(path);
  return bytes;
}

}  // namespace stepcast::fuzz
