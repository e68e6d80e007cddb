#include <algorithm>

#include "../fp8_scales.hpp"
#include "dispatcher.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/expert_loads.hpp"

namespace stepcast::rows {

namespace {

/// Rows in FP8 carry their scales with them.
constexpr double fp8_element = 1 + tile_scale;

bool in_fp8(const Experts& e) { return e.context.moe.wire == MoeSpec::Wire::fp8; }

bool back_in_fp8(const Experts& e) { return e.context.moe.combine == MoeSpec::Wire::fp8; }

LayerItems vector_work(std::string name, double bytes) {
  return {vector_row(std::move(name), 0, bytes)};
}

/// Shares of the parts of an expert group in its load; 1 = even.
std::vector<double> part_loads(const Experts& e) {
  std::vector<double> loads(static_cast<std::size_t>(e.outer), 0);
  const auto inner = static_cast<std::size_t>(e.inner);
  for (std::size_t i = 0; i < e.context.loads->of_rank.size(); ++i)
    loads[i / inner] += e.context.loads->of_rank[i] / e.inner;
  return loads;
}

enum class SkewOf { of_rank, of_column, of_part };

/// Of the rows that a rank gets in a hop: those of its own experts, of the experts that the ranks
/// of its index hold, or one per token that needs its part.
Skew skew(const Experts& e, SkewOf share, bool senders) {
  // Ranks that are loaded alike need no factors.
  Skew result{e.rank_shares(), senders};
  if (result.factor.empty()) return {};
  std::vector<double>& factor = result.factor;
  const auto inner = static_cast<std::size_t>(e.inner);
  if (share == SkewOf::of_column) {
    for (std::size_t column = 0; column < inner; ++column) {
      double mean = 0;
      for (std::size_t i = column; i < factor.size(); i += inner) mean += factor[i] / e.outer;
      for (std::size_t i = column; i < factor.size(); i += inner) factor[i] = mean;
    }
  } else if (share == SkewOf::of_part) {
    const std::vector<double> parts = part_loads(e);
    for (std::size_t i = 0; i < factor.size(); ++i)
      factor[i] = e.reached_parts(parts[i / inner]) / e.reached_parts(e.kept);
  }
  return result;
}

const char* ending(ExchangeLeg leg) {
  switch (leg) {
    case ExchangeLeg::whole:
      return "";
    case ExchangeLeg::inner:
      return " inner";
    case ExchangeLeg::outer:
      return " outer";
    case ExchangeLeg::tensor:
      return " tensor";
    case ExchangeLeg::bias:
      return " bias";
    case ExchangeLeg::weights:
      return " weights";
    case ExchangeLeg::bias_tensor:
      break;
  }
  return " bias tensor";
}

LayerCommunication communication(const Exchange& x, ExchangeLeg leg, GroupKind group,
                                 CollectiveCall call) {
  return {.name = x.name() + ending(leg),
          .group = group,
          .call = std::move(call),
          .id = {x.role, leg, x.piece}};
}

LayerCommunication all_to_all(const Exchange& x, ExchangeLeg leg, GroupKind group, double bytes,
                              Skew skew) {
  return communication(x, leg, group, {CollectiveKind::all_to_all, Bytes{bytes}, std::move(skew)});
}

/// Bytes of `rows` rows in the precision of the direction.
double hop_bytes(const Experts& e, double rows, bool back) {
  return back ? e.back_bytes(rows) : e.wire_bytes(rows);
}

// Each scheme gives the hops of the dispatch; the way back is the same in reverse, so that what
// was gathered is reduced.

/// Rows that a rank sends to ranks of its part: one per pair, or with two_hop_dedup one per token
/// and rank that holds experts of it, where rows are copied and added up.
double sent_inside(const Experts& e) {
  return e.deduplicates() ? e.tokens * e.reached_ranks() : e.copies;
}

Hops flat(const Experts& e, const Exchange& x) {
  const auto hop = [&](ExchangeLeg leg, double bytes) {
    return Hop{
        {}, all_to_all(x, leg, GroupKind::expert, bytes, skew(e, SkewOf::of_rank, x.back())), {}};
  };
  // Router weights follow the rows in an exchange of their own where experts apply them.
  Hops result{hop(ExchangeLeg::whole, hop_bytes(e, sent_inside(e), x.back()))};
  const bool travel =
      e.form != nullptr && e.form->weights == DispatcherForm::Weights::travel && !x.of_outputs();
  if (travel) result.push_back(hop(ExchangeLeg::weights, e.weight_bytes() * e.copies));
  return result;
}

Hop inner_hop(const Experts& e, const Exchange& x, SkewOf share) {
  return {{},
          all_to_all(x, ExchangeLeg::inner, GroupKind::expert_inner,
                     hop_bytes(e, sent_inside(e), x.back()), skew(e, share, x.back())),
          {}};
}

/// First to the rank of like index in the own part, then across (as HCCL's staged all-to-all).
Hops two_hop(const Experts& e, const Exchange& x) {
  const Hop inside = inner_hop(e, x, SkewOf::of_column);
  const Hop across{{},
                   all_to_all(x, ExchangeLeg::outer, GroupKind::expert_outer,
                              hop_bytes(e, e.copies, x.back()), skew(e, SkewOf::of_rank, x.back())),
                   {}};
  return x.back() ? Hops{across, inside} : Hops{inside, across};
}

/// Each token once to every part that it needs, there to its experts (DeepSeek-V3, DeepEP).
Hops two_hop_dedup(const Experts& e, const Exchange& x) {
  const double sent = e.reached_parts(e.kept) * e.tokens;
  Hop across{{},
             all_to_all(x, ExchangeLeg::outer, GroupKind::expert_outer,
                        hop_bytes(e, sent, x.back()), skew(e, SkewOf::of_part, x.back())),
             {}};
  Hop inside = inner_hop(e, x, SkewOf::of_rank);
  // Staged by collectives, rows stop between the hops, where they are copied or added up.
  if (e.form != nullptr) {  // rows are handed on inside the kernel
    Hops both = x.back() ? Hops{inside, across} : Hops{across, inside};
    both.front().with_next = true;
    return both;
  }
  const double moved = e.row_bytes(sent) + e.row_bytes(sent_inside(e));
  if (x.back()) {  // rows in FP8 are read, added up and cast again by the same kernel
    const double added = e.back_bytes(sent) + e.back_bytes(sent_inside(e));
    inside.after = vector_work(x.name() + " add up rows", added);
    return {inside, across};
  }
  inside.before = vector_work(x.name() + " copy rows", moved);
  inside.before.push_back(HostReadback{"expert splits inside"});
  return {across, inside};
}

/// Every part gets all tokens; inside a part they go to their experts (Pangu Ultra MoE, MindFormers
/// alltoall_deredundency).
Hops hierarchical_allgather(const Experts& e, const Exchange& x) {
  const double all = e.outer * e.tokens;
  Hop inside = inner_hop(e, x, SkewOf::of_rank);
  Hop across{{}, communication(x, ExchangeLeg::outer, GroupKind::expert_outer, {}), {}};
  if (x.back()) {
    across.call.call = {CollectiveKind::reduce_scatter, Bytes{e.row_bytes(all)}};
    across.before =
        vector_work(x.name() + " add up rows", e.row_bytes(e.copies) + 2 * e.row_bytes(all));
    return {inside, across};
  }
  // The way there gathers everything; what is not needed is left behind inside the part.
  across.call.call = {CollectiveKind::all_gather, Bytes{e.wire_bytes(all)}};
  inside.before = vector_work(x.name() + " select rows", 2 * e.row_bytes(e.copies));
  return {across, inside};
}

/// Router weights scale whole exchanges of outputs.
bool weighs(const Exchange& x) { return x.of_outputs() && x.pieces == 0; }

LayerItems select_gathered(const Experts& e, const Exchange& x) {
  const std::string name = x.name();
  if (e.form != nullptr) return x.of_outputs() ? gathered_outputs_backward(e) : own_pairs(e);
  if (!e.indexed()) return vector_work(name + " select rows", 2 * e.row_bytes(e.rows));
  LayerItems items;
  select_rows(items, e, name, e.rows);
  // Gradients of outputs are weighed as the outputs were.
  if (!weighs(x)) return items;
  weigh_rows_backward(items, e, name, e.rows, e.rows);
  if (!e.carries_bias()) return items;
  select_rows(items, e, name + " bias", e.rows);
  weigh_rows_backward(items, e, name + " bias", e.rows, e.rows);
  return items;
}

LayerItems add_up_gathered(const Experts& e, const Exchange& x) {
  const std::string name = x.name();
  // A version's statements when one is chosen, else one pass over arrived and gathered rows.
  if (e.form != nullptr) return x.of_outputs() ? gathered_outputs(e) : own_pairs_backward(e);
  if (!e.indexed())
    return vector_work(name + " add up rows", e.row_bytes(e.rows) + 2 * e.row_bytes(e.gathered()));
  LayerItems items;
  const bool outputs = weighs(x);
  if (outputs) weigh_rows(items, e, name, e.rows);
  add_rows(items, e, name, e.rows, e.gathered());
  // Biases are added behind the products and travel beside the rows, so that they are weighed and
  // added up as rows are.
  if (!outputs || !e.carries_bias()) return items;
  weigh_rows(items, e, name + " bias", e.rows);
  add_rows(items, e, name + " bias", e.rows, e.gathered());
  return items;
}

/// Every rank gets all tokens of the group and takes those of its experts (Megatron-LM allgather).
/// Ranks that share experts gather last, inside the node; what they add up is reduced there first.
Hops allgather(const Experts& e, const Exchange& x) {
  const CollectiveKind kind =
      x.back() ? CollectiveKind::reduce_scatter : CollectiveKind::all_gather;
  Hops result;
  const auto hop = [&](ExchangeLeg leg, GroupKind group, double rows) {
    const double wide = x.of_outputs() && e.outputs_in_fp32() ? fp32 / element : 1;
    const Bytes bytes{wide * hop_bytes(e, rows, x.back())};
    result.push_back({{}, communication(x, leg, group, {kind, bytes}), {}});
  };
  const auto both = [&](ExchangeLeg leg, ExchangeLeg tensor) {
    if (e.ep > 1) hop(leg, GroupKind::expert, e.ep * e.tokens);
    if (e.etp > 1) hop(tensor, GroupKind::expert_tensor, e.gathered());
  };
  both(ExchangeLeg::whole, ExchangeLeg::tensor);
  if (e.carries_bias() && weighs(x)) both(ExchangeLeg::bias, ExchangeLeg::bias_tensor);
  if (x.back()) {
    // The way there in reverse.
    std::ranges::reverse(result);
    result.front().before = add_up_gathered(e, x);
  } else {
    result.back().after = select_gathered(e, x);
  }
  return result;
}

Hops hops(const Experts& e, const Exchange& x) {
  if (e.gathers()) return allgather(e, x);
  if (e.ep <= 1) return {};
  switch (e.context.moe.dispatch) {
    case MoeSpec::Dispatch::flat:
      break;
    // A group that is no more than one part sends nothing between parts: one hop does it.
    case MoeSpec::Dispatch::two_hop:
      if (e.cut() && e.inner > 1) return two_hop(e, x);
      break;
    case MoeSpec::Dispatch::two_hop_dedup:
      if (e.cut()) return two_hop_dedup(e, x);
      break;
    case MoeSpec::Dispatch::hierarchical_allgather:
      if (e.cut()) return hierarchical_allgather(e, x);
      break;
    case MoeSpec::Dispatch::allgather:
      break;
  }
  return flat(e, x);
}

std::string role_name(CommunicationRole role) {
  switch (role) {
    case CommunicationRole::dispatch:
      return "dispatch";
    case CommunicationRole::combine:
      return "combine";
    case CommunicationRole::combine_backward:
      return "combine backward";
    case CommunicationRole::dispatch_backward:
      return "dispatch backward";
    case CommunicationRole::other:
    case CommunicationRole::column_input:
    case CommunicationRole::column_saved_input:
    case CommunicationRole::column_gradient:
    case CommunicationRole::row_output:
    case CommunicationRole::row_gradient:
    case CommunicationRole::ring:
    case CommunicationRole::reordered:
      break;
  }
  expects(false, "an exchange of tokens");
  return "";
}

/// A hop over groups of one rank moves nothing; what stands around it stays.
void drop_lone_hops(Hops& hops, const Experts& e) {
  for (std::size_t i = hops.size(); i-- > 0;) {
    if (hops[i].call.group != GroupKind::expert_inner || e.inner > 1) continue;
    LayerItems rest = std::move(hops[i].before);
    rest.insert(rest.end(), hops[i].after.begin(), hops[i].after.end());
    hops.erase(hops.begin() + static_cast<std::ptrdiff_t>(i));
    // The hop that is left is a kernel of its own.
    for (Hop& hop : hops) hop.with_next = false;
    LayerItems& into = i > 0 ? hops[i - 1].after : hops[i].before;
    into.insert(i > 0 ? into.end() : into.begin(), rest.begin(), rest.end());
  }
}

/// Rows are cast to FP8 where experts, or the sums over those of one rank, left them, and cast back
/// where the tokens are.
Hops cast_back(Hops hops, const Experts& e, const Exchange& x) {
  const std::string name = x.name();
  const double rows = e.arrived_rows() / e.sharers, tokens = e.tokens * permuted_rows(e);
  LayerItems& before = hops.front().before;
  before.push_back(vector_row(name + " to fp8", 0, e.row_bytes(rows) + e.back_bytes(rows)));
  hops.back().after.push_back(
      vector_row(name + " to bf16", 0, e.row_bytes(tokens) + e.back_bytes(tokens)));
  return hops;
}

/// Both hops of an exchange between nodes are one kernel of such a library.
void hold_cores(Hops& hops, bool hybrid) {
  const ExchangeKernel own = hybrid ? ExchangeKernel::hybridep : ExchangeKernel::deepep;
  for (Hop& hop : hops) {
    const bool joins = hops.size() > 1 && hop.call.id.leg == ExchangeLeg::inner;
    hop.call.kernel = joins ? ExchangeKernel::joined : own;
  }
}

}  // namespace

double Experts::back_bytes(double n) const {
  return (back_in_fp8(*this) ? fp8_element : element) * n * shape.hidden;
}

double Experts::wire_bytes(double n) const {
  return (in_fp8(*this) ? fp8_element : element) * n * shape.hidden;
}

bool Experts::outputs_in_fp32() const {
  return form != nullptr && form->mask() && form->weighs_inside() && weight_bytes() > element;
}

std::string Exchange::name() const {
  return pieces == 0 ? role_name(role) : role_name(role) + of_pieces(piece, pieces);
}

Hops exchange_hops(const Experts& e, const Exchange& x) {
  // The scheme first, then what its library adds, then the casts of the wire.
  Hops result = hops(e, x);
  drop_lone_hops(result, e);
  const bool library = e.form != nullptr && e.form->library();
  if (library) hold_cores(result, e.form->hybrid);
  if (library && e.form->hybrid && !result.empty()) {
    surround_hybridep(result, e, x);
  } else if (library && x.role != CommunicationRole::dispatch && !result.empty()) {
    const LayerItems notify = notify_deepep(e, x.name());
    LayerItems& before = result.front().before;
    before.insert(before.begin(), notify.begin(), notify.end());
  }
  if (result.empty()) return result;
  // Rows on the way back have a precision of their own.
  if (x.back()) return back_in_fp8(e) ? cast_back(std::move(result), e, x) : result;
  if (!in_fp8(e)) return result;
  const std::string name = x.name();
  const double rows = e.gathers() ? e.rows : e.rows / e.sharers;
  LayerItems& before = result.front().before;
  before.insert(before.begin(),
                vector_row(name + " to fp8", 0, e.row_bytes(e.tokens) + e.wire_bytes(e.tokens)));
  // FP8 matrix products take the rows as they are.
  if (e.context.training.precision != TrainingSpec::Precision::fp8_mixed)
    result.back().after.push_back(
        vector_row(name + " to bf16", 0, e.row_bytes(rows) + e.wire_bytes(rows)));
  return result;
}

std::size_t widest(const Hops& hops) {
  for (std::size_t i = 0; i < hops.size(); ++i)
    if (hops[i].call.group != GroupKind::expert_inner) return i;
  return 0;
}

double permuted_rows(const Experts& e) {
  // Rows that this rank brings into an order before it sends: a hop that sends a token once
  // permutes fewer than the pairs, a gather none.
  const double pairs = e.top_k * e.kept;
  switch (e.context.moe.dispatch) {
    case MoeSpec::Dispatch::two_hop_dedup:
      if (e.cut()) return e.reached_parts(e.kept);
      return e.deduplicates() ? e.reached_ranks() : pairs;
    case MoeSpec::Dispatch::hierarchical_allgather:
      return e.cut() ? 0 : pairs;
    case MoeSpec::Dispatch::allgather:
      return e.gathers() ? 0 : pairs;
    case MoeSpec::Dispatch::flat:
    case MoeSpec::Dispatch::two_hop:
      break;
  }
  return pairs;
}

}  // namespace stepcast::rows
