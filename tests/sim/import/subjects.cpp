#include "subjects.hpp"

#include <fstream>
#include <functional>
#include <sstream>

namespace stepcast::import_tests {
namespace {

/// A line of CSV; quoted fields may hold commas.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> all(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      all.emplace_back();
    else
      all.back() += c;
  }
  return all;
}

std::string text(std::int64_t value) { return std::to_string(value); }

std::string expert_value(const ExpertSpec& moe, const std::string& column) {
  if (column == "experts") return text(moe.experts);
  if (column == "top_k") return text(moe.top_k);
  if (column == "expert_hidden") return text(moe.expert_hidden);
  if (column == "shared_hidden") return text(moe.shared_experts * moe.shared_hidden);
  if (column == "first_dense") return text(moe.first_dense);
  return {};
}

}  // namespace

std::string data_path(const std::string& file) {
  return std::string(STEPCAST_SOURCE_DIR) + "/tests/sim/import/data/" + file;
}

std::vector<Subject> subjects() {
  std::ifstream stream(data_path("subjects.csv"));
  std::string line;
  std::getline(stream, line);
  const std::vector<std::string> columns = fields_of(line);
  std::vector<Subject> all;
  while (std::getline(stream, line)) {
    const std::vector<std::string> fields = fields_of(line);
    Subject subject{fields[0], fields[1], {}, {}};
    if (!fields[2].empty()) subject.options.devices = std::stoll(fields[2]);
    subject.options.cluster = fields[3];
    std::istringstream sets(fields[4]);
    for (std::string set; sets >> set;) subject.options.overrides.push_back(set);
    for (std::size_t i = 5; i < fields.size(); ++i)
      if (!fields[i].empty()) subject.values[columns[i]] = fields[i];
    all.push_back(std::move(subject));
  }
  return all;
}

std::string imported_value(const Scenario& scenario, const std::string& column) {
  const ModelSpec& model = scenario.workload.model;
  const ParallelPlan& plan = scenario.workload.plan;
  const TrainingSpec& training = scenario.workload.training;
  const auto* gqa = std::get_if<GroupedQueryAttention>(&model.attention);
  const std::map<std::string, std::int64_t> counts{{"devices", scenario.cluster.devices},
                                                   {"layers", model.layers},
                                                   {"hidden", model.hidden},
                                                   {"ffn", model.ffn.hidden},
                                                   {"vocabulary", model.vocabulary},
                                                   {"sequence", training.sequence},
                                                   {"mtp", model.mtp_layers},
                                                   {"tp", plan.tp},
                                                   {"pp", plan.pp},
                                                   {"vpp", plan.vpp},
                                                   {"cp", plan.cp},
                                                   {"ep", plan.ep},
                                                   {"etp", plan.etp},
                                                   {"dp", plan.dp},
                                                   {"micro_batch", training.micro_batch},
                                                   {"global_batch", training.global_batch},
                                                   {"micro_batches", scenario.micro_batches()},
                                                   {"zero", plan.zero}};
  if (const auto found = counts.find(column); found != counts.end()) return text(found->second);
  if (column == "heads")
    return text(std::visit([](const auto& a) { return a.heads; }, model.attention));
  if (column == "kv_heads") return gqa == nullptr ? "mla" : text(gqa->kv_heads);
  if (column == "head_dim") return gqa == nullptr ? "" : text(gqa->head_dim);
  if (column == "sequence_parallel") return plan.sequence_parallel ? "true" : "false";
  if (column == "recompute") return name(training.recompute);
  return model.moe ? expert_value(*model.moe, column) : "";
}

}  // namespace stepcast::import_tests
