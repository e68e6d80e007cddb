#pragma once
#include "wrong_host.hpp"

namespace stepcast::test {

/// What frameworks keep beside gradients, or run again, where there is nothing of it.
inline const WrongOverride wrong_gradients[] = {
    {"copy_of_half_gradients",
     {"communication.gradient.precision=bf16", "communication.gradient.reduce_copy=bf16"},
     "--set communication.gradient.reduce_copy=bf16: communication.gradient.reduce_copy: is bf16 "
     "but communication.gradient.precision is not fp32, allowed: none"},
    {"copy_of_gradients_of_every_pass",
     {"parallel.zero=2", "communication.gradient.reduce_copy=bf16"},
     "--set communication.gradient.reduce_copy=bf16: communication.gradient.reduce_copy: is bf16 "
     "but parallel.zero reduces gradients with every micro-batch, allowed: none"},
    {"copy_beside_nothing",
     {"communication.gradient.reduce_copy=bf16"},
     "--set communication.gradient.reduce_copy=bf16: communication.gradient.reduce_copy: is bf16 "
     "but communication.gradient.kept is not both, allowed: none"},
    {"stand_ins_of_sums_apart",
     {"communication.gradient.accumulation=separate", "communication.gradient.stand_ins=shapes"},
     "--set communication.gradient.stand_ins=shapes: communication.gradient.stand_ins: is shapes "
     "but communication.gradient.accumulation is not fused, allowed: none"},
    {"rebuild_of_no_layer",
     {"training.recompute=none", "training.rebuild=needed"},
     "--set training.rebuild=needed: training.rebuild: is needed but training.recompute names no "
     "layers, allowed: layer"},
};

}  // namespace stepcast::test
