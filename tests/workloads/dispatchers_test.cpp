#include <gtest/gtest.h>

#include "lowering_fixtures.hpp"

/// Launches, copies and waits of dispatchers by version: the counted table of
/// docs/models/dispatchers.md.
namespace stepcast {
namespace {

using namespace lowering;
using Dispatcher = MoeSpec::Dispatcher;
using Dispatch = MoeSpec::Dispatch;

/// Several experts on each of four ranks, softmax router with a balancing loss in statements.
WorkloadSpec spec_of(Dispatcher dispatcher, Dispatch dispatch = Dispatch::flat,
                     bool fused = false) {
  WorkloadSpec spec = workload(small_moe());
  spec.model.moe->shared_experts = 0;
  spec.plan.tp = 2;
  spec.plan.sequence_parallel = true;
  spec.plan.dp = 2;
  spec.plan.ep = 4;
  spec.moe.dispatcher = dispatcher;
  spec.moe.dispatch = dispatch;
  spec.moe.permutation =
      fused ? MoeSpec::Permutation::fused : MoeSpec::Permutation::indexed;
  spec.moe.router.aux_loss = true;
  spec.runtime.kernels.router =
      fused ? KernelSpec::Router::fused : KernelSpec::Router::statements;
  return spec;
}

struct Counts {
  int kernels = 0, copies = 0, waits = 0;
  bool operator==(const Counts&) const = default;
};

void PrintTo(const Counts& c, std::ostream* out) {
  *out << c.kernels << " kernels, " << c.copies << " copies, " << c.waits << " waits";
}

/// Between the norm or residual of the layer and the next: without products.
Counts count(const LayerItems& items, const std::string& from, const std::string& until) {
  Counts counts;
  bool inside = from.empty();
  for (const LayerItem& item : items) {
    if (const auto* op = std::get_if<Operator>(&item)) {
      if (op->name == until) break;
      if (op->name == from) {
        inside = true;
        continue;
      }
      if (!inside) continue;
      const bool product = !std::holds_alternative<MemoryBoundWork>(op->work);
      const bool to_host = op->name.ends_with(" to host") && !op->name.ends_with("device to host");
      counts.copies += to_host ? 1 : 0;
      counts.kernels += product || op->name.ends_with(" to host") ? 0 : 1;
    } else if (inside) {
      counts.kernels += std::holds_alternative<LayerCommunication>(item) ? 1 : 0;
      counts.waits += std::holds_alternative<HostReadback>(item) ? 1 : 0;
    }
  }
  return counts;
}

Counts forward_of(const WorkloadSpec& spec) {
  return count(transformer_layer(context(spec), LayerKind::moe).forward, "feed-forward norm",
               "feed-forward residual");
}
Counts backward_of(const WorkloadSpec& spec) {
  return count(transformer_layer(context(spec), LayerKind::moe).backward, "",
               "feed-forward norm backward");
}

// Counted by running the framework's functions under a dispatch log: 60, 64, 44, 54, 61 kernels of
// alltoall; copies 3, 7, 5, 7, 7; waits 6, 8, 1, 3, 3.
TEST(Dispatchers, OfMegatronLaunchWhatItsVersionsLaunch) {
  EXPECT_EQ(forward_of(spec_of(Dispatcher::megatron_0_6)), (Counts{60, 3, 6}));
  EXPECT_EQ(forward_of(spec_of(Dispatcher::megatron_0_8)), (Counts{64, 7, 8}));
  EXPECT_EQ(forward_of(spec_of(Dispatcher::megatron_0_9)), (Counts{44, 5, 1}));
  EXPECT_EQ(forward_of(spec_of(Dispatcher::megatron_0_10)), (Counts{54, 7, 3}));
  EXPECT_EQ(forward_of(spec_of(Dispatcher::megatron_0_14)), (Counts{61, 7, 3}));
}

// 63 and 57 kernels, 6 and 3 copies, 8 and 3 waits.
TEST(Dispatchers, ThatGatherLaunchWhatTheirVersionsLaunch) {
  EXPECT_EQ(forward_of(spec_of(Dispatcher::megatron_0_8, Dispatch::allgather)),
            (Counts{63, 6, 8}));
  EXPECT_EQ(forward_of(spec_of(Dispatcher::megatron_0_14, Dispatch::allgather)),
            (Counts{57, 3, 3}));
}

// 29 kernels, copies 4, one wait.
TEST(Dispatchers, WithFusedRowsAndRouterWaitOnce) {
  EXPECT_EQ(forward_of(spec_of(Dispatcher::megatron_0_14, Dispatch::flat, true)),
            (Counts{29, 4, 1}));
}

// 26, 26, 25, 30, 34, 20; of the gathers 31 and 32.
TEST(Dispatchers, NeverWaitInTheBackward) {
  EXPECT_EQ(backward_of(spec_of(Dispatcher::megatron_0_6)), (Counts{26, 0, 0}));
  EXPECT_EQ(backward_of(spec_of(Dispatcher::megatron_0_8)), (Counts{26, 0, 0}));
  EXPECT_EQ(backward_of(spec_of(Dispatcher::megatron_0_9)), (Counts{25, 0, 0}));
  EXPECT_EQ(backward_of(spec_of(Dispatcher::megatron_0_10)), (Counts{30, 0, 0}));
  EXPECT_EQ(backward_of(spec_of(Dispatcher::megatron_0_14)), (Counts{34, 0, 0}));
  EXPECT_EQ(backward_of(spec_of(Dispatcher::megatron_0_14, Dispatch::flat, true)),
            (Counts{20, 0, 0}));
  EXPECT_EQ(backward_of(spec_of(Dispatcher::megatron_0_8, Dispatch::allgather)),
            (Counts{31, 0, 0}));
  EXPECT_EQ(backward_of(spec_of(Dispatcher::megatron_0_14, Dispatch::allgather)),
            (Counts{32, 0, 0}));
}

}  // namespace
}  // namespace stepcast
