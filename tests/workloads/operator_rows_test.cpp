#include "operator_rows.hpp"

/// Each row of a dense layer, of latent attention, of embedding, head and MTP module.
namespace stepcast {
namespace {

using namespace lowering;

constexpr double s = 2048, b = 2, n = b * s, h = 1024, f = 4096, V = 32000;

/// Tensor ranks with sequence parallelism, two sequences.
WorkloadSpec sharded(const ModelSpec& model, std::int64_t tp) {
  WorkloadSpec spec = workload(model);
  spec.training.micro_batch = 2;
  spec.plan.tp = tp;
  spec.plan.sequence_parallel = tp > 1;
  return spec;
}

// A gradient is squared and added up; what it is read with depends on its type.
TEST(OperatorRows, OfTheGradientNorm) {
  const Operator norm = gradient_norm(1000, 4);
  EXPECT_EQ(norm.flops, Flops{2000});
  EXPECT_EQ(norm.bytes, Bytes{4000});
}

TEST(OperatorRows, OfADenseLayer) {
  const double t = 4, own = n / t, q = 16 * 64 / t, kv = 8 * 64 / t;
  const double scores = b * s * s * 16 / t, operands = 2 * n * (2 * q + 2 * kv) + 4 * n * 16 / t;
  const Passes layer = transformer_layer(context(sharded(small_dense(), 4)), LayerKind::dense);
  expect_rows(layer.forward, {each("attention norm", own * h, 4, 4),
                              product("qkv", n, h, q + 2 * kv),
                              each("rope", n * (q + kv), 6, 4),
                              {"attention", scores * 2 * 64, operands},
                              product("attention out", n, q, h),
                              each("attention residual", own * h, 1, 6),
                              each("feed-forward norm", own * h, 4, 4),
                              product("feed-forward up", n, h, 2 * f / t),
                              each("feed-forward activation", n * f / t, 6, 6),
                              product("feed-forward down", n, f / t, h),
                              each("feed-forward residual", own * h, 1, 6)});
  expect_rows(layer.backward, {dgrad("feed-forward down", n, f / t, h),
                               wgrad("feed-forward down", n, f / t, h),
                               each("feed-forward activation backward", n * f / t, 10, 10),
                               dgrad("feed-forward up", n, h, 2 * f / t),
                               wgrad("feed-forward up", n, h, 2 * f / t),
                               each("feed-forward norm backward", own * h, 8, 8),
                               each("feed-forward residual backward", own * h, 1, 6),
                               dgrad("attention out", n, q, h),
                               wgrad("attention out", n, q, h),
                               {"attention backward", 2.5 * scores * 2 * 64, 2 * operands},
                               each("rope backward", n * (q + kv), 6, 4),
                               dgrad("qkv", n, h, q + 2 * kv),
                               wgrad("qkv", n, h, q + 2 * kv),
                               each("attention norm backward", own * h, 8, 8),
                               each("attention residual backward", own * h, 1, 6)});
}

TEST(OperatorRows, OfALayerWithBiasesDropoutAndLayerNorms) {
  ModelSpec model = small_dense();
  model.norm = ModelSpec::Norm::layer;
  model.ffn.kind = FeedForwardSpec::Kind::gelu;
  model.position = ModelSpec::Position::learned;
  model.bias = ModelSpec::Bias::all;
  WorkloadSpec spec = sharded(model, 1);
  spec.training.dropout = true;
  spec.communication.gradient_precision = CommunicationSpec::GradientPrecision::bf16;
  const double q = 1024, kv = 512, scores = b * s * s * 16;
  const double operands = 2 * n * (2 * q + 2 * kv) + 4 * n * 16;
  const Passes layer = transformer_layer(context(spec), LayerKind::dense);
  expect_rows(layer.forward, {each("attention norm", n * h, 7, 4),
                              product("qkv", n, h, q + 2 * kv),
                              each("qkv bias", n * (q + 2 * kv), 1, 4),
                              {"attention", scores * 2 * 64, operands},
                              product("attention out", n, q, h),
                              each("attention residual", n * h, 1, 7),
                              each("feed-forward norm", n * h, 7, 4),
                              product("feed-forward up", n, h, f),
                              each("feed-forward activation", n * f, 8, 4),
                              product("feed-forward down", n, f, h),
                              each("feed-forward residual", n * h, 1, 7)});
  expect_rows(layer.backward, {each("feed-forward dropout backward", n * h, 2, 5),
                               dgrad("feed-forward down", n, f, h),
                               wgrad("feed-forward down", n, f, h, 2),
                               each("feed-forward down bias gradient", n * h, 1, 2),
                               each("feed-forward activation backward", n * f, 13, 6),
                               dgrad("feed-forward up", n, h, f),
                               wgrad("feed-forward up", n, h, f, 2),
                               each("feed-forward up bias gradient", n * f, 1, 2),
                               each("feed-forward norm backward", n * h, 14, 8),
                               each("feed-forward residual backward", n * h, 1, 6),
                               each("attention dropout backward", n * h, 2, 5),
                               dgrad("attention out", n, q, h),
                               wgrad("attention out", n, q, h, 2),
                               each("attention out bias gradient", n * h, 1, 2),
                               {"attention backward", 2.5 * scores * 2 * 64, 2 * operands},
                               dgrad("qkv", n, h, q + 2 * kv),
                               wgrad("qkv", n, h, q + 2 * kv, 2),
                               each("qkv bias gradient", n * (q + 2 * kv), 1, 2),
                               each("attention norm backward", n * h, 14, 8),
                               each("attention residual backward", n * h, 1, 6)});
}

TEST(OperatorRows, OfLatentAttention) {
  const double t = 2, own = n / t, a = 16 / t, qr = 256, kr = 128, dn = 64, dr = 32, dv = 64;
  const double scores = b * s * s * a, rotary = n * (a * dr + dr);
  const double operands = 2 * n * (2 * a * (dn + dr) + 2 * a * dv) + 4 * n * a;
  const double joined = 2 * n * (2 * a * (dn + dv) + (a + 1) * dr);
  const Passes layer = transformer_layer(context(sharded(small_latent(), 2)), LayerKind::dense);
  const LayerItems& forward = layer.forward;
  expect_rows({forward.begin(), forward.end()}, {each("attention norm", own * h, 4, 4),
                                                 product("q down", own, h, qr),
                                                 each("q norm", own * qr, 4, 4),
                                                 product("q up", n, qr, a * (dn + dr)),
                                                 product("kv down", own, h, kr + dr),
                                                 each("kv norm", own * kr, 4, 4),
                                                 product("kv up", n, kr, a * (dn + dv)),
                                                 each("rope", rotary, 6, 4),
                                                 {"keys and values", 0, joined},
                                                 {"attention", scores * (dn + dr + dv), operands},
                                                 product("attention out", n, a * dv, h),
                                                 each("attention residual", own * h, 1, 6),
                                                 each("feed-forward norm", own * h, 4, 4),
                                                 product("feed-forward up", n, h, 2 * f / t),
                                                 each("feed-forward activation", n * f / t, 6, 6),
                                                 product("feed-forward down", n, f / t, h),
                                                 each("feed-forward residual", own * h, 1, 6)});
  const auto& all = layer.backward;
  const auto from = std::ranges::find_if(all, [](const LayerItem& item) {
    const auto* op = std::get_if<Operator>(&item);
    return op != nullptr && op->name == "attention out dgrad";
  });
  expect_rows({from, all.end()},
              {dgrad("attention out", n, a * dv, h),
               wgrad("attention out", n, a * dv, h),
               {"attention backward", 2.5 * scores * (dn + dr + dv), 2 * operands},
               {"keys and values backward", 0, joined},
               each("rope backward", rotary, 6, 4),
               dgrad("kv up", n, kr, a * (dn + dv)),
               wgrad("kv up", n, kr, a * (dn + dv)),
               each("kv norm backward", own * kr, 8, 8),
               dgrad("kv down", own, h, kr + dr),
               wgrad("kv down", own, h, kr + dr),
               dgrad("q up", n, qr, a * (dn + dr)),
               wgrad("q up", n, qr, a * (dn + dr)),
               each("q norm backward", own * qr, 8, 8),
               dgrad("q down", own, h, qr),
               wgrad("q down", own, h, qr),
               each("attention norm backward", own * h, 8, 8),
               each("attention residual backward", own * h, 1, 6)});
}

// What stands around its kernel is launched by the same call and is in the kernel's time.
TEST(OperatorRows, OfFlashAttention3sBackwardAreThree) {
  WorkloadSpec spec = workload(small_dense());
  spec.training.attention = TrainingSpec::Attention::flash_3;
  std::vector<const Operator*> found;
  const Passes layer = transformer_layer(context(spec), LayerKind::dense);
  for (const LayerItem& item : layer.backward)
    if (const auto* op = std::get_if<Operator>(&item);
        op != nullptr && op->name.starts_with("attention backward"))
      found.push_back(op);
  ASSERT_EQ(found.size(), 3U);
  for (const Operator* op : {found[1], found[2]}) {
    EXPECT_TRUE(op->in_call);
    EXPECT_EQ(op->bytes.value(), 0);
  }
}

TEST(OperatorRows, OfEmbeddingAndHead) {
  const double t = 2, own = n / t, logits = n * V / t;
  ModelSpec model = small_dense();
  model.position = ModelSpec::Position::learned;
  const WorkloadSpec spec = sharded(model, 2);
  const Passes first = embedding(context(spec));
  expect_rows(first.forward,
              {each("embedding", n * h, 0, 4), each("add positions", own * h, 1, 6)});
  expect_rows(first.backward, {each("positions gradient", own * h, 1, 10),
                               {"embedding gradient", n * h, 4 * n * h + 8 * V / t * h}});
  const Passes last = head(context(spec));
  expect_rows(last.forward, {each("final norm", own * h, 4, 4), product("head", n, h, V / t),
                             each("loss maximum", logits, 1, 10),
                             each("loss exponentials", logits, 3, 20), each("loss", logits, 1, 8)});
  expect_rows(last.backward,
              {each("loss backward", logits, 1, 14), dgrad("head", n, h, V / t),
               wgrad("head", n, h, V / t), each("final norm backward", own * h, 8, 8)});
}

}  // namespace
}  // namespace stepcast
