#include "stepcast/workloads/states.hpp"

#include <algorithm>

namespace stepcast {
namespace {

// Megatron-LM, distributed_data_parallel.py: elements of a bucket, at least and per replica
constexpr double least_bucket = 40e6;
constexpr double bucket_per_replica = 1e6;

}  // namespace

double gradient_bytes(const CommunicationSpec& spec) {
  switch (spec.gradient_precision) {
    case CommunicationSpec::GradientPrecision::fp32:
      return single_bytes;
    case CommunicationSpec::GradientPrecision::bf16:
      break;
  }
  return half_bytes;
}

double optimizer_state_bytes(const TrainingSpec& training) {
  switch (training.master_weights) {
    case TrainingSpec::MasterWeights::full:
      return single_bytes + moment_bytes;
    case TrainingSpec::MasterWeights::remainder:
      break;
  }
  return single_bytes - half_bytes + moment_bytes;
}

double bucket_elements(const CommunicationSpec& spec, double replicas) {
  if (spec.bucket) return static_cast<double>(*spec.bucket);
  return std::max(least_bucket, bucket_per_replica * replicas);
}

}  // namespace stepcast
