#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/document.hpp"

/// The keys of a file say what it is.
namespace stepcast {

/// Kinds of files, told by their keys (file_kind()).
enum class FileKind {
  scenario,
  check,  ///< a scenario that also says what to expect
  cluster,
  model,
  framework,
  sweep,
  plan,
  orders,        ///< a pipeline schedule, unit by unit
  ratios,        ///< published ratios of step times
  gallery,       ///< techniques beside their published gains
  labels,        ///< of folders of published steps
  differs,       ///< keys of published steps that differ from their scripts
  measurements,  ///< where tables of measured kernels come from
  residuals,     ///< of measured kernels from their forecasts
  hugging_face,  ///< config.json of a checkpoint, a format that is not ours
};

/// Words of a kind, for commands and messages.
struct FileKindInfo {
  FileKind kind;
  std::string_view name;     ///< `plan`, as `stepcast schema` takes it
  std::string_view noun;     ///< `a plan file`
  std::string_view wanted;   ///< `a plan`, as one asks for it
  std::string_view command;  ///< what the file is for: `stepcast plan searches it`
};
/// Has a row per FileKind.
std::span<const FileKindInfo> file_kinds();
const FileKindInfo& info(FileKind kind);

/// What the keys of a merged document say it is; it is nothing when they do not say.
std::optional<FileKind> file_kind(const Node& root);

/// Throws InputError when `kind` is known and is not `wanted`; the message says what the file
/// at `path` is, what to give instead, and which command the file is for. A check is a scenario,
/// too.
void require_kind(std::optional<FileKind> kind, FileKind wanted, const std::string& path);

/// The name of a scenario or sweep that gives none: the stem of its file, in the characters of
/// names.
std::string name_of_file(const std::string& path);

/// Name the keys of whole files, for schemas. Each describes a draft and throws it away.
void describe_scenario_file(Visitor& visitor);
/// Names the keys of a scenario that a prediction depends on.
void describe_varied_keys(Visitor& visitor);
void describe_model_file(Visitor& visitor);

}  // namespace stepcast
