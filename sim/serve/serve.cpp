#include "stepcast/sim/serve/serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "answers.hpp"
#include "http.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/module.hpp"
#include "stepcast/base/node_at.hpp"
#include "stepcast/base/version.hpp"
#include "stepcast/sim/import/import.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "stepcast/sim/scenario/scenario.hpp"
#include "worker_client.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t most_settings = 500, longest_value = 4096, longest_text = 1U << 20U;
constexpr std::size_t longest_name = 64;  ///< of a tab and of a slot, which are remembered
constexpr double background_seconds = 60;
constexpr const char* seeds_of_bands = "8";  // p10 and p90 are then the least and the greatest

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The presets of one kind in the folders, as scenarios and imports name them.
Json presets_below(const std::vector<fs::path>& folders, const std::string& kind) {
  std::set<std::string> names;
  for (const fs::path& folder : folders) {
    for (const fs::path& file : files_in(folder / kind, ".yaml"))
      names.insert(kind == "frameworks" ? file.stem().string()
                                        : kind + "/" + file.filename().string());
  }
  return names;
}

/// What a search should find a scenario by, beside its name and its question.
std::string about(const Node& document) {
  std::string words;
  for (const char* path : {"cluster.name", "cluster.device.name", "model.name", "framework"}) {
    const Node* found = node_at(document, path);
    if (found != nullptr && found->kind == Node::Kind::scalar)
      words += (words.empty() ? "" : " ") + found->text;
  }
  return words;
}

/// A question is malformed; the text says how.
struct Malformed {
  std::string text;
};

bool is_key(const std::string& text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  return !text.empty() && text.front() != '-' && text.size() < 200 &&
         std::ranges::all_of(text, fits);
}

std::string string_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string())
    throw Malformed{std::string(key) + " is missing or no text"};
  return found->get<std::string>();
}

/// A command line and what it reads.
struct Question {
  std::vector<std::string> arguments;
  std::string input;
  std::string directory = {};  ///< that the input's relative paths count from; empty: any
  bool json = true, background = false;
};

std::vector<std::string> settings_of(const Json& body) {
  std::vector<std::string> words;
  const auto set = body.find("set");
  if (set == body.end()) return words;
  if (!set->is_object() || set->size() > most_settings) throw Malformed{"set is no mapping"};
  for (const auto& [key, value] : set->items()) {
    if (!is_key(key)) throw Malformed{"'" + key + "' is no key"};
    if (!value.is_string() || value.get<std::string>().size() > longest_value)
      throw Malformed{key + " is no text of at most 4096 bytes"};
    words.insert(words.end(), {"--set", key + "=" + value.get<std::string>()});
  }
  return words;
}

std::vector<std::string> keys_of(const Json& body) {
  std::vector<std::string> words;
  const auto keys = body.find("keys");
  // Checked word by word: these become arguments of a command line.
  if (keys == body.end() || !keys->is_object() || keys->empty())
    throw Malformed{"keys is missing or no mapping"};
  for (const auto& [key, values] : keys->items()) {
    if (!is_key(key) || !values.is_array() || values.empty())
      throw Malformed{"'" + key + "' is no key with values"};
    std::string text = key + "=";
    for (const Json& value : values) {
      if (!value.is_string() || !is_key(value.get<std::string>()))
        throw Malformed{"a value of " + key + " is no word"};
      text += (text.back() == '=' ? "" : ",") + value.get<std::string>();
    }
    words.push_back(text);
  }
  return words;
}

/// Variables that a launch script finds set.
std::vector<std::string> environment_of(const Json& body) {
  std::vector<std::string> words;
  const auto env = body.find("env");
  if (env == body.end()) return words;
  if (!env->is_array() || env->size() > most_settings) throw Malformed{"env is no list"};
  for (const Json& one : *env) {
    const std::string text = one.is_string() ? one.get<std::string>() : "";
    if (text.size() > longest_value || !is_key(text.substr(0, text.find('='))))
      throw Malformed{"env has an entry that is no NAME=VALUE of at most 4096 bytes"};
    words.insert(words.end(), {"--env", text});
  }
  return words;
}

