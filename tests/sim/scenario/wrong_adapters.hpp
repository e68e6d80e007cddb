#pragma once
#include "wrong_host.hpp"

namespace stepcast::test {

inline const std::string adapters_of_attention =
    "training.adapters.targets={modules: [query, key, value, attention_out]}";

/// Adapters, what they do not go with, and keys of them that change nothing.
inline const WrongOverride wrong_adapters[] = {
    {"adapters_without_rank",
     {"training.adapters.dropout=true", "training.adapters.frozen=nf4"},
     "--set training.adapters.dropout=true: training.adapters.dropout: is given but "
     "training.adapters.rank is 0, so that no adapter exists, allowed: a rank, or without it\n"
     "--set training.adapters.frozen=nf4: training.adapters.frozen: is given but "
     "training.adapters.rank is 0, so that no adapter exists, allowed: a rank, or without it"},
    {"adapters_of_experts",
     {"training.adapters.rank=16"},
     "--set training.adapters.rank=16: training.adapters.targets: has products of feed-forward "
     "parts but the model has experts, "
     "whose adapters are not known, allowed: {modules: [query, key, value, attention_out]}"},
    {"adapters_that_ranks_do_not_share",
     {"training.adapters.rank=5", adapters_of_attention},
     "--set training.adapters.rank=5: training.adapters.rank: is 5, must be a multiple of tp = 2, "
     "over which it is split, allowed: such a rank, or split: one"},
    {"an_adapter_of_keys_alone",
     {"training.adapters.rank=16", "training.adapters.targets={modules: [key, attention_out]}"},
     "--set training.adapters.targets={modules: [key, attention_out]}: training.adapters.targets: "
     "names a part of query, key and value, which have one adapter together, allowed: all three, "
     "none, or products: apart"},
    {"parts_of_what_has_none",
     {"training.adapters.rank=16", "training.adapters.targets={modules: [attention_out]}",
      "training.adapters.products=apart"},
     "--set training.adapters.products=apart: training.adapters.products: is apart but no target "
     "is "
     "made of several products, allowed: joined, or targets such as query"},
    {"a_gate_that_is_not_there",
     {"model.moe=none", "parallel.ep=1", "model.ffn.kind=gelu", "training.adapters.rank=16",
      "training.adapters.targets={modules: [gate, up]}"},
     "--set training.adapters.targets={modules: [gate, up]}: training.adapters.targets: names gate "
     "but the activation has none, allowed: without gate"},
    {"one_side_of_nothing_split",
     {"parallel.tp=1", "parallel.sequence_parallel=false", "training.adapters.rank=16",
      adapters_of_attention, "training.adapters.split=one"},
     "--set training.adapters.split=one: training.adapters.split: is one but parallel.tp is 1, so "
     "that nothing is split, allowed: both"},
    {"frozen_weights_that_are_gathered_as_fp8",
     {"cluster.device.matmul_peak_fp8=600TFLOPS", "training.precision=fp8_mixed", "parallel.zero=1",
      "communication.parameter.precision=fp8", "training.adapters.rank=16", adapters_of_attention},
     "--set communication.parameter.precision=fp8: communication.parameter.precision: is fp8 but "
     "training.adapters leaves weights as they are, allowed: bf16"},
    {"packed_weights_of_experts",
     {"training.adapters.rank=16", adapters_of_attention, "training.adapters.frozen=nf4"},
     "--set training.adapters.frozen=nf4: training.adapters.frozen: packs weights but the model "
     "has "
     "experts, whose kernels read BF16, allowed: bf16"},
    {"packed_weights_that_are_sharded",
     {"model.moe=none", "parallel.ep=1", "parallel.zero=3", "training.adapters.rank=16",
      "training.adapters.frozen=nf4"},
     "--set training.adapters.frozen=nf4: training.adapters.frozen: packs weights but "
     "parallel.zero is 3, and how they are gathered is not known, allowed: bf16"},
    {"a_reduction_before_no_product",
     {"training.adapters.rank=16", adapters_of_attention, "communication.tensor.backward=serial"},
     "--set communication.tensor.backward=serial: communication.tensor.backward: is serial, before "
     "products for weights, but training.adapters leaves weights as they are, allowed: overlapped"},
};

}  // namespace stepcast::test
