#include "stepcast/workloads/dispatcher_form.hpp"

namespace stepcast {

namespace {

using Form = DispatcherForm;
constexpr bool gpu = false, npu = true;

/// Megatron-LM, megatron/core/transformer/moe, of core_r0.6.0 to 0.16.0: router.py, moe_utils.py,
/// token_dispatcher.py.
constexpr Form sorted(bool on_npu) {
  return {.npu = on_npu,
          .routing = Form::Routing::numbers,
          .counts = Form::Counts::histogram,
          .splits = Form::Splits::blocking,
          .order = Form::Order::sort,
          .weights = Form::Weights::behind};
}

constexpr Form counted(bool on_npu) {
  Form form = sorted(on_npu);
  form.counts = Form::Counts::bincount;
  form.splits = Form::Splits::mixed;
  return form;
}

constexpr Form chunked(bool on_npu) {
  Form form = sorted(on_npu);
  form.splits = Form::Splits::queued;
  form.order = Form::Order::chunks;
  return form;
}

constexpr Form masked(bool on_npu, Form::Weights weights) {
  Form form = chunked(on_npu);
  form.routing = Form::Routing::mask;
  form.weights = weights;
  return form;
}

/// MindSpeed's alltoall_seq on masks: legacy_a2a_token_dispatcher.py of core_r0.12.1.
constexpr Form by_sequence() {
  Form form = masked(npu, Form::Weights::behind);
  form.trades_parts = true;
  return form;
}

/// MindFormers' TopkRouterV2 and MoEV2: modules/transformer/moe.py of r1.3.0 to r1.5.0.
constexpr Form blocks() {
  Form form = sorted(npu);
  form.order = Form::Order::blocks;
  return form;
}

constexpr Form library() {
  Form form = masked(gpu, Form::Weights::inside);
  form.splits = Form::Splits::blocking;
  form.order = Form::Order::expand;
  form.scores_again = true;
  return form;
}

constexpr Form hybrid_library() {
  Form form = library();
  form.hybrid = true;
  return form;
}

constexpr Form scored_again(Form::Weights weights) {
  Form form = masked(gpu, weights);
  form.scores_again = true;
  return form;
}

/// Kernels that autograd adds, by the counted table of docs/models/dispatchers.md; of NPUs nobody
/// counted.
constexpr Form with_sums(Form form, int indexed, int fused) {
  form.sums = indexed;
  form.sums_fused = fused;
  return form;
}

}  // namespace

const DispatcherForm* form_of(MoeSpec::Dispatcher dispatcher) {
  // One object per version, which all layers of it share: each is the one before with what that
  // release changed.
  static constexpr Form megatron_0_6 = with_sums(sorted(gpu), 2, 2),
                        megatron_0_8 = with_sums(counted(gpu), 2, 2),
                        megatron_0_9 = with_sums(chunked(gpu), 2, 2),
                        megatron_0_10 = with_sums(masked(gpu, Form::Weights::behind), 1, 1),
                        megatron_0_12 = with_sums(masked(gpu, Form::Weights::travel), 6, 8),
                        megatron_0_14 = with_sums(scored_again(Form::Weights::travel), 6, 8),
                        mindspeed_1_0 = sorted(npu), mindspeed_2_0 = counted(npu),
                        mindspeed_2_3 = masked(npu, Form::Weights::travel),
                        mindspeed_2_3_seq = by_sequence(), mindformers_1_3 = blocks(),
                        deepep = with_sums(library(), 9, 9),
                        hybridep = with_sums(hybrid_library(), 8, 8);
  switch (dispatcher) {
    case MoeSpec::Dispatcher::standard:
      break;
    case MoeSpec::Dispatcher::megatron_0_6:
      return &megatron_0_6;
    case MoeSpec::Dispatcher::megatron_0_8:
      return &megatron_0_8;
    case MoeSpec::Dispatcher::megatron_0_9:
      return &megatron_0_9;
    case MoeSpec::Dispatcher::megatron_0_10:
      return &megatron_0_10;
    case MoeSpec::Dispatcher::megatron_0_12:
      return &megatron_0_12;
    case MoeSpec::Dispatcher::megatron_0_14:
      return &megatron_0_14;
    case MoeSpec::Dispatcher::mindspeed_1_0:
      return &mindspeed_1_0;
    case MoeSpec::Dispatcher::mindspeed_2_0:
      return &mindspeed_2_0;
    case MoeSpec::Dispatcher::mindspeed_2_3:
      return &mindspeed_2_3;
    case MoeSpec::Dispatcher::mindspeed_2_3_seq:
      return &mindspeed_2_3_seq;
    case MoeSpec::Dispatcher::mindformers_1_3:
      return &mindformers_1_3;
    case MoeSpec::Dispatcher::deepep:
      return &deepep;
    case MoeSpec::Dispatcher::hybridep:
      return &hybridep;
  }
  return nullptr;
}

}  // namespace stepcast