/// What a launch file does not say itself.
std::vector<std::string> launch_of(const Json& body) {
  std::vector<std::string> words;
  for (const char* name : {"from", "devices", "cluster"}) {
    if (!body.contains(name)) continue;
    const std::string text = string_at(body, name);
    const auto end = [](const std::string& part) { return part.substr(part.find('/') + 1); };
    if (!is_key(text) && !(text.starts_with("clusters/") && is_key(end(text))))
      throw Malformed{std::string(name) + " is no word"};
    words.insert(words.end(), {std::string("--") + name, text});
  }
  const std::vector<std::string> environment = environment_of(body);
  words.insert(words.end(), environment.begin(), environment.end());
  return words;
}

/// The words of one command; `source` is a path or `-`.
Question question_of(std::string_view what, const Json& body, const std::string& source,
                     std::string input) {
  const std::vector<std::string> set = settings_of(body);
  Question q{{}, std::move(input)};
  const auto add = [&](const std::vector<std::string>& words) {
    q.arguments.insert(q.arguments.end(), words.begin(), words.end());
  };
  if (what == "forecast") {
    add({"run", source, "--json", "-"});
    q.background = body.value("background", false);
  } else if (what == "edit") {
    add({"edit", source});
    q.json = false;
  } else if (what == "import") {
    add({"import", source});
    add(launch_of(body));
    q.json = false;
  } else if (what == "pipeline") {
    add({"run", source, "--pipeline", "--operators", "--json", "-"});
  } else if (what == "choices") {
    add({"choices", source});
    add(keys_of(body));
    add({"--json", "-"});
  } else if (what == "explain") {
    add({"explain", source, "--json", "-"});
    q.background = true;
  } else if (what == "bands") {
    add({"run", source, "--seeds", seeds_of_bands, "--json", "-"});
    q.background = true;
  } else {
    const std::string devices = string_at(body, "devices");
    if (!std::ranges::all_of(devices, [](char c) { return (c >= '0' && c <= '9') || c == ','; }))
      throw Malformed{"devices is no list of numbers"};
    add({"scale", source, "--devices", devices, "--json", "-"});
    q.background = true;
  }
  add(set);
  return q;
}

std::string request_of(const Question& question) {
  Json json{{"arguments", question.arguments}};
  if (!question.input.empty()) json["input"] = question.input;
  if (!question.directory.empty()) json["directory"] = question.directory;
  if (question.background) {
    json["background"] = true;
    json["seconds"] = background_seconds;
  }
  return text_of(json).substr(1);
}

/// Of which question this is a newer one: those of another tab or kind go on.
std::string slot_of(std::string_view what, const Json& body) {
  const std::string tab = string_at(body, "tab"), slot = body.value("slot", std::string("b"));
  if (std::max(tab.size(), slot.size()) > longest_name)
    throw Malformed{"tab or slot is longer than 64 bytes"};
  return tab + "/" + slot + "/" + std::string(what);
}

/// A newer forecast makes what was asked about the older one idle; curves and sweeps go on until
/// they are stopped.
std::vector<std::string> ended_by(std::string_view what, const Json& body) {
  std::vector<std::string> slots;
  if (what == "forecast")
    for (const char* other : {"bands", "choices", "edit", "explain", "pipeline"})
      slots.push_back(slot_of(other, body));
  return slots;
}

ApiAnswer answered(const std::string& line, const Json& body, bool is_json) {
  if (line.empty()) return refused(503, "the worker ended, ask again");
  const Json answer = Json::parse(line);
  const std::string state = answer["state"];
  if (state == "cancelled") return refused(409, "a newer question took its place");
  if (state == "timeout")
    return refused(503, "it takes longer than a page may wait, run it on the command line");
  // Any other end has a message of the worker.
  if (state != "done") return refused(503, answer.value("message", state));
  if (answer["code"] == 0) {
    const std::string output = answer["output"];
    const Json warnings = answer.value("warnings", Json::array());
    return {200, fmt::format(R"({{"seq":{},"answer":{}{}}})", body["seq"].get<std::uint64_t>(),
                             is_json ? output : text_of(Json(output)),
                             warnings.empty() ? "" : ",\"warnings\":" + text_of(warnings))};
  }
  // Exit code 2 is an error of the question; all others are the program's.
  if (answer["code"] != 2) return refused(500, answer["complaint"]);
  Json errors = answer.value("errors", Json::array());
  if (errors.empty()) errors.push_back({{"path", ""}, {"text", answer["complaint"]}});
  return {422, text_of(Json{{"errors", errors}})};
}

