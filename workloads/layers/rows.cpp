#include "rows.hpp"

#include <cmath>
#include <functional>

namespace stepcast::rows {

Shape::Shape(const LayerContext& context) {
  const ParallelPlan& plan = context.plan;
  tp = static_cast<double>(plan.tp);
  cp = static_cast<double>(plan.cp);
  sequences = static_cast<double>(context.training.micro_batch);
  length = plan.slice_length(context.training.sequence, context.slice);
  before = plan.slice_start(context.training.sequence, context.slice);
  // Context ranks cut the sequence evenly.
  tokens = sequences * length / cp;
  // One tensor rank has nothing to scatter.
  sequence_parallel = plan.sequence_parallel && plan.tp > 1;
  shard = sequence_parallel ? tokens / tp : tokens;
  // Tensor ranks send different tokens to experts, whether the dense layers shard the sequence or
  // not.
  expert_tokens = tokens / tp;
  hidden = static_cast<double>(context.model.hidden);
  gradient_bytes = context.gradient_bytes;
  // Pieces hide an exchange behind a product: without one there is nothing to cut.
  chunks = tp > 1 ? context.tensor_chunks : 1;
  serial_backward = context.tensor_backward == CommunicationSpec::TensorBackward::serial;
  adapters = context.training.adapters;
  casts = context.training.master_weights == TrainingSpec::MasterWeights::stored;
  lowest = context.lowest;
  // Kernels of torchao and DeepSeek cast what was gathered.
  using Recipe = TrainingSpec::Fp8Recipe;
  const Recipe recipe = context.training.fp8_recipe;
  if (context.training.precision == TrainingSpec::Precision::fp8_mixed && sequence_parallel &&
      recipe != Recipe::rowwise && recipe != Recipe::deepseek)
    gathers_fp8 = recipe;
}

void Backward::add_input(const LayerItem& item) {
  if (ended) return;
  input.push_back(item);
  both.push_back(item);
}

void Backward::add_weight(const LayerItem& item) {
  // A frozen weight has no gradient to compute.
  if (!frozen) add_trained(item);
}

void Backward::add_trained(const LayerItem& item) {
  if (ended) return;
  weight.push_back(item);
  both.push_back(item);
  // A weight gradient is read by no other operator of the pass.
  if (auto* op = std::get_if<Operator>(&both.back())) op->slack.last = true;
}

void Backward::add_input(const LayerItems& items) {
  for (const LayerItem& item : items) add_input(item);
}

namespace {

void capture_from(LayerItems& items, std::size_t from) {
  for (std::size_t i = from; i < items.size(); ++i)
    if (auto* op = std::get_if<Operator>(&items[i])) op->captured = true;
}

}  // namespace

void captured(LayerItems& items, bool captures, const std::function<void()>& part) {
  const std::size_t from = items.size();
  part();
  if (captures) capture_from(items, from);
}

void captured(Backward& backward, bool captures, const std::function<void()>& part) {
  // An item may stand in two of the lists: each is marked where it stands.
  LayerItems* const passes[] = {&backward.input, &backward.weight, &backward.both};
  const std::size_t from[] = {passes[0]->size(), passes[1]->size(), passes[2]->size()};
  part();
  if (!captures) return;
  for (std::size_t i = 0; i < std::size(passes); ++i) capture_from(*passes[i], from[i]);
}

namespace {

Slack* slack_of(LayerItem& item) {
  if (auto* op = std::get_if<Operator>(&item)) return &op->slack;
  auto* call = std::get_if<LayerCommunication>(&item);
  return call != nullptr && !call->overlapped ? &call->slack : nullptr;
}

/// `room` gives each place what it may move over.
void mark(LayerItems& items, std::size_t from, std::size_t to,
          const std::function<void(Slack&, std::size_t)>& room) {
  // A wait among them fixes the order of all.
  for (std::size_t i = from; i < to; ++i)
    if (slack_of(items[i]) == nullptr) return;
  for (std::size_t i = from; i < to; ++i) {
    Slack& slack = *slack_of(items[i]);
    // An inner part was marked before and knows better how far it may go.
    if (slack.branch != 0) continue;
    slack.branch = static_cast<std::uint32_t>(from + 1);
    room(slack, i);
  }
}

/// Of all that is made again, which keeps its order: a part may read what an earlier one made.
constexpr std::uint32_t made_again = ~0U;

/// The first operator of what is made again.
void begin_again(LayerItems& items, std::size_t from) {
  for (std::size_t i = from; i < items.size(); ++i)
    if (auto* op = std::get_if<Operator>(&items[i])) {
      op->begins_again = true;
      return;
    }
}

void mark_again(LayerItems& items, std::size_t from) {
  for (std::size_t i = from; i < items.size(); ++i)
    *slack_of(items[i]) = {.ahead = static_cast<std::uint32_t>(i), .branch = made_again};
}

}  // namespace

void may_stand_ahead(LayerItems& items, std::size_t from, std::size_t since) {
  mark(items, from, items.size(),
       [&](Slack& slack, std::size_t at) { slack.ahead = static_cast<std::uint32_t>(at - since); });
}

void may_stand_behind(LayerItems& items, std::size_t from, std::size_t to) {
  const std::size_t last = items.size();
  mark(items, from, to, [&](Slack& slack, std::size_t at) {
    slack.behind = static_cast<std::uint32_t>(last - 1 - at);
  });
}

void may_stand_ahead(Backward& backward, const BackwardPlace& from, const BackwardPlace& since) {
  may_stand_ahead(backward.input, from.input, since.input);
  may_stand_ahead(backward.both, from.both, since.both);
}

void may_stand_behind(Backward& backward, const BackwardPlace& from, const BackwardPlace& to) {
  may_stand_behind(backward.input, from.input, to.input);
  may_stand_behind(backward.both, from.both, to.both);
}

void add_again(Backward& backward, const LayerItems& items) {
  const BackwardPlace from{backward};
  backward.add_input(items);
  // Both lists are begun, as a schedule runs one or the other.
  begin_again(backward.input, from.input);
  begin_again(backward.both, from.both);
  LayerItems copy = items;
  // Once something that is made again waits, what follows may read what it waited for.
  for (LayerItem& item : copy) backward.again_waits |= slack_of(item) == nullptr;
  if (backward.again_waits) return;
  mark_again(backward.input, from.input);
  mark_again(backward.both, from.both);
}

Passes assemble(const LayerContext& context, LayerItems forward, Backward backward,
                const ParameterGroups& groups, const ParameterGroups& adapters) {
  const RankParameters parameters = on_rank(context.model, context.plan, groups);
  const RankParameters beside = on_rank(context.model, context.plan, adapters);
  const bool frozen = context.training.adapters.any();
  Passes passes;
  passes.forward = std::move(forward);
  passes.backward_input = std::move(backward.input);
  passes.backward_weight = std::move(backward.weight);
  passes.backward = std::move(backward.both);
  // Memory holds frozen weights and adapters; the optimizer only what is trained.
  passes.dense_parameters = parameters.dense + beside.dense;
  passes.expert_parameters = parameters.experts;
  passes.trained_dense = frozen ? beside.dense : parameters.dense;
  passes.trained_expert = frozen ? 0 : parameters.experts;
  passes.replicated_parameters = frozen ? adapters.replicated : groups.replicated;
  return passes;
}

namespace {

Operator matmul(std::string name, double m, double n, double k, double output_bytes, Fp8 fp8) {
  return {.name = std::move(name),
          .work = MatmulWork{m, n, k},
          .flops = Flops{2 * m * n * k},
          .bytes = Bytes{element * (m * k + k * n) + output_bytes * m * n},
          .launch = LaunchClass::matmul,
          .fp8 = fp8};
}

Operator grouped(std::string name, double groups, double m, double n, double k, double output_bytes,
                 Fp8 fp8) {
  return {.name = std::move(name),
          .work = GroupedMatmulWork{groups, m, n, k},
          .flops = Flops{2 * groups * m * n * k},
          .bytes = Bytes{groups * (element * (m * k + k * n) + output_bytes * m * n)},
          .launch = LaunchClass::matmul,
          .routed = true,
          .fp8 = fp8};
}

}  // namespace

Operator forward(const Linear& l) {
  // In an FP8 step the operands are cast before the product.
  Operator op = matmul(l.name, l.tokens, l.out, l.in, element, l.fp8(Fp8::casts));
  op.weights = l.in * l.out;
  return op;
}

Operator input_gradient(const Linear& l) {
  Operator op = matmul(l.name + " dgrad", l.tokens, l.in, l.out, element, l.fp8(Fp8::casts));
  op.input_gradient = true;
  return op;
}

Operator weight_gradient(const Linear& l, double gradient_bytes) {
  Operator op =
      // The casts of forward and input gradient serve it too; the sum so far is read and written.
      matmul(l.name + " wgrad", l.in, l.out, l.tokens, 2 * gradient_bytes, l.fp8(Fp8::ready));
  op.accumulated = l.in * l.out;
  return op;
}

Operator grouped_forward(const Linear& l, double groups) {
  Operator op = grouped(l.name, groups, l.tokens, l.out, l.in, element, l.fp8(Fp8::casts));
  op.weights = groups * l.in * l.out;
  return op;
}

Operator grouped_input_gradient(const Linear& l, double groups) {
  Operator op =
      grouped(l.name + " dgrad", groups, l.tokens, l.in, l.out, element, l.fp8(Fp8::casts));
  op.input_gradient = true;
  return op;
}

Operator grouped_weight_gradient(const Linear& l, double groups, double gradient_bytes) {
  Operator op = grouped(l.name + " wgrad", groups, l.in, l.out, l.tokens, 2 * gradient_bytes,
                        l.fp8(Fp8::ready));
  op.accumulated = groups * l.in * l.out;
  return op;
}

Operator batched_product(std::string name, double batch, double m, double n, double k) {
  Operator op = grouped(std::move(name), batch, m, n, k, element, Fp8::none);
  // Tensor cores load 16 bytes of a row at once.
  const double row = 16 / element;
  auto& work = std::get<GroupedMatmulWork>(op.work);
  work.aligned = std::fmod(n, row) == 0 && std::fmod(k, row) == 0;
  work.batched = true;
  return op;
}

Operator vector_row(std::string name, double flops, double bytes, OperatorRole role) {
  return {.name = std::move(name),
          .work = MemoryBoundWork{kind_of(role)},
          .flops = Flops{flops},
          .bytes = Bytes{bytes},
          .launch = LaunchClass::vector,
          .role = role};
}

Operator vector_row_of(VectorKind kind, std::string name, double flops, double bytes) {
  Operator op = vector_row(std::move(name), flops, bytes);
  op.work = MemoryBoundWork{kind};
  return op;
}

Operator bias_forward(const std::string& name, double count) {
  // Each output is read and written; the bias itself stays in the cache.
  return vector_row(name + " bias", count, 2 * element * count);
}

Operator bias_gradient(const std::string& name, double count) {
  // A sum over tokens reads each gradient once.
  return vector_row(name + " bias gradient", count, element * count);
}

void communicate(LayerItems& items, std::string name, GroupKind group, double group_size,
                 CollectiveKind kind, double bytes) {
  if (group_size <= 1) return;
  items.push_back(LayerCommunication{std::move(name), group, {kind, Bytes{bytes}}, false});
}

LayerCommunication overlapped(std::string name, CommunicationId id, GroupKind group,
                              CollectiveKind kind, double bytes, std::string algorithm) {
  return {.name = std::move(name),
          .group = group,
          .call = {kind, Bytes{bytes}},
          .overlapped = true,
          .algorithm = std::move(algorithm),
          .id = id};
}

std::string of_pieces(std::int64_t piece, std::int64_t pieces) {
  return " " + std::to_string(piece + 1) + "/" + std::to_string(pieces);
}

}  // namespace stepcast::rows
