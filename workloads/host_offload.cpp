#include "host_offload.hpp"

#include <algorithm>

#include "stepcast/workloads/states.hpp"

namespace stepcast {

void HostOffload::open_slots() {
  if (open_) return;
  open_ = true;
  store_slot_ = builder_.new_slot();
  for (std::uint32_t& slot : fetch_slots_) slot = builder_.new_slot();
}

void HostOffload::store(const PlacedPiece& piece, Instructions& out) {
  if (piece.offloaded <= 0) return;
  open_slots();
  stored_ = true;
  builder_.to_host(Bytes{piece.offloaded}, store_slot_, out);
}

void HostOffload::fetch(const Pieces& pieces, std::size_t i, Instructions& out) {
  // Two slots in turn: of the piece at hand, and of the next on its way.
  if (pieces[i].offloaded > 0)
    builder_.from_host(Bytes{pieces[i].offloaded}, fetch_slots_[i % 2], out);
}

void HostOffload::fetch_for(const Pieces& pieces, std::size_t i, Instructions& out) {
  // Nothing ran before the first piece beside which it could have come.
  if (i + 1 == pieces.size()) fetch(pieces, i, out);
  if (i > 0) fetch(pieces, i - 1, out);
  if (pieces[i].offloaded > 0) out.push_back(Wait{fetch_slots_[i % 2]});
}

void HostOffload::settle(Instructions& out) {
  if (stored_) out.push_back(Wait{store_slot_});
}

void HostOffload::fetch_experts(const Pieces& pieces, Instructions& out) {
  // Pieces without experts have nothing to wait for.
  expert_slots_.assign(pieces.size(), std::nullopt);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].parameters.expert <= 0) continue;
    expert_slots_[i] = builder_.new_slot();
    builder_.from_host(Bytes{weight_bytes * pieces[i].parameters.expert}, *expert_slots_[i], out);
  }
}

void HostOffload::wait_for_experts(std::size_t i, Instructions& out) const {
  if (i < expert_slots_.size() && expert_slots_[i]) out.push_back(Wait{*expert_slots_[i]});
}

void HostOffload::store_experts(double parameters, Instructions& out) {
  open_slots();
  builder_.to_host(Bytes{weight_bytes * parameters}, store_slot_, out);
  // The step ends when the host has the weights.
  out.push_back(Wait{store_slot_});
}

HostOffload::PartTimes HostOffload::times_there(double part) const {
  const HostSpec& host = builder_.host();
  const Seconds update = host_update_time(part, runtime_, training_, host);
  if (training_.offload_store == TrainingSpec::OffloadStore::memory)
    return {Seconds{0}, update, update, Seconds{0}};
  const Bytes states{optimizer_state_bytes(training_) * part};
  const Seconds read = states / host.storage_read_bandwidth();
  const Seconds write = states / host.storage_write_bandwidth();
  // Formula (2') of docs/models/offload.md: three parts are read, updated and written side by side.
  return {read, std::max({read, update, write}), update, write};
}

/// The host issues the next transfer before it works, and works when its gradients are there. On
/// drives the states of the part behind come, and those of the part before go, meanwhile.
void HostOffload::optimize_there(double parameters, double kept_weights, Instructions& out) {
  open_slots();
  const double part = parameters / optimizer_parts;
  const Bytes gradients{gradient_bytes(spec_.communication) * part};
  const Bytes weights{weight_bytes * kept_weights / optimizer_parts};
  const PartTimes times = times_there(part);
  builder_.to_host(gradients, fetch_slots_[0], out);
  builder_.memory_work("states read", times.first, out);
  for (std::size_t k = 0; k < optimizer_parts; ++k) {
    if (k + 1 < optimizer_parts) builder_.to_host(gradients, fetch_slots_[(k + 1) % 2], out);
    out.push_back(Wait{fetch_slots_[k % 2]});
    out.push_back(HostSync{});
    const bool last = k + 1 == optimizer_parts;
    builder_.memory_work("optimizer on the host", last ? times.last : times.each, out);
    if (kept_weights > 0) builder_.from_host(weights, store_slot_, out);
  }
  builder_.memory_work("states written", times.behind, out);
  if (kept_weights > 0) out.push_back(Wait{store_slot_});
}

void HostOffload::optimize(double parameters, Instructions& out) {
  open_slots();
  const double part = parameters / optimizer_parts;
  const Bytes bytes{optimizer_state_bytes(training_) * part};
  // Formula (1) of docs/models/offload.md: one part
  // comes while another is updated and a third goes.
  builder_.from_store(bytes, fetch_slots_[0], out);
  for (std::size_t k = 0; k < optimizer_parts; ++k) {
    if (k + 1 < optimizer_parts) builder_.from_store(bytes, fetch_slots_[(k + 1) % 2], out);
    out.push_back(Wait{fetch_slots_[k % 2]});
    builder_.compute(optimizer_step(part, runtime_, training_), out);
    builder_.to_store(bytes, store_slot_, out);
  }
  out.push_back(Wait{store_slot_});
}

}  // namespace stepcast
