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

double gathered_weight_bytes(const TrainingSpec& training) {
  return training.master_weights == TrainingSpec::MasterWeights::stored ? single_bytes
                                                                        : weight_bytes;
}

double least_weight_bytes(const CommunicationSpec& spec) {
  return spec.gather_precision == CommunicationSpec::GatherPrecision::fp8 ? fp8_weight_bytes
                                                                          : weight_bytes;
}

double kept_product_bytes(const CommunicationSpec& spec, std::int64_t zero) {
  // Shards stay in BF16; else what was gathered is kept as it came.
  const bool sharded = zero >= static_cast<std::int64_t>(Shards::parameters);
  return sharded ? weight_bytes : least_weight_bytes(spec);
}

double moment_bytes(const TrainingSpec& training) {
  // As Megatron-LM's precision-aware optimizer keeps them; scales of FP8 are left out
  // (docs/models/memory.md).
  const auto bytes = [](TrainingSpec::Moment moment) {
    switch (moment) {
      case TrainingSpec::Moment::fp32:
        return single_bytes;
      case TrainingSpec::Moment::bf16:
      case TrainingSpec::Moment::fp16:
        return half_bytes;
      case TrainingSpec::Moment::fp8:
        break;
    }
    return half_bytes / 2;
  };
  return bytes(training.first_moment) + bytes(training.second_moment);
}

double moved_master_bytes(const TrainingSpec& training) {
  using Master = TrainingSpec::MasterWeights;
  const bool half =
      training.master_weights == Master::fp16 || training.master_weights == Master::none;
  return half ? half_bytes : single_bytes;
}

double optimizer_state_bytes(const TrainingSpec& training) {
  switch (training.master_weights) {
    case TrainingSpec::MasterWeights::full:
    case TrainingSpec::MasterWeights::stored:  // beside the cast copies, which count as weights
      return single_bytes + moment_bytes(training);
    case TrainingSpec::MasterWeights::remainder:
      // The upper half of the master weight is the BF16 weight.
      return single_bytes - half_bytes + moment_bytes(training);
    case TrainingSpec::MasterWeights::none:
      return moment_bytes(training);
    case TrainingSpec::MasterWeights::fp16:
      break;
  }
  return half_bytes + moment_bytes(training);
}

double bucket_elements(const CommunicationSpec& spec, double replicas) {
  if (spec.bucket) return static_cast<double>(*spec.bucket);
  return std::max(least_bucket, bucket_per_replica * replicas);
}

}  // namespace stepcast
