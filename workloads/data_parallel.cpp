#include "data_parallel.hpp"

#include <tuple>

#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {

namespace {

void append(Instructions& out, const Instructions& more) {
  out.insert(out.end(), more.begin(), more.end());
}

void wait(Instructions& out, const std::vector<std::uint32_t>& slots) {
  for (const std::uint32_t slot : slots) out.push_back(Wait{slot});
}

/// Of what is trained.
Share total(const Pieces& pieces) {
  Share sum;
  for (const PlacedPiece& placed : pieces) sum += placed.trained;
  return sum;
}

}  // namespace

void DataParallel::run_forward(const PlacedPiece& placed, Instructions& out) {
  append(out, placed.piece->forward);
  offload_.store(placed, out);
}

/// What is computed again, or comes back from the host, is there before the gradient of the input.
void DataParallel::run_backward(const Pieces& pieces, std::size_t i, Pass pass, Instructions& out) {
  const Piece& piece = *pieces[i].piece;
  if (pass == Pass::weight) return append(out, piece.backward_weight);
  offload_.fetch_for(pieces, i, out);
  if (pieces[i].recomputed) append(out, piece.recompute);
  append(out, pass == Pass::whole ? piece.backward : piece.backward_input);
}

std::uint32_t DataParallel::next_reduction() {
  if (next_ == of_chunk_.size()) of_chunk_.push_back(builder_.new_slot());
  return of_chunk_[next_++];
}

bool DataParallel::gathers_ahead() const {
  const std::int64_t zero = spec_.plan.zero;
  return overlaps() && spec_.communication.gather_overlap && (zero == 1 || zero == 2);
}

double DataParallel::replicas(Part part) const {
  return static_cast<double>(group_size(spec_.plan, group_of(part == Part::expert)));
}

double DataParallel::sharing(Part part) const {
  const ParallelPlan& plan = spec_.plan;
  return static_cast<double>(part == Part::expert ? plan.expert_shards() : plan.dense_shards());
}

/// What the rank updates of it.
Share DataParallel::owned(const Share& share) const {
  if (spec_.plan.zero == 0) return share;
  return {share.dense / sharing(Part::dense), share.expert / sharing(Part::expert)};
}

Share DataParallel::resident(const Share& share) const {
  return {share.dense, spec_.training.offload_experts ? 0 : share.expert};
}

Share DataParallel::weights(const PlacedPiece& placed) const {
  // Weights of products may travel in FP8, one byte instead of two.
  constexpr double saved = weight_bytes - fp8_weight_bytes;
  const double each = gathered_weight_bytes(spec_.training);
  // Weights that no step changes are gathered where no rank has all of them.
  const Share& gathered = partitioned() ? placed.parameters : placed.trained;
  return {each * gathered.dense - saved * placed.one_byte.dense,
          each * gathered.expert - saved * placed.one_byte.expert};
}

Share DataParallel::resident_weights(const Pieces& pieces) const {
  Share sum;
  for (const PlacedPiece& placed : pieces) sum += resident(weights(placed));
  return sum;
}

GroupKind DataParallel::gathered_over(Part part, Source source) const {
  // Without hybrid sharding all replicas have a shard, and so a part of every gather.
  if (!hybrid() && source == Source::shards) return group_of(part == Part::expert);
  return part == Part::expert ? GroupKind::expert_shard : GroupKind::dense_shard;
}

void DataParallel::gather(Part part, double bytes, bool after_compute, Slots& slots,
                          Instructions& out, Source source) {
  const GroupKind group = gathered_over(part, source);
  if (group_size(spec_.plan, group) <= 1 || bytes <= 0) return;
  slots.push_back(builder_.new_slot());
  builder_.issue(part == Part::expert ? "all_gather expert parameters" : "all_gather parameters",
                 group, {CollectiveKind::all_gather, Bytes{bytes}}, slots.back(), after_compute,
                 out);
}

void DataParallel::gather(const Share& bytes, bool after_compute, Slots& slots, Instructions& out,
                          Source source) {
  gather(Part::dense, bytes.dense, after_compute, slots, out, source);
  gather(Part::expert, bytes.expert, after_compute, slots, out, source);
}

void DataParallel::reduce(Part part, double parameters, Slots& slots, Instructions& out) {
  if (replicas(part) <= 1 || parameters <= 0) return;
  // Owners of whole tensors need whole gradients, as replicas do without sharding.
  const bool whole = spec_.plan.zero == 0 || by_owners();
  if (hybrid() && !whole) return reduce_hybrid(part, parameters, slots, out);
  if (in_half()) return send_in_half(part, parameters, slots, out);
  const std::string verb = whole ? "all_reduce " : "reduce_scatter ";
  slots.push_back(next_reduction());
  builder_.issue(verb + (part == Part::expert ? "expert gradients" : "gradients"),
                 group_of(part == Part::expert),
                 {whole ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter,
                  Bytes{gradient_size() * parameters}},
                 slots.back(), true, out);
}

