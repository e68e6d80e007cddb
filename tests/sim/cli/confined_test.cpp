#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "shell.hpp"

// What a confined worker may not read does not exist: whatever asks for it, the answer is that for
// a name that nobody has.
namespace stepcast {
namespace {

using test::scenarios;
using Json = nlohmann::json;

const std::string canary = "quarterly", secret = "hunter2";

struct Try {
  std::vector<std::string> arguments;
  std::string input;
};

/// A request per way to name something; `PATH` stands for the name.
using Tries = std::vector<Try>;

const std::string confined_head = "stepcast: 1\nname: a\n";
const std::string four_ideal =
    confined_head + "cluster: {extends: clusters/ideal.yaml, devices: 4}\n";

Tries of_keys() {
  Tries tries;
  for (const std::string& text : {
           confined_head + "extends: PATH\n",
           confined_head + "cluster: {extends: PATH, devices: 4}\n",
           confined_head + "model: {extends: PATH}\n",
           confined_head + "model: {hf_config: PATH}\ncluster: {extends: clusters/dgx-h100.yaml}\n",
           four_ideal + "workload: {chakra: PATH}\n",
           four_ideal + "workload: {graph: PATH}\n",
           confined_head + "cluster: {network: {platform: {file: PATH}}}\n",
           four_ideal + "schedule: {pipeline: {table: PATH}}\nframework: PATH\n",
           four_ideal + "framework: {extends: PATH}\n",
       })
    tries.push_back({{"run", "-", "--json", "-"}, text});
  for (const char* key :
       {"moe.routing={distribution: file, file: PATH}", "schedule.data.documents.file=PATH",
        "stalls.spread.device.file=PATH", "cluster.extends=PATH", "model.extends=PATH",
        "framework=PATH", "model.hf_config=PATH"})
    tries.push_back({{"validate", "mixtral-8x7b.yaml", "--set", key}, ""});
  tries.push_back({{"plan", "-"}, four_ideal + "plan: {devices: 8, baseline: PATH}\n"});
  tries.push_back({{"import", "-", "--from", "megatron"},
                   "source PATH/env.sh\nsource env.sh\ntorchrun pretrain_gpt.py --num-layers $KEY "
                   "--deepspeed_config ds.json\n"});
  return tries;
}

/// Every command with the name as its first word.
Tries of_words() {
  Tries tries;
  for (const char* command :
       {"run",   "import",   "export",   "edit",     "explain",   "campaign", "judge",
        "sweep", "validate", "results",  "scale",    "check",     "topology", "choices",
        "plan",  "model",    "schedule", "accuracy", "calibrate", "schema",   "diff"})
    tries.push_back({{command, "PATH"}, ""});
  tries.push_back({{"accuracy", "--components", "PATH"}, ""});
  tries.push_back({{"accuracy", "--plain", "PATH"}, ""});
  tries.push_back({{"calibrate", "PATH", "--cluster", "clusters/ascend-910b-pod.yaml"}, ""});
  tries.push_back({{"compare", "ideal-pipeline.yaml", "PATH"}, ""});
  tries.push_back({{"diff", "ideal-pipeline.yaml", "PATH"}, ""});
  return tries;
}

/// Every option of every command, as the completion of shells knows them.
Tries of_options() {
  const std::map<std::string, std::vector<std::string>> first = {
      {"list", {}},
      {"keys", {"pp"}},
      {"schedule", {"1f1b"}},
      {"collective", {"all_reduce"}},
      {"operator", {"matmul"}},
      {"model", {"models/llama2-7b.yaml"}},
      {"topology", {"clusters/ideal.yaml"}},
      {"diff", {"ideal-pipeline.yaml", "PATH"}},
      {"sweep", {"bench/fold-16384.yaml"}}};
  Tries tries;
  std::istringstream lines{
      test::content(std::string(STEPCAST_SOURCE_DIR) + "/scripts/completion/stepcast.bash")};
  for (std::string line; std::getline(lines, line);) {
    const auto words = line.find(") echo \"--");
    if (words == std::string::npos) continue;
    const std::string command = line.substr(4, words - 4);
    if (command == "worker" || command == "serve" || command.find_first_of(" *|") == 0 ||
        command == "schema | completion")
      continue;
    std::istringstream options{line.substr(words + 8)};
    for (std::string option; options >> option && option.starts_with("--");) {
      // Behind a bare option it is a word to look for, whose suggestions are of its letters.
      if (command == "keys" && option == "--ignore-unknown") continue;
      Try one{{command}, ""};
      const auto found = first.find(command);
      if (found == first.end()) one.arguments.emplace_back("ideal-pipeline.yaml");
      if (found != first.end())
        one.arguments.insert(one.arguments.end(), found->second.begin(), found->second.end());
      one.arguments.insert(one.arguments.end(), {option, "PATH"});
      tries.push_back(one);
    }
  }
  return tries;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// Files of every kind that anything reads, in one folder.
void write_outside(const test::TemporaryFiles& files) {
  const auto write = [&](const std::string& name, const std::string& text) {
    files.write("outside/held/" + canary + name, text);
  };
  write(".yaml", test::content(scenarios + "ideal-pipeline.yaml") + "# " + secret + "\n");
  write("2.yaml", secret + ": 1\n");
  write(".et", "");
  write(".0.et", secret);
  write(".groups.json", "{\"" + secret + "\": [0]}");
  write(".csv", secret + "\n1\n");
  write(".txt", secret);
  write(".sqlite", "SQLite format 3 " + secret);
  for (const char* name : {"config.json", "env.sh", "ds.json", "kernel_details.csv", "groups.json",
                           "sources.yaml", "ratios.yaml", "gallery.yaml", "all_reduce-16.txt"})
    files.write("outside/held/" + std::string(name), "KEY=" + secret + "\n");
}

/// What a confined worker answers to each try, with what the two places are called made alike.
std::vector<std::string> answers_to(const Tries& tries, const test::TemporaryFiles& files,
                                    const std::string& place) {
  std::string requests;
  int id = 0;
  for (Try one : tries) {
    for (std::string& word : one.arguments) word = replaced(word, "PATH", place);
    Json json{
        {"id", id++}, {"arguments", one.arguments}, {"input", replaced(one.input, "PATH", place)}};
    requests += json.dump() + "\n";
  }
  requests += Json{{"id", id}, {"arguments", {"list"}}, {"directory", place}}.dump() + "\n";
  const std::string line = "cd '" + files.path("outside/held") + "' && STEPCAST_SECRET=" + secret +
                           " '" + STEPCAST_BINARY +
                           "' worker --confined --no-files --seconds 20 --folder '" +
                           files.path("inside") + "'";
  std::istringstream lines{test::shell(files, line, files.write("requests", requests)).out};
  std::vector<std::string> answers(tries.size() + 1);
  std::string answer;
  std::getline(lines, answer);  // the greeting
  while (std::getline(lines, answer)) {
    const std::size_t at = Json::parse(answer)["id"].get<std::size_t>();
    answers.at(at) = replaced(answer, place, "PLACE");
  }
  return answers;
}

/// Files and folders that are there, and names near them, against names that nobody has.
void expect_nothing_told(const Tries& tries, const std::vector<std::string>& names) {
  const test::TemporaryFiles files;
  write_outside(files);
  files.write("inside/mine.yaml", "stepcast: 1\n");
  // A name that is near no key, as suggestions of `keys` are of the letters asked for.
  std::filesystem::create_symlink(files.path("outside/held"), files.path("inside/zqx"));
  for (const std::string& name : names) {
    const bool linked = name.starts_with("zqx/");
    const auto held =
        answers_to(tries, files, files.path((linked ? "inside/" : "outside/held/") + name));
    const auto gone =
        answers_to(tries, files, files.path((linked ? "inside/no" : "outside/gone/") + name));
    for (std::size_t i = 0; i < held.size(); ++i) {
      const std::string what = i < tries.size() ? Json(tries[i].arguments).dump() : "directory";
      EXPECT_EQ(held[i], gone[i]) << what << " of " << name;
      EXPECT_FALSE(held[i].empty()) << what;
      EXPECT_EQ(replaced(held[i], "PLACE", "").find(secret), std::string::npos) << held[i];
    }
  }
}

TEST(Confined, ValuesOfKeysTellNothing) { expect_nothing_told(of_keys(), {canary + ".yaml"}); }

TEST(Confined, FoldersTellNothing) { expect_nothing_told(of_keys(), {""}); }

TEST(Confined, NightlyNothingTellsAnything) {
  const std::vector<std::string> names = {canary + ".yaml",          "",
                                          "zqx/" + canary + ".yaml", "zqx/",
                                          canary + "1.yaml",         canary + ".yaml/x",
                                          canary + ".sqlite"};
  expect_nothing_told(of_keys(), names);
  expect_nothing_told(of_words(), names);
  expect_nothing_told(of_options(), names);
}

}  // namespace
}  // namespace stepcast
