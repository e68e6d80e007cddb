#include <algorithm>

#include "judge_rank.hpp"

/// The recording of a run: what the fast path writes down, on SimGrid's clock. A host is ahead of
/// its device, so that entries are made where the device gets to what the host did.
namespace stepcast::judge {

/// The clocks around an entry that ends at `date`: between two entries the device stands still.
HostClocks Job::told(Member& a, const HostClocks& host, double date) const {
  HostClocks clocks = host;
  clocks.before.device = std::exchange(a.told, date);
  clocks.after.device = date;
  return clocks;
}

void Job::record_issue(Member& a, const HostClocks& host, bool after_compute,
                       const std::shared_ptr<Issued>& issued,
                       const std::shared_ptr<Leaving>& leaving) {
  if (!recorder_) return;
  a.device.give([this, &a, host, after_compute, issued, leaving] {
    const auto [before, after] = told(a, host, now());
    const std::uint32_t entry = recorder_->issue(a.rank, before, after, after_compute);
    if (leaving) leaving->entry = entry;
    if (issued) issued->entry = entry;
    // It may have begun before the device got here.
    if (issued && issued->communication != Recording::none)
      recorder_->issued(issued->communication, issued->member, entry);
    a.device.done();
  });
}

/// First the host was late, then it compiled, and then the device worked.
void Job::record_segment(Member& a, double issued, double waited) {
  if (!recorder_) return;
  const auto [before, after] = told(a, *a.spent, now());
  recorder_->segment(a.rank, before, after, a.segment, a.segment_worked);
  const double at = a.begun + issued;
  record_piece(a, {a.begun, at, WaitPart::host_stall, ExposedKind::tensor});
  record_piece(a, {at, a.begun + waited, WaitPart::compile_stall, ExposedKind::tensor});
}

void Job::record_wait(Member& a, const Clocks& host, std::uint32_t communication, double to) {
  if (!recorder_) return;
  const auto [before, after] = told(a, {host, host}, to);
  recorder_->wait(a.rank, before, after, communication);
}

void Job::record_cores(Member& a, const Clocks& host, double to, const Issued& issued) {
  if (!recorder_ || to <= a.told) return;
  const auto [before, after] = told(a, {host, host}, to);
  recorder_->give_cores(a.rank, before, after, issued.communication);
  record_piece(a, {before.device, to, WaitPart::exposed, issued.call->kind});
}

/// `host`: before it waited; `copied`: the copy that it waited for, -1: all that was issued.
void Job::record_sync(Member& a, const Clocks& host, double copied) {
  if (!recorder_) return;
  const auto [before, after] = told(a, {host, a.host.clocks()}, now());
  recorder_->sync(a.rank, before, after, copied);
}

void Job::record_unit(Member& a, const Unit& unit, bool begins) {
  if (!recorder_) return;
  // Given to the device as work: begin and end are dates of its stream and not of the host, which
  // is ahead.
  a.device.give([this, &a, begins, first = &unit, step = a.host.step] {
    if (begins) {
      recorder_->begin_unit(a.rank, *first, step, now());
    } else {
      recorder_->end_unit(a.rank, now());
      if (first->with_next) recorder_->add_beside(a.rank, first[1]);
    }
    a.device.done();
  });
}

void Job::record_piece(Member& a, const Recording::Piece& piece) {
  if (recorder_) recorder_->piece(a.rank, piece);
}

/// At its start, because whoever waits for it refers to it.
void Job::record_begin(const std::vector<std::pair<Member*, Issued*>>& members,
                       std::uint32_t network) {
  const auto recorded = [&](const auto& m) { return recorder_->records(m.first->rank); };
  if (!recorder_ || std::ranges::none_of(members, recorded)) return;
  const std::uint32_t communication = recorder_->begin_collective(network, now());
  for (const auto& [a, issued] : members) {
    issued->communication = communication;
    const auto call = static_cast<std::uint32_t>(issued->call - a->program->calls.data());
    issued->member = recorder_->member(
        communication, {a->rank, call, issued->entry, Recording::none, issued->arrived},
        static_cast<std::size_t>(issued->call->stream));
  }
}

void Job::record_end(std::uint32_t communication, std::uint32_t network, double start) {
  if (!recorder_) return;
  recorder_->moved(network, start, now());
  if (communication != Recording::none) recorder_->end(communication, now(), now());
}

/// The receiver is a member from the start.
std::uint32_t Job::record_transfer(Member& a, Channel channel, const Message& message,
                                   const Leaving& leaving) {
  constexpr std::uint32_t none = Recording::none;
  const std::uint32_t peer = input_.step.network.hop(channel, a.rank).peer;
  if (!recorder_ || (!recorder_->records(a.rank) && !recorder_->records(peer))) return none;
  const Unit reader{message.gradient ? UnitKind::backward : UnitKind::forward, message.micro_batch,
                    message.chunk, message.slice};
  const std::uint32_t transfer = recorder_->begin_transfer(channel, reader, message.start);
  const std::size_t lane = streams + static_cast<std::size_t>(channel);
  recorder_->member(transfer, {a.rank, none, leaving.entry, none, leaving.ready}, lane);
  recorder_->member(transfer, {peer, none, none, none, message.start}, lane);
  return transfer;
}

}  // namespace stepcast::judge