void DataParallel::reduce(const Share& share, Slots& slots, Instructions& out) {
  reduce(Part::dense, share.dense, slots, out);
  reduce(Part::expert, share.expert, slots, out);
}

void DataParallel::settle(const Slots& slots, Instructions& out) {
  if (!overlaps()) wait(out, slots);
}

/// Gathers of at least a bucket each are issued in the prologue and awaited before the first piece
/// that they cover.
Instructions DataParallel::gathered_forward(const Pieces& pieces) {
  const double dense = bucket(Part::dense), expert = bucket(Part::expert);
  Instructions out;
  for (std::size_t first = 0; first < pieces.size();) {
    Share share, bytes;
    std::size_t end = first;
    // Without buckets the whole chunk is gathered at once.
    const auto open = [&] {
      return !in_buckets() || share.dense / dense + share.expert / expert < 1;
    };
    for (; end < pieces.size() && open(); ++end) {
      share += resident(pieces[end].trained);
      bytes += resident(weights(pieces[end]));
    }
    Slots slots;
    // Waits for no computation: these weights are those that the last step updated.
    gather(bytes, false, slots, builder_.program().prologue);
    wait(out, slots);
    for (; first < end; ++first) {
      offload_.wait_for_experts(first, out);
      run_forward(pieces[first], out);
    }
  }
  return out;
}

/// Of the step: with what the prologue brings.
Instructions DataParallel::first_forward(const Pieces& pieces) {
  if (spec_.training.offload_experts) offload_.fetch_experts(pieces, builder_.program().prologue);
  if (gathers_ahead()) return gathered_forward(pieces);
  Instructions out;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    offload_.wait_for_experts(i, out);
    run_forward(pieces[i], out);
  }
  return out;
}

Instructions DataParallel::plain_backward(const Pieces& pieces, Pass pass) {
  Instructions out;
  for (std::size_t i = pieces.size(); i-- > 0;) run_backward(pieces, i, pass, out);
  return out;
}

Instructions DataParallel::reducing_backward(const Pieces& pieces, Pass pass) {
  Instructions out;
  Share filled;
  // Passes of a chunk share their slots, as one of them is the last.
  next_ = 0;
  for (std::size_t i = pieces.size(); i-- > 0;) {
    run_backward(pieces, i, pass, out);
    // Buckets fill in the order in which gradients are made.
    filled += pieces[i].trained;
    if (!in_buckets()) continue;
    Slots slots;
    reduce_buckets(Part::dense, filled.dense, slots, out);
    reduce_buckets(Part::expert, filled.expert, slots, out);
    settle(slots, out);
  }
  // What fills no bucket goes with the end of the chunk.
  Slots rest;
  reduce(filled, rest, out);
  settle(rest, out);
  return out;
}

/// The next piece is gathered while this one runs; without overlap each is gathered when it is
/// needed.
Instructions DataParallel::partitioned_forward(const Pieces& pieces) {
  const bool ahead = overlaps() || in_lists();
  Instructions out;
  Slots none;
  std::vector<Slots> slots(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i == 0 || !ahead) fetch(pieces[i], slots[i], out);
    if (in_lists()) wait_for_all(slots[i], none, out);
    if (ahead && i + 1 < pieces.size()) fetch(pieces[i + 1], slots[i + 1], out);
    wait(out, slots[i]);
    run_forward(pieces[i], out);
  }
  return out;
}

/// Gradients of weights need no weights, so only the part for the input gathers.
Instructions DataParallel::partitioned_backward(const Pieces& pieces, Pass pass) {
  const bool gathers = pass != Pass::weight, ahead = (overlaps() || in_lists()) && gathers;
  // hpZ keeps a second copy inside fewer ranks, which the backward pass reads.
  const Source source = spec_.plan.hpz > 1 ? Source::second_copy : Source::shards;
  Instructions out;
  next_ = 0;
  Slots reducing;
  std::vector<Slots> slots(pieces.size());
  for (std::size_t i = pieces.size(); i-- > 0;) {
    if (gathers && (i + 1 == pieces.size() || !ahead))
      fetch_for_backward(pieces[i], slots[i], out, source);
    if (in_lists() && gathers) wait_for_all(slots[i], reducing, out);
    if (ahead && i > 0) fetch_for_backward(pieces[i - 1], slots[i - 1], out, source);
    wait(out, slots[i]);
    run_backward(pieces, i, pass, out);
    if (pass == Pass::input) continue;
    Slots reduced;
    if (in_lists())
      reduce_lists(pieces[i], reduced, out);
    else
      reduce(pieces[i].trained, reduced, out);
    settle(reduced, out);
    // With lists the host waits for these before it gathers again.
    reducing.insert(reducing.end(), reduced.begin(), reduced.end());
  }
  return out;
}