/// What the page may ask: each question is a command line of `stepcast`, put together here from
/// checked parts, so that nothing else reaches the worker.
class Api : public Answers {
 public:
  Api(std::vector<std::string> worker, const std::vector<fs::path>& folders)
      : worker_{std::move(worker)} {
    const SearchPath search{folders};
    const auto add = [&](const fs::path& folder, const std::string& prefix) {
      for (const fs::path& file : files_in(folder, ".yaml")) {
        const std::string name = prefix + file.filename().string();
        if (find(name) != nullptr) continue;
        try {
          const std::string text = read_document_text(file.string(), search);
          const Node document = load_document_text(text, file.string(), search);
          const auto kind = file_kind(document);
          if (kind != FileKind::scenario && kind != FileKind::check) continue;
          presets_.push_back(
              {name, file, stepcast::question_of(std::string_view(text)), text, about(document)});
        } catch (const InputError&) {  // not offered; who opens it sees why
        }
      }
    };
    for (const fs::path& folder : folders) {
      add(folder, "");
      add(folder / "what-if", "what-if/");
    }
    std::ranges::sort(presets_, {}, &Preset::name);
    Json list = Json::array();
    for (const Preset& preset : presets_)
      list.push_back(
          {{"name", preset.name}, {"question", preset.question}, {"about", preset.about}});
    hello_ = text_of(Json{{"stepcast", {{"format", 1}, {"version", version}}},
                          {"presets", list},
                          {"clusters", presets_below(folders, "clusters")},
                          {"models", presets_below(folders, "models")},
                          {"frameworks", presets_below(folders, "frameworks")},
                          {"engines", {"fast", "simgrid"}},
                          {"launch_kinds", import_kinds()}});
  }

  ApiAnswer post(std::string_view what, const std::string& text) override {
    const Json body = Json::parse(text, nullptr, false);
    if (body.is_discarded() || !body.is_object())
      return refused(400, "the question is no JSON object");
    try {
      // Each question has a number, so that a late answer to an older one is not shown.
      const auto seq = body.find("seq");
      if (seq == body.end() || !seq->is_number_unsigned()) throw Malformed{"seq is missing"};
      const auto scenario = body.find("scenario");
      if (scenario == body.end() || !scenario->is_object()) throw Malformed{"scenario is missing"};
      std::string source = "-", input, directory;
      if (scenario->contains("text")) {
        input = string_at(*scenario, "text");
        if (input.size() > longest_text) throw Malformed{"the scenario is longer than 1 MiB"};
        // A text that was edited still extends files beside its origin.
        if (scenario->contains("of")) {
          const Preset* origin = find(string_at(*scenario, "of"));
          if (origin == nullptr) return refused(404, "no scenario is called that");
          directory = origin->path.parent_path().string();
        }
      } else {
        const Preset* preset = find(string_at(*scenario, "preset"));
        if (preset == nullptr) return refused(404, "no scenario is called that");
        source = preset->path.string();
      }
      Question question = question_of(what, body, source, std::move(input));
      // Relative paths of a text are those of that folder.
      question.directory = std::move(directory);
      const std::string line = worker_.ask(request_of(question), slot_of(what, body),
                                           seq->get<std::uint64_t>(), ended_by(what, body));
      return answered(line, body, question.json);
    } catch (const Malformed& malformed) {
      return refused(400, malformed.text);
    } catch (const Json::exception& error) {
      return refused(400, "the question is malformed");
    }
  }

  std::string hello() const override { return hello_; }

  ApiAnswer preset(const std::string& name) const override {
    const Preset* preset = find(name);
    if (preset == nullptr) return refused(404, "no scenario is called '" + name + "'");
    return {200, text_of(Json{{"name", name}, {"text", preset->text}})};
  }

 private:
  struct Preset {
    std::string name;
    std::filesystem::path path;
    std::string question, text, about;
  };

  const Preset* find(const std::string& name) const {
    const auto found = std::ranges::find(presets_, name, &Preset::name);
    return found == presets_.end() ? nullptr : &*found;
  }

  std::vector<Preset> presets_;
  std::string hello_;
  WorkerClient worker_;
};

}  // namespace

const std::string& http_fingerprint();  // cmake/fingerprint.cmake

void serve_page(const ServeSettings& settings, const std::function<void(int port)>& ready) {
  auto* const serve_http =
      reinterpret_cast<ServeHttp*>(module_entry("http", "stepcast_serve_http", http_fingerprint()));
  Api api{settings.worker, settings.folders};
  if (!serve_http(settings, api, ready))
    refuse_input({}, "--port",
                 "is not free on " + settings.host + ", allowed: another one, or 0 for any");
}

}  // namespace stepcast
