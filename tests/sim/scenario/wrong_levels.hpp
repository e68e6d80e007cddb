#pragma once
#include "wrong_host.hpp"

namespace stepcast::test {

inline constexpr const char* levelled_slots =
    "schedule.data={documents: {distribution: fixed, length: 96}, packing: slot_balanced, mask: "
    "document}";

/// What levels loads or sequences where nothing is uneven.
inline const WrongOverride wrong_levels[] = {
    {"slots_of_one_replica",
     {"parallel.tp=8", "parallel.ep=1", levelled_slots},
     "--set schedule.data={documents: {distribution: fixed, length: 96}, packing: slot_balanced, "
     "mask: document}: schedule.data.packing: is slot_balanced but there is one replica, which "
     "keeps all its sequences, allowed: none, sequential, best_fit, attention_aware, or dp > 1"},
    {"slots_of_one_sequence",
     {"schedule.pipeline=1f1b", "parallel.vpp=1", "training.global_batch=4", levelled_slots},
     "--set schedule.data={documents: {distribution: fixed, length: 96}, packing: slot_balanced, "
     "mask: document}: schedule.data.packing: is slot_balanced but every replica has one sequence "
     "in the step, which only changes its place, allowed: none, sequential, best_fit, "
     "attention_aware, or more sequences"},
    {"placement_of_equal_loads",
     {"moe.placement=balanced", "moe.routing.distribution=zipf", "moe.routing.exponent=0"},
     "--set moe.placement=balanced: moe.placement: is balanced but all experts are loaded alike, "
     "allowed: contiguous, or moe.routing with distribution zipf with an exponent above 0, random "
     "or file"},
};

}  // namespace stepcast::test
