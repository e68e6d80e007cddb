#include "experts_json.hpp"

namespace stepcast {

ReportJson quantiles_json(const Quantiles& q) {
  return {{"mean", q.mean}, {"p10", q.p10}, {"p50", q.p50}, {"p90", q.p90}};
}

ReportJson experts_json(const ExpertForecast& e) {
  ReportJson json{{"expert_max_over_mean", e.expert_imbalance},
                  {"rank_max_over_mean", e.rank_imbalance},
                  {"dropped", e.dropped},
                  {"matmul_balanced_s", e.balanced.value()},
                  {"matmul_fullest_s", e.fullest.value()},
                  {"imbalance_cost_s", e.cost.value()},
                  {"module_forward_s", e.module.forward.value()},
                  {"module_backward_s", e.module.backward.value()}};
  if (e.copied > Bytes{0}) json["copied_bytes"] = e.copied.value();
  return json;
}

ReportJson load_steps_json(const LoadSteps& s) {
  ReportJson json{{"count", s.count},
                  {"first", s.first},
                  {"step_time_s", quantiles_json(s.step_time)},
                  {"rank_max_over_mean", quantiles_json(s.rank_imbalance)},
                  {"even_step_time_s", s.even.value()}};
  if (s.relocation)
    json["relocation"] = {{"times", s.relocation->times},
                          {"moved_bytes", s.relocation->moved.value()},
                          {"time_s", s.relocation->time.value()},
                          {"per_step_s", s.relocation->per_step.value()}};
  if (s.skewed) {
    json["skewed_step_time_s"] = s.skewed->value();
    json["gain"] = *s.skewed / s.mean();
  }
  return json;
}

}  // namespace stepcast
