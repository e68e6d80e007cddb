#include "stepcast/sim/accuracy/plain_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "ledger_words.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/report_table.hpp"
#include "stepcast/sim/accuracy/intervals.hpp"
#include "stepcast/sim/forecast/prepare.hpp"

namespace stepcast {
namespace {

/// What of each section belongs to the question; all of a section without keys.
const std::map<std::string, std::vector<std::string>, std::less<>>& keys_of_a_question() {
  static const std::map<std::string, std::vector<std::string>, std::less<>> keys{
      {"stepcast", {}},
      {"name", {}},
      {"framework", {}},
      {"cluster", {}},
      {"model", {}},
      {"parallel", {}},
      {"training",
       {"sequence", "global_batch", "micro_batch", "precision", "fp8_recipe", "recompute",
        "offload"}},
      {"schedule", {"pipeline", "data", "slices", "warmup", "put_off", "post_validation"}},
      {"moe", {"dispatch", "capacity_factor", "capacity_pad", "routing", "overlap"}},
      {"communication", {"gradient"}},
      {"expect", {"step_time", "source"}}};
  return keys;
}

void keep_only(Node& section, const std::vector<std::string>& keys) {
  std::erase_if(section.entries, [&](const Node::Entry& entry) {
    return std::ranges::find(keys, entry.key) == keys.end();
  });
}

constexpr std::array sides{std::pair{"ledger", &PlainRow::ledger},
                           std::pair{"named", &PlainRow::named},
                           std::pair{"assumed", &PlainRow::assumed}};

}  // namespace

ErrorFigures plain_figures(const std::vector<PlainRow>& rows, MeasuredRow PlainRow::*side,
                           const std::string& family) {
  std::vector<double> errors;
  for (const PlainRow& row : rows) {
    const MeasuredRow& measured = row.*side;
    // Refused rows have no error.
    if (measured.failure.empty() && (family.empty() || measured.family == family))
      errors.push_back(measured.forecast / measured.published - 1);
  }
  return figures(std::move(errors));
}

std::vector<std::string> plain_sources(const std::vector<PlainRow>& rows) {
  std::vector<std::string> names;
  for (const PlainRow& row : rows)
    if (std::ranges::find(names, row.ledger.family) == names.end())
      names.push_back(row.ledger.family);
  return names;
}

Node plain_document(const Node& row, PlainFramework framework) {
  Node plain = row;
  std::erase_if(plain.entries, [&](const Node::Entry& entry) {
    return !keys_of_a_question().contains(entry.key) ||
           (entry.key == "framework" && framework == PlainFramework::assumed);
  });
  for (Node::Entry& entry : plain.entries) {
    const auto& keys = keys_of_a_question().find(entry.key)->second;
    if (!keys.empty()) keep_only(entry.value, keys);
  }
  if (Node* communication = plain.find("communication"))
    if (Node* gradient = communication->find("gradient")) keep_only(*gradient, {"overlap"});
  // How a framework deals its layers out is its own; a list is the run's.
  if (Node* parallel = plain.find("parallel"))
    std::erase_if(parallel->entries, [](const Node::Entry& entry) {
      return entry.key == "layers_per_chunk" && entry.value.text == "even";
    });
  return plain;
}

std::vector<PlainRow> measure_plain(const std::string& folder, const SearchPath& search,
                                    int workers) {
  std::vector<PublishedRow> rows = published_rows(folder, search);
  std::erase_if(rows, [](const PublishedRow& row) {
    return row.scenario.synthetic || row.label == RowLabel::superseded;
  });
  const std::vector<MeasuredRow> ledger = measure(rows, workers);
  std::vector<PlainRow> result;
  result.reserve(ledger.size());
  for (const MeasuredRow& row : ledger) result.push_back({row, row, row});
  // Once with the row's own framework, once with the one that its device makes us assume.
  for (const PlainFramework framework : {PlainFramework::named, PlainFramework::assumed}) {
    const auto side = framework == PlainFramework::named ? &PlainRow::named : &PlainRow::assumed;
    std::vector<PublishedRow> plain;
    std::vector<std::size_t> of;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string path = (std::filesystem::path(folder) / rows[i].file).string();
      try {
        PublishedRow row = rows[i];
        row.scenario = prepare_scenario({plain_document(load_document(path, search), framework),
                                         path, rows[i].scenario.question},
                                        search);
        plain.push_back(std::move(row));
        of.push_back(i);
      } catch (const InputError& error) {
        (result[i].*side).failure = error.what();
      }
    }
    std::vector<MeasuredRow> measured = measure(plain, workers);
    for (std::size_t k = 0; k < of.size(); ++k) result[of[k]].*side = std::move(measured[k]);
  }
  return result;
}

std::string plain_text(const std::vector<PlainRow>& rows) {
  ReportTable sources({text_column("source"), number_column("rows"), number_column("as written"),
                       number_column("bias"), number_column("plain, named"), number_column("bias"),
                       number_column("plain, assumed"), number_column("bias")});
  const auto line = [&](const std::string& name, const std::string& family) {
    const ErrorFigures ledger = plain_figures(rows, &PlainRow::ledger, family);
    const ErrorFigures named = plain_figures(rows, &PlainRow::named, family);
    const ErrorFigures assumed = plain_figures(rows, &PlainRow::assumed, family);
    std::vector<std::string> cells{name, std::to_string(ledger.rows)};
    for (const ErrorFigures& f : {ledger, named, assumed}) {
      cells.push_back(fmt::format("{:.1f}", 100 * f.mean));
      cells.push_back(fmt::format("{:+.1f}", 100 * f.bias));
    }
    sources.add(std::move(cells));
  };
  for (const std::string& family : plain_sources(rows)) line(family, family);
  line("all", "");
  std::string text = sources.text() + "\n";
  text += ledger_words::intervals_table("plain, assumed", plain_classes(rows)).text();
  text +=
      "\nMean error of step times [%]. Plain: cluster, model, plan, sizes, precision and "
      "recomputation alone; with\n"
      "the framework of the row named, or that of its device assumed.\n";
  // Refused rows are listed, as they are missing from the means above.
  for (const PlainRow& row : rows)
    for (const auto& [name, side] : sides)
      if (!(row.*side).failure.empty())
        text += fmt::format("refused, {}: {}\n", name, (row.*side).failure);
  return text;
}

}  // namespace stepcast
