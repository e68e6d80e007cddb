#include <algorithm>
#include <filesystem>

#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/format_version.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/sim/kernels/components.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

constexpr const char* sources_file = "sources.yaml";

/// Every table is described, and every description has its table.
void check_tables(const fs::path& path, const MeasurementFolder& folder,
                  std::vector<Diagnostic>& wrong) {
  const std::string sources = (path / sources_file).string();
  for (const MeasurementTable& table : folder.tables)
    if (!is_file(path / table.file))
      wrong.push_back(
          {{sources}, "tables", "name '" + table.file + "', allowed: the CSV files of the folder"});
  std::vector<std::string> files;
  for (const fs::path& file : files_in(path, ".csv")) files.push_back(file.filename().string());
  for (const std::string& file : files)
    if (std::ranges::find(folder.tables, file, &MeasurementTable::file) == folder.tables.end())
      wrong.push_back(
          {{(path / file).string()}, {}, "has no source, give it in " + std::string(sources_file)});
}

}  // namespace

const char* name(MeasurementUse use) {
  switch (use) {
    case MeasurementUse::fitted:
      return "fitted";
    case MeasurementUse::goodness_of_fit:
      return "goodness of fit";
    case MeasurementUse::foreign:
      return "foreign";
  }
  return "";
}

void describe(Visitor& visitor, MeasurementFolder& folder) {
  describe_format_version(visitor, true);
  visitor.field(
      {"cluster", &folder.cluster, "cluster file to forecast on, or none", any_number(), true});
  visitor.list(
      "tables", "CSV files of the folder", folder.tables.size(),
      [&](std::size_t size) { folder.tables.resize(size); },
      [&](Visitor& v, std::size_t i) {
        MeasurementTable& t = folder.tables[i];
        v.field({"file", &t.file, "name of the CSV file", any_number(), true});
        // Source, state and licence are required: a table without them could not be checked.
        v.field({"source", &t.source, "repository or page", any_number(), true});
        v.field({"commit", &t.commit, "state of the source", any_number(), true});
        v.field({"licence", &t.licence, "of the source", any_number(), true});
        v.field({"measured", &t.measured, "how it was measured", any_number(), true});
        v.field({"doubts", &t.doubts, "what is not sure", any_number(), true});
        v.field({"use", choice(t.use, {{"fitted"}, {"goodness_of_fit"}, {"foreign"}}),
                 "what the device's numbers owe to it", any_number(), true});
        v.field({"timed", choice(t.timed, {{"device"}, {"host"}}),
                 "whose clock: that of the device holds the kernel alone, that of the host its "
                 "launch as well"});
      });
}

namespace {

MeasurementFolder read(const std::string& path, const SearchPath& search, Reading& reading) {
  const Node root = load_document(path, search);
  const fs::path folder = fs::path(path).parent_path();
  MeasurementFolder found;
  found.name = folder.filename().string();
  read_mapping(root, {}, reading, [&](Visitor& v) { describe(v, found); });
  check_tables(folder.empty() ? fs::path{"."} : folder, found, reading.diagnostics);
  return found;
}

}  // namespace

MeasurementFolder read_measurements(const std::string& path, const SearchPath& search) {
  Reading reading;
  MeasurementFolder found = read(path, search, reading);
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
  return found;
}

std::vector<MeasurementFolder> measurement_folders(const std::string& folder,
                                                   const SearchPath& search) {
  if (!is_folder(folder))
    refuse_input({folder}, {}, "is no folder, allowed: one with a folder per device");
  std::vector<fs::path> paths;
  for (const fs::path& entry : entries_of(folder))
    if (is_there(entry / sources_file)) paths.push_back(entry);
  if (paths.empty())
    refuse_input({folder}, {},
                 "holds no measurements, allowed: folders with a " + std::string(sources_file));
  std::vector<MeasurementFolder> folders;
  folders.reserve(paths.size());
  Reading reading;
  for (const fs::path& path : paths)
    folders.push_back(read((path / sources_file).string(), search, reading));
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
  return folders;
}

}  // namespace stepcast