void DataParallel::lower_partitioned(const Pieces& pieces, ChunkProgram& chunk) {
  // Every micro-batch gathers and reduces, so that the first and the last are as all others.
  chunk.forward = chunk.first_forward = partitioned_forward(pieces);
  chunk.backward = chunk.last_backward = partitioned_backward(pieces, Pass::whole);
  chunk.backward_input = partitioned_backward(pieces, Pass::input);
  chunk.backward_weight = chunk.last_backward_weight = partitioned_backward(pieces, Pass::weight);
}

void DataParallel::lower_replicated(const Pieces& pieces, bool first_slice, ChunkProgram& chunk) {
  for (const PlacedPiece& placed : pieces) run_forward(placed, chunk.forward);
  chunk.first_forward = first_slice ? first_forward(pieces) : chunk.forward;
  // The gradient of the input leaves nothing to reduce.
  chunk.backward_input = plain_backward(pieces, Pass::input);
  for (const auto& [pass, always, last] :
       {std::tuple{Pass::whole, &ChunkProgram::backward, &ChunkProgram::last_backward},
        {Pass::weight, &ChunkProgram::backward_weight, &ChunkProgram::last_backward_weight}}) {
    chunk.*always = plain_backward(pieces, pass);
    // Gradients add up over the micro-batches: the last backward holds the sum.
    chunk.*last = reduces_in_backward() ? reducing_backward(pieces, pass) : chunk.*always;
    // Shards add up what was reduced, so that every micro-batch reduces its own.
    if (reduces_always()) chunk.*always = chunk.*last;
  }
}

void DataParallel::lower_chunk(const Pieces& pieces, std::size_t index, bool first_slice,
                               ChunkProgram& chunk) {
  chunk_ = index;
  // All slices of a chunk reduce into the slots of the first.
  if (first_slice) of_chunk_.clear();
  if (partitioned())
    lower_partitioned(pieces, chunk);
  else
    lower_replicated(pieces, first_slice, chunk);
  // Under way until the epilogue waits for them.
  if (overlaps() && first_slice)
    reducing_.insert(reducing_.end(), of_chunk_.begin(), of_chunk_.end());
}

void DataParallel::reduce_between_directions(const Share& share, Instructions& out) {
  if (spec_.plan.chunk_map().copies() == 1 || spec_.plan.pp == 1) return;
  const Share own = owned(share);
  builder_.blocking("all_reduce gradients of both directions", GroupKind::mirror,
                    {CollectiveKind::all_reduce, Bytes{gradient_size() * (own.dense + own.expert)}},
                    out);
}

void DataParallel::reduce_in_tensor_group(const std::vector<Pieces>& chunks, Instructions& out) {
  double replicated = 0;
  for (const Pieces& pieces : chunks)
    for (const PlacedPiece& placed : pieces) replicated += placed.piece->replicated;
  // Each tensor rank has other tokens with sequence
  // parallelism, so that what all of them hold has a
  // part of its gradient on each.
  if (spec_.plan.sequence_parallel && spec_.plan.tp > 1 && replicated > 0)
    builder_.blocking("all_reduce replicated gradients", GroupKind::tensor,
                      {CollectiveKind::all_reduce, Bytes{gradient_size() * replicated}}, out);
}

/// The norm that the optimizer waits for: of all ranks, or of those of the stage.
void DataParallel::reduce_norm(Instructions& out) {
  const auto reduce = [&](GroupKind group) {
    builder_.blocking("all_reduce gradient norm", group,
                      {CollectiveKind::all_reduce, Bytes{single_bytes}}, out);
  };
  const ParallelPlan& plan = spec_.plan;
  if (!spec_.post_validation) {
    if (plan.world() > 1) reduce(GroupKind::world);
    return;
  }
  if (plan.dp * plan.cp > 1) reduce(GroupKind::dense_data);
  if (plan.tp > 1) reduce(GroupKind::tensor);
}

/// All ranks wait for the last one, as a timer or the average of the loss makes them: four bytes,
/// of which the host waits for the result.
void DataParallel::barrier(bool here, const char* name, Instructions& out) {
  if (!here || spec_.plan.world() == 1) return;
  builder_.blocking(name, GroupKind::world, {CollectiveKind::all_reduce, Bytes{single_bytes}}, out);
  if (builder_.reads_back()) out.push_back(HostSync{});
}

