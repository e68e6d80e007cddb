#include <gtest/gtest.h>

#include <algorithm>

#include "dispatcher_fixtures.hpp"
#include "stepcast/workloads/expert_loads.hpp"

// HybridEP's launches, waits and exchanges: docs/models/dispatchers.md.
namespace stepcast {
namespace {

using namespace lowering;

/// Four experts on each of four ranks; `parts` of the fabric that hold them.
WorkloadSpec hybridep_spec(std::int64_t parts) {
  WorkloadSpec spec =
      dispatchers::spec_of(MoeSpec::Dispatcher::hybridep, MoeSpec::Dispatch::two_hop_dedup, true);
  spec.plan.expert_part = 4 / parts;
  spec.moe.router.precision = RouterSpec::Precision::fp32;
  return spec;
}

struct Found {
  int kernels = 0, calls = 0, waits = 0;
  bool operator==(const Found&) const = default;
};

void PrintTo(const Found& f, std::ostream* out) {
  *out << f.kernels << " kernels, " << f.calls << " calls, " << f.waits << " waits";
}

/// Vector kernels, exchanges and read-backs of the routed experts; activations left out.
Found found(const LayerItems& items) {
  Found f;
  for (const LayerItem& item : items) {
    if (const auto* op = std::get_if<Operator>(&item))
      f.kernels +=
          std::holds_alternative<MemoryBoundWork>(op->work) && !op->name.starts_with("experts") ? 1
                                                                                                : 0;
    f.calls += std::holds_alternative<LayerCommunication>(item) ? 1 : 0;
    f.waits += std::holds_alternative<HostReadback>(item) ? 1 : 0;
  }
  return f;
}

// Masks, scan with its zeros, row map; flags, meeting, dispatch, meeting; permutation; and the same
// of the combine behind the un-permutation. Backward uses the maps again.
TEST(HybridEP, LaunchesWhatItsCodeLaunches) {
  const Passes module = expert_module(context(hybridep_spec(1)));
  EXPECT_EQ(found(module.forward), (Found{3 + 3 + 1 + 1 + 3, 1 + 2, 1}));
  EXPECT_EQ(found(module.backward), (Found{3 + 1 + 1 + 3, 2, 0}));
}

// Rows that leave the node start in a buffer of the library, router weights beside them once.
TEST(HybridEP, CopiesWhatLeavesTheNode) {
  const Passes module = expert_module(context(hybridep_spec(2)));
  EXPECT_EQ(found(module.forward), (Found{11 + 2, 1 + 4, 1}));
  EXPECT_EQ(found(module.backward), (Found{8 + 1, 4, 0}));
  for (const LayerItem& item : module.forward) {
    const auto* call = std::get_if<LayerCommunication>(&item);
    if (call == nullptr || call->call.kind != CollectiveKind::all_to_all) continue;
    EXPECT_TRUE(call->overlapped) << call->name;  // both hops at once
  }
}

TEST(HybridEP, CastsRouterWeightsToFp32) {
  WorkloadSpec spec = hybridep_spec(1);
  const int kernels = found(expert_module(context(spec)).forward).kernels;
  spec.moe.router.precision = RouterSpec::Precision::bf16;
  EXPECT_EQ(found(expert_module(context(spec)).forward).kernels, kernels + 1);
}

TEST(HybridEP, SendsARowOncePerRankByOneSidedWrites) {
  const WorkloadSpec spec = hybridep_spec(1);
  const double row = 2.0 * 1024, tokens = 1024;
  const double ranks = expected_ranks(*spec.model.moe, 4);
  EXPECT_LT(ranks, 4);
  const Passes module = expert_module(context(spec));
  for (const LayerItems* pass : {&module.forward, &module.backward})
    for (const LayerItem& item : *pass)
      if (const auto* call = std::get_if<LayerCommunication>(&item);
          call != nullptr && call->call.kind == CollectiveKind::all_to_all) {
        EXPECT_NEAR(call->call.bytes.value(), ranks * tokens * row, 1) << call->name;
        EXPECT_EQ(call->algorithm, "one_sided");
        EXPECT_EQ(call->kernel, ExchangeKernel::hybridep);
      }
  const Traffic masks = traffic(module.forward, GroupKind::expert, CollectiveKind::all_gather);
  EXPECT_EQ(masks.calls, 1);
  EXPECT_DOUBLE_EQ(masks.bytes, 4 * tokens * static_cast<double>(spec.model.moe->experts));
}

}  // namespace
}  // namespace stepcast
