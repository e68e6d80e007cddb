#include "operator_rows.hpp"
#include "workloads/layers/received.hpp"

/// Each row of a layer with routed experts, and of an MTP module.
namespace stepcast {
namespace {

using namespace lowering;

constexpr double rows_in = 2048, width = 1024, E = 16, k = 4, fs = 1024;

LayerItems from(const LayerItems& items, const std::string& name) {
  const auto first = std::ranges::find_if(items, [&](const LayerItem& item) {
    const auto* op = std::get_if<Operator>(&item);
    return op != nullptr && op->name == name;
  });
  return {first, items.end()};
}

LayerItems until(const LayerItems& items, const std::string& name) {
  const LayerItems rest = from(items, name);
  return {items.begin(), items.end() - std::ssize(rest)};
}

/// `tp` tensor ranks without sequence parallelism, four expert ranks.
WorkloadSpec routed(std::int64_t tp, std::int64_t etp) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.tp = tp;
  spec.plan.dp = 4;
  spec.plan.ep = 4;
  spec.plan.etp = etp;
  return spec;
}

/// The router's products run in FP32.
Row twice_the_bytes(Row row) { return {row.name, row.flops, 2 * row.bytes}; }

void check(const WorkloadSpec& spec, double gradient) {
  const double t = static_cast<double>(spec.plan.tp), etp = static_cast<double>(spec.plan.etp);
  const double own = rows_in / t, local = E / 4, rows = k * own * etp, fe = 512 / etp;
  const double each_expert = rows / local;
  const Passes layer = transformer_layer(context(spec), LayerKind::moe);
  expect_rows(from(layer.forward, "router"),
              {twice_the_bytes(product("router", own, width, E)),
               each("top-k", own * E, 20, 24),
               each("permute", (1 + k) * own * width, 0, 2),
               each("sort by expert", rows * width, 0, 4),
               times(local, product("experts up", each_expert, width, 2 * fe)),
               each("experts activation", rows * fe, 6, 6),
               times(local, product("experts down", each_expert, fe, width)),
               each("unsort", rows * width, 0, 4),
               {"unpermute", 2 * k * own * width, 2 * (1 + k) * own * width},
               product("shared expert up", rows_in, width, 2 * fs / t),
               each("shared expert activation", rows_in * fs / t, 6, 6),
               product("shared expert down", rows_in, fs / t, width),
               each("feed-forward residual", rows_in * width, 1, 6)});
  expect_rows(
      until(layer.backward, "feed-forward norm backward"),
      {{"unpermute backward", 4 * k * own * width, 2 * (1 + k) * own * width},
       dgrad("shared expert down", rows_in, fs / t, width),
       wgrad("shared expert down", rows_in, fs / t, width, gradient),
       each("shared expert activation backward", rows_in * fs / t, 10, 10),
       dgrad("shared expert up", rows_in, width, 2 * fs / t),
       wgrad("shared expert up", rows_in, width, 2 * fs / t, gradient),
       each("sort gradient by expert", rows * width, 0, 4),
       times(local, dgrad("experts down", each_expert, fe, width)),
       times(local, wgrad("experts down", each_expert, fe, width, gradient)),
       each("experts activation backward", rows * fe, 10, 10),
       times(local, dgrad("experts up", each_expert, width, 2 * fe)),
       each("unsort gradient", rows * width, 0, 4),
       times(local, wgrad("experts up", each_expert, width, 2 * fe, gradient)),
       {"permute backward", k * own * width, 2 * (1 + k) * own * width},
       each("top-k backward", own * E, 8, 24),
       twice_the_bytes(dgrad("router", own, width, E)),
       {"router wgrad", 2 * own * width * E, 4 * own * (width + E) + 2 * gradient * width * E}});
}

TEST(ExpertRows, AreThoseOfTheTable) { check(routed(2, 1), 4); }

TEST(ExpertRows, OfCutExpertsHoldTheRowsOfTheirTensorGroup) {
  WorkloadSpec spec = routed(1, 2);
  spec.plan.dp = 8;
  spec.communication.gradient_precision = CommunicationSpec::GradientPrecision::bf16;
  check(spec, 2);
}

TEST(ExpertRows, OfTheStatementsOfTheFrameworkCountTheirSums) {
  WorkloadSpec spec = routed(1, 1);
  spec.moe.permutation = MoeSpec::Permutation::indexed;
  const double rows = k * rows_in;
  const Passes layer = transformer_layer(context(spec), LayerKind::moe);
  expect_rows(until(from(layer.forward, "unpermute zeros"), "shared expert up"),
              {each("unpermute zeros", rows * width, 0, 2),
               each("unpermute place", rows * width, 0, 4),
               each("unpermute weigh", rows * width, 1, 4),
               {"unpermute sum", rows * width, 2 * (rows + rows_in) * width}});
  expect_rows(
      until(layer.backward, "shared expert down dgrad"),
      {{"unpermute backward weigh", rows * width, 2 * (rows_in + rows) * width},
       {"unpermute backward weight gradient", rows * width, 2 * (rows_in + 2 * rows) * width},
       each("unpermute backward weight sum", rows * width, 1, 2),
       each("unpermute backward select", rows * width, 0, 4)});
  expect_rows(until(from(layer.backward, "permute backward zeros"), "top-k backward"),
              {each("permute backward zeros", rows_in * width, 0, 2),
               each("permute backward add", rows * width, 1, 6)});
}

TEST(OperatorRows, OfAnMtpModuleStandAroundItsLayer) {
  ModelSpec model = small_dense();
  model.mtp_layers = 1;
  WorkloadSpec spec = workload(model);
  spec.plan.tp = 2;
  spec.plan.sequence_parallel = true;
  const double own = rows_in / 2;
  const Passes module = mtp_module(context(spec));
  expect_rows(
      until(module.forward, "attention norm"),
      {each("embedding", rows_in * width, 0, 4), each("mtp embedding norm", own * width, 4, 4),
       each("mtp hidden norm", own * width, 4, 4),
       product("mtp projection", rows_in, 2 * width, width / 2)});
  expect_rows(from(module.backward, "mtp projection dgrad"),
              {dgrad("mtp projection", rows_in, 2 * width, width / 2),
               wgrad("mtp projection", rows_in, 2 * width, width / 2),
               each("mtp hidden norm backward", own * width, 8, 8),
               each("mtp embedding norm backward", own * width, 8, 8),
               {"embedding gradient", rows_in * width,
                4 * rows_in * width + 8 * static_cast<double>(model.vocabulary) / 2 * width}});
  const double gathered = 2 * rows_in * width;  // of the projection, of the embedding's gradient
  const Traffic forth = traffic(until(module.forward, "attention norm"), GroupKind::tensor,
                                CollectiveKind::all_gather);
  EXPECT_EQ(forth.calls, 2);  // in front of the projection and behind it
  EXPECT_EQ(forth.bytes, 2 * rows_in * 2 * width + gathered);
}

TEST(ReceivedInput, IsGatheredOverTheTensorGroup) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.tp = 4;
  spec.plan.cp = 2;
  const auto sum = [](const LayerItems& items) {
    return traffic(items, GroupKind::tensor, CollectiveKind::all_gather).bytes;
  };
  const Passes input = received(context(spec), false), gradient = received(context(spec), true);
  EXPECT_EQ(sum(input.forward), 2 * rows_in / 2 * width);
  EXPECT_EQ(sum(input.backward), 0);
  EXPECT_EQ(sum(gradient.forward), 0);
  EXPECT_EQ(sum(gradient.backward), 2 * rows_in / 2 * width);
}

}  // namespace
}  // namespace stepcast
