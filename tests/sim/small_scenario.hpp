#pragma once
#include <string_view>

namespace stepcast::test {

/// A small scenario in one file: every section is there, so that a test can spoil any line of it.
inline constexpr std::string_view small_scenario =
    R"(# question: does the reader find every mistake?
stepcast: 1
name: small
cluster:
  name: two-servers
  device:
    name: chip
    matmul_peak: {value: 300TFLOPS, source: datasheet, note: "dense BF16"}
    vector_peak: 20TFLOPS
    cores: {cube: 20, vector: 40}
    memory: {capacity: 64GiB, bandwidth: 1.6TB/s, reserve: 6GiB}
    efficiency:
      matmul: {peak: 0.9, tile_m: 128, tile_n: 256, fill: 64}
      vector: {value: 0.7, source: assumed}
    launch: {matmul: 5us, vector: 2us, communication: 10us}
  host:
    dispatch: {matmul: 8us, vector: 6us, communication: 15us}
    queue_depth: 1024
  node:
    devices: 8
    fabric: {kind: mesh, link: {bandwidth: 28GB/s, latency: 0.5us}, efficiency: 0.8}
  super_node: none
  network:
    nic: {per: device, bandwidth: 200Gbps, latency: 1.5us, efficiency: 0.9}
    topology: {kind: rail_optimized, leaf_ports: 64, oversubscription: 1}
  collectives: {library: hccl, buffer: 200MiB, step_latency: 60us}
  devices: 16
model:
  name: tiny
  layers: 8
  hidden: 1024
  attention: {kind: gqa, heads: 16, kv_heads: 4, head_dim: 64}
  ffn: {kind: swiglu, hidden: 4096}
  moe: {first_dense: 1, experts: 8, top_k: 2, expert_hidden: 512}
  vocabulary: 32000
parallel:
  tp: 2
  pp: 2
  vpp: 2
  cp: 1
  ep: 4
  dp: auto
  sequence_parallel: true
training:
  sequence: 2048
  global_batch: 32
  micro_batch: 1
schedule:
  pipeline: interleaved_1f1b
expect:
  step_time: {value: 1.5s, tolerance: 1%}
)";

/// The model of small_scenario without its experts, as a Hugging Face config.json.
inline constexpr const char* small_llama_config =
    R"({"model_type": "llama", "num_hidden_layers": 8, "hidden_size": 1024, "vocab_size": 32000,
    "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 4096, "hidden_act": "silu",
    "tie_word_embeddings": false})";

}  // namespace stepcast::test
