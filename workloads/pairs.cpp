#include <algorithm>

#include "host_offload.hpp"
#include "stage_pieces.hpp"

// Forward and backward units that run as one. docs/models/pipeline.md.
namespace stepcast {

namespace {

void append_code(Instructions& out, const Instructions& more) {
  out.insert(out.end(), more.begin(), more.end());
}

/// What the forward did not keep is made first.
void append_backward(Instructions& out, const PlacedPiece& placed) {
  if (placed.recomputed) append_code(out, placed.piece->recompute);
  append_code(out, placed.piece->backward);
}

/// One code to the next place where it waits, then the other: each communicates while the other
/// computes.
Instructions take_turns(const Instructions& a, const Instructions& b) {
  Instructions out;
  const Instructions* code[] = {&a, &b};
  std::size_t at[] = {0, 0};
  for (std::size_t turn = 0; at[0] < a.size() || at[1] < b.size(); turn = 1 - turn) {
    const Instructions& own = *code[turn];
    std::size_t& next = at[turn];
    if (next == own.size()) continue;
    // At least one instruction a turn, so that the wait which ended the last one is passed.
    do {
      out.push_back(own[next++]);
    } while (next < own.size() && !std::holds_alternative<Wait>(own[next]));
  }
  return out;
}

}  // namespace

/// What the backward computes again issues the communications of a forward, which may be under way.
Instructions PieceLibrary::with_own_slots(Instructions code) {
  const auto own = [&](std::uint32_t slot) {
    const auto [place, fresh] = own_slots_.try_emplace(slot, 0);
    if (fresh) place->second = builder_.new_slot();
    return place->second;
  };
  for (Instruction& instruction : code) {
    if (auto* start = std::get_if<Communicate>(&instruction)) start->slot = own(start->slot);
    if (auto* wait = std::get_if<Wait>(&instruction)) wait->slot = own(wait->slot);
  }
  return code;
}

const Instructions& PieceLibrary::moe_pair(const PieceKey& forward, const PieceKey& backward) {
  Instructions& pair = moe_pairs_[{forward, backward}];
  // Layers that are alike make the same pair, which is lowered once.
  if (!pair.empty()) return pair;
  const auto passes = [&](PieceKey key, std::size_t variant) {
    key.slice = 0;  // pairs are of whole sequences
    return build_passes(spec_, builder_.device(), key, loads_.of(key.loads),
                        loads_.load(key.loads, variant));
  };
  std::vector<LayerItems> pairs;
  for (std::size_t variant = 0; variant < loads_.rank_of.size(); ++variant)
    pairs.push_back(paired_layers(passes(forward, variant), passes(backward, variant)));
  builder_.lower(pairs, pair);
  return pair;
}

/// MoE layers of the forward, ascending, with MoE layers of the backward, descending; all others,
/// and those that are left, run alone. A layer that is computed again is so before its pair.
/// What the forward leaves goes to the host behind it, what the backward needs comes before it.
Instructions PieceLibrary::zipped(const Pieces& forward, const Pieces& backward,
                                  HostOffload& offload) {
  Instructions out;
  auto f = forward.begin();
  auto b = backward.rbegin();
  const auto pairs = [](const PlacedPiece& placed) {
    return placed.piece->key.kind == PieceKind::moe_layer;
  };
  const auto left = [&](auto place) {
    return static_cast<std::size_t>(std::distance(place, backward.rend()));
  };
  while (f != forward.end() || b != backward.rend()) {
    // Only two MoE layers run as one; of others the forward goes first.
    const bool f_alone = f != forward.end() && (b == backward.rend() || !pairs(*f));
    const bool b_alone = b != backward.rend() && (f == forward.end() || !pairs(*b));
    const bool together = !f_alone && !b_alone;
    if (b_alone || together) offload.fetch_for(backward, left(b) - 1, out);
    if (f_alone) append_code(out, f->piece->forward);
    if (b_alone) append_backward(out, *b);
    if (together) {
      if (b->recomputed) append_code(out, b->piece->recompute);
      append_code(out, moe_pair(f->piece->key, b->piece->key));
    }
    if (f_alone || together) offload.store(*f++, out);
    if (b_alone || together) ++b;
  }
  return out;
}

Instructions PieceLibrary::pair(const Pieces& forward, const Pieces& backward,
                                HostOffload& offload) {
  if (spec_.moe.overlap == MoeSpec::Overlap::fb_pair) return zipped(forward, backward, offload);
  Instructions ahead, back;
  for (const PlacedPiece& placed : forward) append_code(ahead, placed.piece->forward);
  std::for_each(backward.rbegin(), backward.rend(),
                [&](const PlacedPiece& placed) { append_backward(back, placed); });
  return take_turns(ahead, with_own_slots(std::move(back)));
}

}  // namespace stepcast
