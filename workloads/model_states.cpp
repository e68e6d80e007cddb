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
  const double parameters = count_parameters(spec.model).total;
  // Weights of products that stay in the form in which they are gathered.
  const double saved = weight_bytes - kept_product_bytes(spec.communication, spec.plan.zero);
  return {.parameters = Bytes{weight_bytes * parameters - saved * model_products(spec.model)},
          .gradients = Bytes{gradient_bytes(spec.communication) * parameters},
          .optimizer = Bytes{optimizer_state_bytes(spec.training) * parameters}};
}

}  // namespace stepcast