void DataParallel::optimize(const Share& share, Instructions& out) {
  const Share own = owned(share);
  const double parameters = own.dense + own.expert;
  const Operator norm =
      gradient_norm(parameters, updated_gradient_bytes(spec_.runtime, gradient_size()));
  const TrainingSpec& training = spec_.training;
  const Operator step = optimizer_step(parameters, spec_.runtime, training);
  // The host updates a part of all states, and experts that live there whole.
  const double part = training.offload_optimizer ? training.offload_optimizer_part : 0;
  const double away = part * own.dense + (training.offload_experts ? 1 : part) * own.expert;
  const bool there = training.offload_update == TrainingSpec::OffloadUpdate::host;
  pass_over(share, UpdateMoment::before_norm, out);
  builder_.compute(norm, out);
  reduce_norm(out);
  // Whether to clip, or to skip the step, is decided on the host.
  if (builder_.reads_back()) out.push_back(HostSync{});
  pass_over(share, UpdateMoment::behind_norm, out);
  if (away < parameters)
    builder_.compute(optimizer_step(parameters - away, spec_.runtime, training), out);
  if (away > 0 && there) offload_.optimize_there(away, weights_back(own, part), out);
  if (away > 0 && !there) offload_.optimize(away, out);
  pass_over(share, UpdateMoment::at_end, out);
  // What the host computes is no work of the device.
  const Flops here = parameters > 0 && there ? (1 - away / parameters) * step.flops : step.flops;
  builder_.program().update_flops += (norm.flops + here).value();
  builder_.program().executed_flops += (norm.flops + here).value();
}

double DataParallel::weights_back(const Share& own, double part) const {
  const double expert = spec_.training.offload_experts ? (told() ? 1 : 0) : part;
  return part * own.dense + expert * own.expert;
}

/// Replicas tell each other what they updated, and every one stores all of it.
void DataParallel::settle_experts(const std::vector<Pieces>& chunks, Instructions& out) {
  // Experts that the host updates are where they belong, unless replicas have to tell each other.
  if (spec_.training.offload_update == TrainingSpec::OffloadUpdate::host && !told()) return;
  for (const Pieces& pieces : chunks) {
    const double expert = total(pieces).expert;
    if (expert <= 0) continue;
    Slots slots;
    if (spec_.plan.zero > 0) gather(Part::expert, weight_bytes * expert, true, slots, out);
    wait(out, slots);
    offload_.store_experts(expert, out);
  }
}

void DataParallel::lower_epilogue(const std::vector<Pieces>& chunks, bool embedding_copies) {
  Instructions& out = builder_.program().epilogue;
  const BarrierSpec& barriers = spec_.runtime.barriers;
  // All gradients, and all that was offloaded, have arrived before anything reads them.
  wait(out, reducing_);
  offload_.settle(out);
  barrier(barriers.gradients, "barrier before gradients", out);
  Share share;
  for (const Pieces& pieces : chunks) share += total(pieces);
  pass_over(share, UpdateMoment::before_reduction, out);
  // Chunks end their backward passes in reverse order.
  if (!reduces_in_backward()) {
    // clang 14 has no views. NOLINTNEXTLINE(modernize-loop-convert)
    for (auto pieces = chunks.rbegin(); pieces != chunks.rend(); ++pieces) {
      Slots slots;
      // Behind all slots in use, so that the reduction opens one of its own.
      next_ = of_chunk_.size();
      reduce(total(*pieces), slots, out);
      wait(out, slots);
    }
  }
  pass_over(share, UpdateMoment::behind_reduction, out);
  if (in_half()) add_up_received(share, out);
  reduce_between_directions(share, out);
  reduce_in_tensor_group(chunks, out);
  // First and last stage hold a copy each, whose gradients are parts of one sum.
  if (embedding_copies && !spec_.training.adapters.any()) {
    const ModelSpec& model = spec_.model;
    const double table = static_cast<double>(model.vocabulary) * static_cast<double>(model.hidden) /
                         static_cast<double>(spec_.plan.tp);
    builder_.blocking("all_reduce embedding gradient", GroupKind::embedding,
                      {CollectiveKind::all_reduce, Bytes{gradient_size() * table}}, out);
  }
  barrier(barriers.optimizer, "barrier before the optimizer", out);
  optimize(share, out);
  if (spec_.training.offload_experts) settle_experts(chunks, out);
  gather_updated(chunks, out);
  barrier(barriers.step_end, "barrier at the end of the step", out);
}

void DataParallel::gather_updated(const std::vector<Pieces>& chunks, Instructions& out) {
  if (in_lists()) return gather_vectors(chunks, out);
  // With zero 3 each pass gathers its own, and what is gathered ahead belongs to the next step.
  if (spec_.plan.zero == 0 || partitioned() || gathers_ahead()) return;
  for (const Pieces& pieces : chunks) {
    if (by_owners()) {
      broadcast_owned(pieces, out);
      continue;
    }
    Slots slots;
    gather(resident_weights(pieces), true, slots, out);
    wait(out, slots);
  }
}

}  // namespace stepcast
