#pragma once
#include "wrong_host.hpp"

namespace stepcast::test {

inline constexpr const char* states_alone =
    "model.linear_attention={key_heads: 8, value_heads: 8, key_dim: 64, value_dim: 64}";

/// Keys of softmax attention where no layer has it.
inline const WrongOverride wrong_softmax[] = {
    {"a_kernel_of_missing_softmax",
     {states_alone, "training.attention=unfused"},
     "--set training.attention=unfused: training.attention: is not fused but no layer has softmax "
     "attention (model.linear_attention.full_every 0), allowed: fused"},
    {"padded_heads_of_missing_softmax",
     {"model.attention={kind: mla, heads: 16, kv_lora_rank: 128, nope_dim: 64, rope_dim: 32, "
      "v_dim: 64}",
      states_alone, "training.attention_head=128"},
     "--set training.attention_head=128: training.attention_head: is set but no layer has softmax "
     "attention (model.linear_attention.full_every 0), allowed: none"},
    {"cores_of_missing_softmax",
     {states_alone, "training.recompute={modules: [core_attn, moe_act]}"},
     "--set training.recompute={modules: [core_attn, moe_act]}: training.recompute: names "
     "core_attn but no layer has softmax attention (model.linear_attention.full_every 0), "
     "allowed: without it"},
    {"selective_of_missing_softmax",
     {states_alone, "training.recompute=selective"},
     "--set training.recompute=selective: training.recompute: is selective but no layer has "
     "softmax attention (model.linear_attention.full_every 0), allowed: none, full, a table, "
     "modules without core_attn"},
};

}  // namespace stepcast::test
