#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "shell.hpp"

// `stepcast worker` as another program sees it: lines of JSON in, lines of JSON out.
namespace stepcast {
namespace {

using test::scenarios;

using Json = nlohmann::json;

/// The answers by id, those without one under -1; the greeting is checked and left out.
std::map<int, Json> answers(const std::string& requests, const std::string& options = "") {
  const test::TemporaryFiles files;
  const test::Ran ran =
      test::stepcast_run(files, "worker " + options, files.write("requests", requests));
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::istringstream lines{ran.out};
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(Json::parse(line)["stepcast"]["worker"], 1);
  std::map<int, Json> all;
  while (std::getline(lines, line)) {
    const Json json = Json::parse(line);
    const int id = json["id"].is_null() ? -1 : json["id"].get<int>();
    EXPECT_TRUE(all.emplace(id, json).second) << "two answers: " << line;
  }
  return all;
}

std::string request(int id, const std::vector<std::string>& arguments, Json more = Json::object()) {
  more["id"] = id;
  more["arguments"] = arguments;
  return more.dump() + "\n";
}

TEST(Worker, AnswersAsTheCommandLineDoes) {
  const test::TemporaryFiles files;
  const std::string flagship = scenarios + "telechat3-36b-2048.yaml";
  std::string lines;
  for (const int micro_batch : {1, 2, 4})
    lines += request(micro_batch,
                     {"run", flagship, "--set",
                      "training.micro_batch=" + std::to_string(micro_batch), "--json", "-"});
  lines += request(9, {"schedule", "1f1b", "--pp", "2", "--micro-batches", "4"});
  const auto all = answers(lines, "--jobs 2");
  ASSERT_EQ(all.size(), 4U);
  for (const int micro_batch : {1, 2, 4}) {
    const test::Ran alone = test::stepcast_run(
        files, "run '" + flagship + "' --set training.micro_batch=" + std::to_string(micro_batch) +
                   " --json -");
    EXPECT_EQ(all.at(micro_batch)["output"], alone.out) << micro_batch;
    EXPECT_EQ(all.at(micro_batch)["code"], alone.code);
  }
  EXPECT_EQ(all.at(9)["output"],
            test::stepcast_run(files, "schedule 1f1b --pp 2 --micro-batches 4").out);
}

TEST(Worker, AnswersWithAnyCharacter) {
  const test::TemporaryFiles files;
  const std::string path = "no \"file\" \\ é × 馬 \U0001F40E.yaml";
  const Json answer = answers(request(1, {"run", path})).at(1);
  EXPECT_EQ(answer["complaint"], test::stepcast_run(files, "run '" + path + "'").err);
  EXPECT_NE(answer["complaint"].get<std::string>().find(path), std::string::npos);
}

TEST(Worker, ErrorsHavePlaces) {
  const auto all =
      answers(request(1, {"run", "-", "--json", "-"}, {{"input", "stepcast: 1\nname: A\n"}}));
  const Json& answer = all.at(1);
  EXPECT_EQ(answer["state"], "done");
  EXPECT_EQ(answer["code"], 2);
  std::string texts;
  for (const Json& error : answer["errors"]) {
    EXPECT_EQ(error["file"], "-");
    EXPECT_FALSE(error["message"].get<std::string>().empty());
    texts += error["text"].get<std::string>() + "\n";
    if (error["path"] == "name") {
      EXPECT_EQ(error["line"], 2);
      EXPECT_EQ(error["column"], 7);
    }
  }
  EXPECT_NE(texts.find("-:2:7: name: "), std::string::npos) << texts;
  EXPECT_EQ(answer["complaint"], texts) << "what a terminal shows";
}

TEST(Worker, RelativePathsCountFromTheDirectoryOfTheRequest) {
  const auto all = answers(
      request(1, {"run", "ideal-pipeline.yaml", "--json", "-"}, {{"directory", scenarios}}) +
      request(2, {"run", "ideal-pipeline.yaml"}, {{"directory", "/no/such/folder"}}));
  EXPECT_EQ(all.at(1)["code"], 0);
  EXPECT_EQ(all.at(2)["state"], "failed");
  EXPECT_NE(all.at(2)["message"].get<std::string>().find("/no/such/folder"), std::string::npos);
}

TEST(Worker, RefusesWhatIsNoRequest) {
  const auto refused = [](const std::string& line) { return answers(line + "\n").at(-1); };
  EXPECT_EQ(refused("run it")["state"], "refused");
  EXPECT_EQ(refused("[1]")["message"], "is no JSON object, allowed: one request per line");
  EXPECT_EQ(refused("{}")["message"], "id is missing, allowed: a whole number from 0");
  EXPECT_EQ(refused("{\"cancel\": \"all\"}")["message"],
            "cancel stands alone and names the id of a request");
  EXPECT_EQ(refused("{\"id\": -1}")["state"], "refused");
  const auto all = answers("{\"id\": 1}\n{\"id\": 2, \"arguments\": [\"run\"], \"second\": 1}\n" +
                           request(3, {"worker"}) + request(4, {"no-such-command"}) +
                           request(5, {"run", "--help"}));
  EXPECT_EQ(all.at(1)["message"], "arguments are missing, allowed: those of a command of stepcast");
  EXPECT_EQ(all.at(2)["message"].get<std::string>().substr(0, 16), "second is wrong,");
  EXPECT_EQ(all.at(3)["complaint"], "worker: is not for workers\n");
  EXPECT_EQ(all.at(4)["complaint"],
            "no-such-command: is no command or option, see stepcast --help\n");
  EXPECT_EQ(all.at(5)["code"], 0);
}

// Two plans of minutes: one is asked for and given up, one has no time.
TEST(Worker, EndsWhatIsCancelledOrLate) {
  const std::vector<std::string> slow = {"explain", scenarios + "deepseek-v3-2048.yaml"};
  const auto all =
      answers(request(1, slow) + request(2, slow, {{"seconds", 0.05}}) +
                  request(3, {"schedule", "1f1b", "--pp", "2", "--micro-batches", "4"}) +
                  "{\"cancel\": 1}\n{\"cancel\": 1}\n{\"cancel\": 8}\n",
              "--jobs 1");
  ASSERT_EQ(all.size(), 3U) << "an unknown id has no answer";
  EXPECT_EQ(all.at(1)["state"], "cancelled");
  EXPECT_EQ(all.at(2)["state"], "timeout");
  EXPECT_EQ(all.at(3)["state"], "done") << "it came after them";
}

// With one place: what nobody waits for neither goes first nor keeps the place.
TEST(Worker, BackgroundRequestsKeepNobodyWaiting) {
  const test::TemporaryFiles files;
  const Json unhurried = {{"background", true}, {"seconds", 1}};
  const std::vector<std::string> slow = {"explain", scenarios + "deepseek-v3-2048.yaml"};
  const std::vector<std::string> fast = {"schedule", "1f1b", "--pp", "2", "--micro-batches", "4"};
  const std::string requests =
      request(1, slow, unhurried) + request(2, slow, unhurried) + request(3, fast);
  std::istringstream lines{
      test::stepcast_run(files, "worker --jobs 1", files.write("requests", requests)).out};
  std::vector<int> ids;
  std::string line;
  std::getline(lines, line);  // the greeting
  while (std::getline(lines, line)) ids.push_back(Json::parse(line)["id"]);
  EXPECT_EQ(ids, (std::vector{3, 1, 2}));
}

TEST(Worker, OptionsAreChecked) {
  const test::TemporaryFiles files;
  EXPECT_EQ(test::stepcast_run(files, "worker --memory 1MB").err,
            "--memory: is '1MB', allowed: a size from 64MB, such as 2GiB\n");
  EXPECT_EQ(test::stepcast_run(files, "worker --seconds 0").code, 2);
  EXPECT_EQ(test::stepcast_run(files, "worker --jobs 0").code, 2);
}

TEST(Worker, WritesNoFilesWhenToldSo) {
  const test::TemporaryFiles files;
  const std::string target = files.path("result.json");
  const auto all = answers(request(1, {"run", scenarios + "ideal-pipeline.yaml", "--json", target}),
                           "--no-files");
  EXPECT_EQ(all.at(1)["state"], "failed");
  EXPECT_EQ(test::content(target), "");
}

TEST(Worker, ConfinedItReadsPresetsAndFoldersAlone) {
  const test::TemporaryFiles files;
  const std::string text = test::content(scenarios + "ideal-pipeline.yaml");
  const std::string inside = files.write("here/mine.yaml", text);
  const std::string outside = files.write("there/mine.yaml", text);
  const auto all =
      answers(request(1, {"run", inside}) + request(2, {"run", outside}) +
                  request(3, {"run", "-"}, {{"input", text}}) +
                  request(4, {"run", "-"}, {{"input", "cluster: {extends: /etc/passwd}\n"}}),
              "--confined --folder '" + files.path("here") + "'");
  EXPECT_EQ(all.at(1)["code"], 0) << all.at(1);
  EXPECT_EQ(all.at(2)["code"], 2);
  EXPECT_EQ(all.at(3)["code"], 0) << all.at(3);
  EXPECT_EQ(all.at(4)["code"], 2);
  EXPECT_EQ(test::stepcast_run(files, "worker --folder .").code, 2);
}

TEST(Choices, SayWhichValuesRunAndWhyOthersDoNot) {
  const test::TemporaryFiles files;
  const test::Ran ran =
      test::stepcast_run(files, "choices '" + scenarios +
                                    "telechat3-36b-2048.yaml' parallel.tp=4,7,8 "
                                    "training.recompute=none,ful --set parallel.dp=auto --json -");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json keys = Json::parse(ran.out)["keys"];
  EXPECT_EQ(keys[0]["now"], "8");
  EXPECT_EQ(keys[0]["values"][0]["runs"], true);
  EXPECT_EQ(keys[0]["values"][1]["runs"], false);
  EXPECT_EQ(keys[0]["values"][1]["reason"].get<std::string>().substr(0, 13), "parallel.tp: ");
  EXPECT_EQ(keys[1]["values"][1]["runs"], false);
  // Each verdict is that of `validate` on that value.
  for (const Json& key : keys)
    for (const Json& value : key["values"]) {
      const std::string set =
          key["path"].get<std::string>() + "=" + value["value"].get<std::string>();
      EXPECT_EQ(test::stepcast_run(
                    files, "validate '" + scenarios +
                               "telechat3-36b-2048.yaml' --set parallel.dp=auto --set " + set)
                        .code == 0,
                value["runs"].get<bool>())
          << set;
    }
  EXPECT_EQ(
      test::stepcast_run(files, "choices '" + scenarios + "ideal-pipeline.yaml' parallel.tp").code,
      2);
}

}  // namespace
}  // namespace stepcast
