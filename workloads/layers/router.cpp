#include "dispatcher.hpp"

// The router: its product, the choice of experts, and losses.
namespace stepcast::rows {

namespace {

/// Random routing (PanGu-Sigma) has no router to learn.
bool learns_routing(const Experts& e) {
  return e.context.moe.routing.distribution != RoutingSpec::Distribution::random;
}

bool in_statements(const Experts& e) { return e.context.router == KernelSpec::Router::statements; }

/// The router computes in fp32.
Operator in_fp32(Operator op) {
  op.bytes *= fp32 / element;
  return op;
}

Operator router_weight_gradient(const Experts& e) {
  const Linear l = e.router();
  const double accumulated = e.shape.gradient_bytes;
  Operator op = weight_gradient(l, accumulated);
  // Operands are FP32; the gradient accumulates in the type of all gradients.
  op.bytes = Bytes{fp32 * l.tokens * (l.in + l.out) + 2 * accumulated * l.in * l.out};
  return op;
}

double scores_of(const Experts& e) { return e.tokens * e.count; }

/// Kernels of the choice, forward and backward, and its bytes per score and per pair. Counted from
/// Megatron-LM's router.py and moe_utils.py on a GPU; on an NPU a top-k and a scatter are a kernel
/// less each, which leaves the number of statements.
struct Choice {
  int gpu, npu, backward;
  double score_bytes, pair_bytes;
};

Choice choice_of(const Experts& e) {
  const bool bias = e.spec.correction_bias;
  Choice choice{11, 8, 4, 41, 40};  // top-k, softmax of k; weights and mask from zeros
  if (e.context.moe.router.score == RouterSpec::Score::sigmoid)
    choice = {bias ? 17 : 16, bias ? 14 : 13, 12, 57, 90};
  if (e.spec.groups > 1) {  // scores of groups, their choice, and a mask on the others
    choice.gpu += 12;
    choice.npu += 8;
    choice.score_bytes += 28;
  }
  return choice;
}

void choose(LayerItems& items, const Experts& e) {
  const double scores = scores_of(e);
  const bool npu = e.form != nullptr && e.form->npu;
  if (e.form == nullptr || e.form->mask()) {
    const Choice c = choice_of(e);
    // Operators of the host are those of NPUs, where every kernel is one; on GPUs some launch two.
    const Calls calls{.kernels = npu ? c.npu : c.gpu, .operators = c.npu};
    return put(items, {"top-k", calls, c.score_bytes * scores + c.pair_bytes * e.copies});
  }
  // Numbers of experts instead of a mask: fewer bytes per score, more per pair.
  const Platform platform = platform_of(e);
  const Calls top_k = platform.top_k();
  const Calls chosen{.kernels = top_k.kernels + 2, .operators = top_k.operators + 2};
  put(items, {"top-k", chosen, fp32 * scores + 22 * e.copies});
  const bool bins = e.form->counts == DispatcherForm::Counts::bincount;
  put(items, {"top-k counts", bins ? platform.bincount() : platform.histogram(), 8 * e.copies});
}

/// One of the numbers that all ranks of a tensor group add up.
void sum_over_tensor(LayerItems& items, const Experts& e) {
  communicate(items, "all_reduce expert counts", GroupKind::tensor, e.shape.tp,
              CollectiveKind::all_reduce, 8 * e.count);
}

void losses(LayerItems& items, const Experts& e) {
  const RouterSpec& router = e.context.moe.router;
  const double scores = scores_of(e);
  if (router.aux_loss) {
    // Newer versions make scores and choice a second time for the loss.
    const bool again = e.form == nullptr || e.form->scores_again;
    put(items, {"balancing loss", {in_statements(e) ? (again ? 15 : 7) : 5}, 45 * scores});
    sum_over_tensor(items, e);
  }
  if (router.z_loss) put(items, {"z loss", {11}, 30 * scores});
  if (e.spec.correction_bias && in_statements(e)) put(items, {"expert bias", {2}, scores});
  if (e.context.moe.capacity_factor && in_statements(e)) put(items, {"capacity", {8}, 60 * scores});
}

LayerItems choice_backward(const Experts& e) {
  LayerItems items;
  const RouterSpec& router = e.context.moe.router;
  const double scores = scores_of(e);
  const bool mask = e.form == nullptr || e.form->mask();
  // In the reverse order of the forward.
  if (e.context.moe.capacity_factor) put(items, {"capacity backward", {1}, 6 * scores});
  if (router.z_loss) put(items, {"z loss backward", {9}, 30 * scores});
  if (router.aux_loss) put(items, {"balancing loss backward", {7}, 24 * scores});
  put(items, {"top-k backward", {mask ? choice_of(e).backward : 3}, 24 * scores});
  return items;
}

/// What autograd launches beside the gradients of statements. A weight of each pair, read twice and
/// written once: an assumption.
LayerItems gradient_sums(const Experts& e) {
  LayerItems items;
  const int kernels = e.indexed() ? e.form->sums : e.form->sums_fused;
  if (kernels > 0) put(items, {"gradient sums", {kernels}, kernels * 3 * fp32 * e.copies});
  return items;
}

bool is_fixed(const Experts& e) { return e.form != nullptr && e.form->fixed(); }

/// Older versions multiply in the router's own type.
bool casts_gate(const Experts& e) {
  return e.form != nullptr && e.weight_bytes() > element && !e.form->scores_again;
}

}  // namespace

void router_forward(LayerItems& items, const Experts& e) {
  if (!learns_routing(e)) return;
  const double inputs = e.tokens * e.shape.hidden, weights = e.shape.hidden * e.count;
  // FP32 gates cast their input, and their weights where those are stored in BF16.
  if (casts_gate(e) && is_fixed(e))  // weights are FP32
    put(items, {"router casts", {1}, (element + fp32) * inputs});
  else if (casts_gate(e))
    put(items, {"router casts", {2}, (element + fp32) * (inputs + weights)});
  const bool half = e.form != nullptr && !casts_gate(e);
  items.push_back(half ? forward(e.router()) : in_fp32(forward(e.router())));
  // Blocks of a fixed size choose experts and places in one.
  if (is_fixed(e)) return choose_places(items, e, in_statements(e));
  const double scores = scores_of(e);
  if (in_statements(e))
    choose(items, e);
  else
    items.push_back(vector_row("top-k", 20 * scores, 6 * fp32 * scores, OperatorRole::top_k));
  losses(items, e);
}

void router_backward(Backward& backward, const Experts& e) {
  if (!learns_routing(e)) return;
  const double scores = scores_of(e);
  if (is_fixed(e)) {
    backward.add_input(choose_places_backward(e));
  } else if (in_statements(e)) {
    backward.add_input(choice_backward(e));
  } else {
    if (e.context.moe.router.aux_loss) {
      LayerItems loss;
      put(loss, {"balancing loss backward", {2}, 9 * scores});
      backward.add_input(loss);
    }
    backward.add_input(
        vector_row("top-k backward", 8 * scores, 6 * fp32 * scores, OperatorRole::top_k_backward));
  }
  if (e.form != nullptr && e.weight_bytes() > element) {
    LayerItems casts;
    const double inputs = e.tokens * e.shape.hidden;
    put(casts, is_fixed(e) ? Statement{"router casts backward", {1}, (element + fp32) * inputs}
                           : Statement{"router casts backward", {4}, 20 * inputs});
    backward.add_input(casts);
  }
  const bool half = e.form != nullptr && e.weight_bytes() <= element;
  backward.add_input(half ? input_gradient(e.router()) : in_fp32(input_gradient(e.router())));
  backward.add_weight(half ? weight_gradient(e.router(), e.shape.gradient_bytes)
                           : router_weight_gradient(e));
  if (e.form == nullptr) return;
  backward.add_input(gradient_sums(e));
  // the gradients of what router and rows read
  const double inputs = e.tokens * e.shape.hidden;
  backward.add_input(vector_row("router input gradient sum", inputs, 3 * element * inputs));
}

}  // namespace stepcast::rows
