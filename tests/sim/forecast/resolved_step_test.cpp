#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/forecast/node_kinds.hpp"
#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/forecast/step_graph.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/memory.hpp"
#include "temporary_files.hpp"

// What a step is made of before it is replayed: ideal machines, experts, links, and what is
// refused.
namespace stepcast {
namespace {

using stepcast::testing::in_child;
using Overrides = std::vector<std::string>;

Scenario resolved_small(const Overrides& overrides) {
  const test::TemporaryFiles files;
  return prepare_scenario(files.write("small.yaml", test::small_scenario), overrides, {});
}

std::string refused_step(const Overrides& overrides) {
  try {
    resolved_small(overrides);
  } catch (const InputError& error) {
    return error.diagnostics().at(0).path + ": " + error.diagnostics().at(0).message;
  }
  return "no error";
}

double step_of(Overrides overrides, const Ideal& ideal = {}) {
  overrides.emplace_back("simulate.sharing=incremental");
  return in_child([&] {
           return std::vector<double>{forecast(resolved_small(overrides), ideal).step_time.value()};
         })
      .at(0);
}

// ---- an ideal machine is the cluster whose numbers are nothing
const Overrides rings{
    "communication.algorithm.all_reduce=ring", "communication.algorithm.all_gather=ring",
    "communication.algorithm.reduce_scatter=ring", "cluster.device.launch.communication=0s"};

Overrides plus_more(Overrides some, const Overrides& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

TEST(IdealMachine, WithoutLatenciesHasTheirBytes) {
  const Overrides none{"cluster.node.fabric.link.latency=0s", "cluster.network.nic.latency=0s",
                       "cluster.collectives.step_latency=0s"};
  const double expected = step_of(plus_more(rings, none));
  EXPECT_NEAR(step_of(rings, {.free_latency = true}), expected, 1e-9 * expected);
  EXPECT_LT(expected, step_of(rings));
  EXPECT_LT(step_of(rings, {.free_communication = true}), expected);
}

/// Copies between devices and hosts are no communication, whether they could meet others or not.
TEST(IdealMachine, KeepsCopiesThatHaveALinkToThemselves) {
  const Overrides own{"cluster.host.device_link.bandwidth=32GB/s",
                      "training.offload.optimizer=true"};
  const Overrides tree =
      plus_more(own, {"cluster.host.pcie={switch_devices: 1, switch_bandwidth: 64GB/s}"});
  const double whole = step_of(own);
  for (const Ideal& ideal :
       {Ideal{}, Ideal{.free_communication = true}, Ideal{.free_latency = true}})
    EXPECT_NEAR(step_of(tree, ideal), step_of(own, ideal), 1e-9 * whole);
}

TEST(IdealMachine, WithoutCommunicationHasNoneExposed) {
  const std::vector<double> exposed = in_child([] {
    const Forecast f = forecast(resolved_small({}), {.free_communication = true});
    return std::vector<double>{f.mean.exposed_total().value(), f.mean.communication.value(),
                               f.step_time.value()};
  });
  EXPECT_EQ(exposed.at(0), 0);
  EXPECT_EQ(exposed.at(1), 0);
  EXPECT_GT(exposed.at(2), 0);
}

const Overrides no_host{"cluster.host.dispatch.matmul=0s", "cluster.host.dispatch.vector=0s",
                        "cluster.host.dispatch.communication=0s", "cluster.host.step_overhead=0s",
                        "cluster.host.synchronise=0s"};
const Overrides synchronised{"stalls.host_sync=unit", "cluster.host.synchronise=1ms"};

TEST(IdealMachine, WithAFreeHostIsThatOfNoDispatch) {
  const double expected = step_of(plus_more(synchronised, no_host));
  EXPECT_NEAR(step_of(synchronised, {.free_host = true}), expected, 1e-9 * expected);
  EXPECT_LT(expected, step_of(synchronised));
}

// ---- experts
/// 7 layers with experts, two on each chunk but the first; 8 micro-batches.
const Overrides skewed{"parallel.layers_per_chunk=even", "moe.routing={distribution: zipf}"};

TEST(ExpertForecast, CostsTheDifferenceInEveryLayerOfTheFullestStage) {
  const auto layers = [](const Overrides& more) {
    return in_child([&] {
      const Forecast f = forecast(resolved_small(plus_more(skewed, more)));
      return std::vector<double>{f.experts->cost / (f.experts->fullest - f.experts->balanced),
                                 f.experts->fullest / f.experts->balanced};
    });
  };
  EXPECT_NEAR(layers({}).at(0), 4 * 8, 1e-9);
  EXPECT_GT(layers({}).at(1), 1);
  EXPECT_NEAR(layers({"model.mtp_layers=1"}).at(0), 5 * 8, 1e-9);
  EXPECT_NEAR(layers({"model.moe.first_dense=6"}).at(0), 2 * 8, 1e-9);
}

TEST(ExpertForecast, WhatIsDroppedIsNotMultiplied) {
  const std::vector<double> f = in_child([] {
    const Scenario s = resolved_small({"moe.capacity_factor=0.5"});
    return std::vector<double>{forecast(s).experts->balanced.value(),
                               expert_matmul_time(s.workload, s.cluster.device, 0.5).value(),
                               expert_matmul_time(s.workload, s.cluster.device, 1).value()};
  });
  EXPECT_NEAR(f.at(0), f.at(1), 1e-12 * f.at(1));
  EXPECT_LT(f.at(1), f.at(2));
}

// One rank holds all experts, and nothing but products takes time.
TEST(ExpertModule, OfProductsAloneTakesTheTimeOfItsProducts) {
  const std::vector<double> f = in_child([] {
    const Forecast step = forecast(resolved_small(plus_more(
        no_host, {"parallel.ep=1", "cluster.device.launch.matmul=0s",
                  "cluster.device.launch.vector=0s", "cluster.device.vector_peak=1000000TFLOPS",
                  "cluster.device.memory.bandwidth=100000TB/s"})));
    const ExpertForecast& e = *step.experts;
    return std::vector<double>{e.module.forward.value(), e.module.backward.value(),
                               e.balanced.value()};
  });
  EXPECT_NEAR(f.at(0) + f.at(1), f.at(2), 0.01 * f.at(2));
  EXPECT_NEAR(f.at(1), 2 * f.at(0), 0.1 * f.at(1));
}

// ---- links
TEST(FabricOfAStep, JoinsWhatSlowsALink) {
  const Fabric plain = fabric_of(resolved_small({}));
  Scenario slow =
      resolved_small({"stalls.degraded_links=[{link: \"nic:0\", bandwidth_factor: 0.5}]",
                      "stalls.spread={link: {sigma: 0.1}}"});
  slow.stalls.spread->link->law = SpreadSpec::Distribution::Law::empirical;
  slow.stalls.spread->link->factors = {2};
  const Fabric both = fabric_of(slow);
  for (std::uint32_t l = 0; l < plain.link_count(); ++l) {
    const bool degraded = plain.link_name(LinkId{l}).starts_with("nic:0.");
    EXPECT_DOUBLE_EQ(both.link(LinkId{l}).bandwidth / plain.link(LinkId{l}).bandwidth,
                     degraded ? 0.25 : 0.5)
        << plain.link_name(LinkId{l});
  }
}

// ---- refused once layers are known
TEST(Resolved, AStageRecomputesNoMoreLayersThanItHas) {
  const auto said = [](const char* table) {
    return refused_step(
        {"parallel.layers_per_chunk=even", std::string("training.recompute=") + table});
  };
  EXPECT_EQ(said("[[2, 2], [2, 2]]"), "no error");
  EXPECT_EQ(said("[[3, 2], [2, 2]]"),
            "training.recompute: recomputes 3 layers of chunk 0 on stage 0, which has 2, allowed: "
            "0 to 2");
  EXPECT_EQ(said("[[2, 2], [2, 3]]"),
            "training.recompute: recomputes 3 layers of chunk 1 on stage 1, which has 2, allowed: "
            "0 to 2");
}

TEST(Resolved, AlgorithmsAreThoseOfCollectivesThatAreMade) {
  EXPECT_EQ(refused_step({"communication.algorithm.all_to_all=pairwise"}), "no error");
  EXPECT_EQ(refused_step({"communication.algorithm.broadcast=ring"}),
            "communication.algorithm.broadcast: is ring but no rank makes this collective, "
            "allowed: auto");
  EXPECT_EQ(refused_step(
                {"communication.algorithm.all_to_all=pairwise", "model.moe=none", "parallel.ep=1"}),
            "communication.algorithm.all_to_all: is pairwise but no rank makes this collective, "
            "allowed: auto");
}

TEST(Resolved, JobsOfPairsHaveSoManyMessages) {
  const auto said = [](int experts, int ranks) {
    return refused_step({"simulate.network=pairwise", "parallel.pp=1", "parallel.vpp=1",
                         "parallel.tp=1", "parallel.sequence_parallel=false",
                         "schedule.pipeline=1f1b", "model.moe.experts=" + std::to_string(experts),
                         "parallel.ep=" + std::to_string(experts),
                         "training.global_batch=" + std::to_string(8 * ranks),
                         "cluster.devices=" + std::to_string(ranks),
                         "communication.algorithm.all_to_all=pairwise"});
  };
  EXPECT_EQ(said(192, 192), "no error");
  EXPECT_THAT(
      said(1032, 1032),
      ::testing::EndsWith("is pairwise, but a step of a call has more than 1048576 messages, "
                          "allowed: ports, or groups whose calls have fewer"));
  EXPECT_THAT(
      said(512, 32768),
      ::testing::AllOf(
          ::testing::HasSubstr("simulate.network: is pairwise, but the calls of all groups"),
          ::testing::EndsWith("messages, allowed: ports, or jobs of up to 8388608")));
}

// Told how many weight gradients wait, a stage keeps for each all but the state of its attention
// core, where nothing is computed again.
TEST(MemoryOfAStep, WaitingWeightGradientsKeepAPart) {
  const auto activations = [](const char* put_off, const char* recompute) {
    const Scenario s = resolved_small({"model.moe=none", "parallel.ep=1", "parallel.vpp=1",
                                       "schedule.pipeline=zb_h1", "training.global_batch=64",
                                       std::string("schedule.put_off=") + put_off,
                                       std::string("training.recompute=") + recompute});
    return memory_forecast(s).stages.back().memory->activations.value();
  };
  const double whole = activations("auto", "none"), part = activations("1", "none");
  EXPECT_LT(part, whole);
  EXPECT_GT(part, 0.4 * whole);
  EXPECT_LT(activations("1", "none"), activations("2", "none"));
}

// States of linear attention are no softmax: of such layers a weight gradient keeps all.
TEST(MemoryOfAStep, WaitingWeightGradientsKeepLinearAttention) {
  const auto a_wait_in_layers = [](const std::string& full_every) {
    const auto prepared = [&](const char* put_off) {
      return resolved_small({"model.moe=none", "parallel.ep=1", "parallel.vpp=1",
                             "schedule.pipeline=zb_h1",
                             "model.linear_attention={key_heads: 8, value_heads: 8, key_dim: 64, "
                             "value_dim: 64, full_every: " +
                                 full_every + "}",
                             "parallel.layers_per_chunk=even", "training.global_batch=64",
                             std::string("schedule.put_off=") + put_off});
    };
    const auto activations = [&](const char* put_off) {
      return memory_forecast(prepared(put_off)).stages.back().memory->activations;
    };
    const Scenario s = prepared("1");
    const Bytes layer = layer_activations(s.workload, false, TrainingSpec::Recompute::none,
                                          s.cluster.device.softmax_state, true);
    return (activations("2") - activations("1")) / layer;
  };
  EXPECT_NEAR(a_wait_in_layers("0"), 4, 1e-9);
  EXPECT_LT(a_wait_in_layers("2"), 4);
}

TEST(StepGraph, HoldsOneStep) {
  EXPECT_NO_THROW((void)step_graph(resolved_small({"simulate.steps=1"})));
  EXPECT_THROW((void)step_graph(resolved_small({"simulate.steps=2"})), InputError);
}

}  // namespace
}  // namespace stepcast
