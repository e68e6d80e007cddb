#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "stepcast/base/version.hpp"
#include "worker.hpp"

namespace stepcast::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Output may hold bytes of a user's file that are no UTF-8.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<std::uint64_t> id_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned()) return {};
  return found->get<std::uint64_t>();
}

/// Fills one key of a request; false: it is none, or of another type.
bool fill(WorkRequest& request, const std::string& key, const Json& value) {
  if (key == "id") return true;
  if (key == "arguments" && value.is_array()) {
    for (const Json& argument : value) {
      if (!argument.is_string()) return false;
      request.arguments.push_back(argument.get<std::string>());
    }
    return true;
  }
  if (key == "input" && value.is_string())
    request.input = value.get<std::string>();
  else if (key == "directory" && value.is_string())
    request.directory = value.get<std::string>();
  else if (key == "seconds" && value.is_number() && value.get<double>() > 0)
    request.seconds = value.get<double>();
  else if (key == "background" && value.is_boolean())
    request.background = value.get<bool>();
  else
    return false;
  return true;
}

WorkerMessage read_object(const Json& json) {
  // A cancellation has no other fields: one that has is a request with a spelling error.
  if (json.contains("cancel")) {
    const auto id = id_of(json, "cancel");
    if (id && json.size() == 1) return CancelRequest{*id};
    return WrongRequest{{}, "cancel stands alone and names the id of a request"};
  }
  const auto id = id_of(json, "id");
  if (!id) return WrongRequest{{}, "id is missing, allowed: a whole number from 0"};
  WorkRequest request{.id = *id};
  for (const auto& [key, value] : json.items()) {
    if (!fill(request, key, value))
      return WrongRequest{id,
                          fmt::format("{} is wrong, allowed: arguments (a list of texts), input "
                                      "and directory (texts), seconds (a number above 0), "
                                      "background (true or false)",
                                      key)};
  }
  if (request.arguments.empty())
    return WrongRequest{id, "arguments are missing, allowed: those of a command of stepcast"};
  return request;
}

Json problems_of(const InputError& error) {
  Json list = Json::array();
  for (const Diagnostic& d : error.diagnostics())
    list.push_back({{"file", d.place.file},
                    {"line", d.place.line},
                    {"column", d.place.column},
                    {"path", d.path},
                    {"message", d.message},
                    {"text", d.text()}});
  return list;
}

/// A text as JSON. Results are long and plain, and the library would decode each of their bytes.
std::string quoted(const std::string& text) {
  std::string json{'"'};
  json.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~';
    if (!plain && c != '\n') return line_of(text);
    if (c == '"' || c == '\\') json += '\\';
    if (plain) json += c;
    if (c == '\n') json += "\\n";
  }
  json += '"';
  return json;
}

/// Without the brace that ends it.
std::string answer(int code, const std::string& output, const std::string& complaint) {
  return fmt::format(R"({{"code":{},"output":{},"complaint":{})", code, quoted(output),
                     quoted(complaint));
}

}  // namespace

std::string presets_json(const std::vector<ListedPreset>& presets) {
  Json list = Json::array();
  for (const ListedPreset& preset : presets)
    list.push_back({{"kind", preset.kind},
                    {"preset", preset.name},
                    {"question", preset.question},
                    {"facts", preset.facts.empty() ? Json(nullptr) : Json(preset.facts)}});
  return Json{{"presets", list}}.dump(2) + "\n";
}

std::string order_of(const WorkRequest& request) {
  return line_of({{"id", request.id},
                  {"arguments", request.arguments},
                  {"input", request.input},
                  {"directory", request.directory}});
}

WorkerMessage read_message(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return WrongRequest{{}, "is no JSON object, allowed: one request per line"};
  return read_object(json);
}

std::string worker_greeting() {
  return line_of({{"stepcast", {{"worker", 1}, {"version", version}}}}) + "\n";
}

std::string answer_of(const WorkRequest& request, const Answering& answering) {
  std::string line;
  // The same text and exit code as the command line gives, so that both can be compared.
  try {
    const Outcome outcome = answering(request.arguments);
    line = answer(outcome.exit_code, outcome.text, outcome.complaint);
    if (!outcome.warnings.empty()) line += ",\"warnings\":" + line_of(outcome.warnings);
  } catch (const InputError& error) {
    line = answer(bad_input, "", std::string(error.what()) + "\n");
    line += ",\"errors\":" + line_of(problems_of(error));
  } catch (const EngineError& error) {
    line = answer(internal_error, "", std::string("engine: ") + error.what() + "\n");
  }
  line += '}';
  return line;
}

std::string done_line(std::uint64_t id, const std::string& answer) {
  std::string line = fmt::format(R"({{"id":{},"state":"done",)", id);
  line.append(answer, 1);
  line += '\n';
  return line;
}

std::string ended_line(std::optional<std::uint64_t> id, const char* state,
                       const std::string& message) {
  Json json{{"id", id ? Json(*id) : Json(nullptr)}, {"state", state}};
  if (!message.empty()) json["message"] = message;
  return line_of(json) + "\n";
}

}  // namespace stepcast::cli
