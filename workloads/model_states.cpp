#include "adapters.hpp"
#include "parameter_groups.hpp"
#include "stepcast/workloads/memory.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

/// Weights of products of all layers and MTP modules, each once.
double model_products(const ModelSpec& model) {
  double sum = static_cast<double>(model.mtp_layers) * mtp_product_parameters(model).sum();
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    sum += product_parameters(model, parts_of(model, layer)).sum();
  return sum;
}

}  // namespace

ModelStates states_of(const WorkloadSpec& spec) {
  const AdapterSpec& adapters = spec.training.adapters;
  const double frozen = count_parameters(spec.model).total;
  double beside = 0;
  for (std::int64_t layer = 0; layer < spec.model.layers; ++layer)
    beside += adapter_parameters(spec.model, adapters, parts_of(spec.model, layer)).sum();
  const double trained = adapters.any() ? beside : frozen;
  const double packed = adapters.any() ? weight_bytes - frozen_bytes(adapters) : 0;
  // Weights of products that stay in the form in which they are gathered.
  const double saved = weight_bytes - kept_product_bytes(spec.communication, spec.plan.zero);
  return {.parameters = Bytes{weight_bytes * (frozen + beside) -
                              (saved + packed) * model_products(spec.model)},
          .gradients = Bytes{gradient_bytes(spec.communication) * trained},
          .optimizer = Bytes{optimizer_state_bytes(spec.training) * trained}};
}

}  // namespace stepcast
