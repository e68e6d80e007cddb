#include "entries.hpp"

#include <unistd.h>

#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/import/shell_syntax.hpp"
#include "sim/import/structured.hpp"
#include "sim/plan/answer_store.hpp"
#include "stepcast/base/csv.hpp"
#include "stepcast/base/foreign_document.hpp"
#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/graph/task_graph.hpp"
#include "stepcast/sim/import/import.hpp"
#include "stepcast/sim/kernels/operator_rows.hpp"
#include "stepcast/sim/kernels/profile.hpp"
#include "stepcast/sim/kernels/profile_compare.hpp"
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

/// The bytes of a file that `write` makes.
std::string made_file(const char* name, void (*write)(const std::string& path)) {
  const std::string path = file_of(name, "");
  fs::remove(path);
  write(path);
  std::ifstream stream{path, std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{}};
  fs::remove(path);
  return bytes;
}

std::vector<std::string> store_seeds() {
  return {made_file("seed.sqlite", [](const std::string& path) {
    PointResult row{.key = "k", .version = "1", .fingerprint = "f", .sweep = "s"};
    row.numbers.resize(number_names().size());
    row.numbers[number_place("step_time_s")] = 1;
    Store(path, Store::Open::create).put(row);
  })};
}

/// The store of a search gives what it was given, or refuses.
bool answers(std::string_view text) {
  const std::string path = file_of("answers.sqlite", text);
  return accepts([&] {
    AnswerStore store(path);
    if (const auto answer = store.find("key"); answer && *answer != "answer")
      throw std::logic_error("an answer that nobody gave");
    store.put("another", "1");
  });
}

std::vector<std::string> answer_seeds() {
  return {made_file("seed.answers",
                    [](const std::string& path) { AnswerStore(path).put("key", "answer"); })};
}

/// Two ranks that compute and reduce, forth and back.
const ChakraTraces& small_traces() {
  static const ChakraTraces traces = [] {
    TaskGraph graph{.name = "seed", .plan = {.tp = 2}, .shape = {1, 1, 1}};
    StageProgram program;
    OperatorCost cost;
    cost.device = 1e-6;
    program.segments.emplace_back(std::vector<OperatorCost>{cost});
    program.calls.push_back({.name = "sum",
                             .group = GroupKind::tensor,
                             .call = {CollectiveKind::all_reduce, Bytes{1024}},
                             .stream = Stream::tensor,
                             .kind = ExposedKind::tensor,
                             .issue = {}});
    program.slots = 1;
    ChunkProgram& chunk = program.chunks.emplace_back();
    chunk.forward = chunk.first_forward = {Compute{0}, Communicate{0, 0, true}, Wait{0}};
    chunk.backward = chunk.last_backward = chunk.forward;
    graph.programs = {program};
    graph.orders = {pipeline_schedule("1f1b").order(graph.shape, Stage{0})};
    return chakra_traces(graph, {Rank{0}, Rank{1}});
  }();
  return traces;
}

/// The groups of a job, or the trace of its first rank, beside what fits.
bool chakra(std::string_view text) {
  const ChakraTraces& fitting = small_traces();
  const bool groups = text.starts_with('{');
  const fs::path folder =
      fs::path(file_of("chakra/job.0.et", groups ? fitting.of_rank[0] : text)).parent_path();
  file_of("chakra/job.1.et", fitting.of_rank[1]);
  file_of("chakra/groups.json", groups ? text : fitting.groups);
  return accepts([&] { read_chakra(folder); });
}

bool chakra_parser(std::string_view text) { return text.starts_with('{') ? parser(text) : true; }

std::vector<std::string> chakra_seeds() {
  return {small_traces().of_rank[0], small_traces().groups};
}

/// The kernels of one rank, as each of the files that hold them.
bool kernels(std::string_view text) {
  bool any = false;
  for (const char* name :
       {"kernels/kernel_details.csv", "kernels/trace.json", "kernels/trace.json.gz"}) {
    const std::string path = file_of(name, text);
    any = accepts([&] { read_kernel_profile(path); }) || any;
    any = accepts([&] { read_kernel_profile(fs::path(path).parent_path().string()); }) || any;
    fs::remove(path);
  }
  return any;
}

/// A table of measured operators.
bool operators(std::string_view text) {
  static OperatorClusters clusters("", {}, presets());
  return accepts([&] {
    for (const OperatorTable::Row& row : OperatorTable(text, "f.csv", clusters).rows)
      static_cast<void>(row.cluster->forecast(row.request));
  });
}

constexpr std::array<NamedEntry, 13> all{
    {{"parser", parser, "scenarios .yaml", parser},
     {"scenario", scenario, "scenarios/regression .yaml", parser},
     {"cluster", cluster, "scenarios/clusters .yaml", parser},
     {"model", model, "scenarios/models .yaml", parser},
     {"plan", plan, "scenarios/plans .yaml", parser},
     {"hugging_face", hugging_face, "tests/fuzz/seeds .json", parser},
     {"launch", launch, "tests/sim/import/data .sh", launch_parser},
     {"store", store, "", store_parser, store_seeds},
     {"answers", answers, "", store_parser, answer_seeds},
     {"profile", profile, "tests/fuzz/seeds .csv", profile_parser},
     {"kernels", kernels, "tests/fuzz/seeds .csv", profile_parser},
     {"operators", operators, "scenarios/measurements .csv", profile_parser},
     {"chakra", chakra, "", chakra_parser, chakra_seeds}}};

}  // namespace

std::span<const NamedEntry> entries() { return all; }

}  // namespace stepcast::fuzz
