#pragma once
#include <vector>

#include "host_offload.hpp"
#include "stage_pieces.hpp"
#include "stepcast/workloads/buckets.hpp"
#include "stepcast/workloads/states.hpp"
#include "stepcast/workloads/update_passes.hpp"

/// Gathers of parameters and reductions of gradients around the chunks of a stage:
/// docs/models/data_parallel.md. Private to workloads/.
namespace stepcast {

/// The replicas of dense or of expert parameters.
inline GroupKind group_of(bool expert) {
  return expert ? GroupKind::expert_data : GroupKind::dense_data;
}

class DataParallel {
 public:
  DataParallel(const WorkloadSpec& spec, ProgramBuilder& builder)
      : spec_{spec}, builder_{builder}, offload_{spec, builder} {}

  /// What the passes of the stage leave on the host, pairs of them too.
  HostOffload& offload() { return offload_; }
  /// The passes of a chunk with what they exchange between replicas; gathers of the step's start go
  /// to the prologue. Slices of a chunk after the first gather nothing ahead and reduce into the
  /// same slots. `index` is the chunk's in its stage: not all have buckets.
  void lower_chunk(const Pieces& pieces, std::size_t index, bool first_slice, ChunkProgram& chunk);
  /// Reductions, gradient norm, optimizer and gathers after the last unit. `embedding_copies`: the
  /// stage holds one of the two copies of the embedding.
  void lower_epilogue(const std::vector<Pieces>& chunks, bool embedding_copies);

 private:
  using Slots = std::vector<std::uint32_t>;
  using Exchange = CommunicationSpec::Exchange;
  enum class Part { dense, expert };

  bool overlaps() const { return spec_.communication.gradient_overlap; }
  bool gathers_ahead() const;
  bool in_lists() const { return spec_.communication.exchange == Exchange::lists; }
  bool by_owners() const { return spec_.communication.exchange == Exchange::broadcast; }
  /// Gradients are sharded, so that no micro-batch keeps its own.
  bool reduces_always() const { return spec_.plan.zero >= 2; }
  bool reduces_in_backward() const { return overlaps() || reduces_always(); }
  bool partitioned() const { return spec_.plan.zero == 3; }
  double gradient_size() const { return gradient_bytes(spec_.communication); }
  double replicas(Part part) const;
  /// Of them, those that share out what zero shards.
  double sharing(Part part) const;
  bool hybrid() const { return spec_.plan.dp_replicate > 1; }
  /// Bytes of the weights as they are gathered, and of those of them that stay on the device
  /// between two steps.
  Share weights(const PlacedPiece& placed) const;
  Share resident_weights(const Pieces& pieces) const;
  double bucket(Part part) const;  ///< elements
  bool in_buckets() const {
    return has_buckets(chunk_, spec_.plan.zero, spec_.plan.chunk_map().copies());
  }
  Share owned(const Share& share) const;
  /// Of the parameters that the host updates: experts that live there stay, unless they are told().
  double weights_back(const Share& own, double part) const;
  /// Whether replicas of experts tell each other what they updated.
  bool told() const { return spec_.plan.zero > 0 && replicas(Part::expert) > 1; }
  /// Those that stay on the device between two steps.
  Share resident(const Share& share) const;

  /// From all ranks with a shard, or from those with a part of the second copy.
  enum class Source { shards, second_copy };
  GroupKind gathered_over(Part part, Source source) const;
  void gather(Part part, double bytes, bool after_compute, Slots& slots, Instructions& out,
              Source source = Source::shards);
  void gather(const Share& bytes, bool after_compute, Slots& slots, Instructions& out,
              Source source = Source::shards);
  /// The weights of a piece that are sharded over all passes.
  void fetch(const PlacedPiece& placed, Slots& slots, Instructions& out,
             Source source = Source::shards);
  void fetch_for_backward(const PlacedPiece& placed, Slots& slots, Instructions& out,
                          Source source);
  void gather_list(const PlacedPiece& placed, double share, Slots& slots, Instructions& out);
  void gather_vectors(const std::vector<Pieces>& chunks, Instructions& out);
  void reduce_lists(const PlacedPiece& placed, Slots& slots, Instructions& out);
  /// The host waits for all that computes and moves before it gathers ahead.
  static void wait_for_all(const Slots& gathered, Slots& reducing, Instructions& out);
  void broadcast_owned(const Pieces& pieces, Instructions& out);
  void reduce(Part part, double parameters, Slots& slots, Instructions& out);
  /// Inside the ranks that share out, then of each share across the others.
  void reduce_hybrid(Part part, double parameters, Slots& slots, Instructions& out);
  void reduce(const Share& share, Slots& slots, Instructions& out);
  /// FP32 gradients travel in BF16 to who updates with them.
  bool in_half() const {
    return spec_.communication.gradient_exchange == CommunicationSpec::GradientExchange::all_to_all;
  }
  void send_in_half(Part part, double parameters, Slots& slots, Instructions& out);
  /// Adds up what all replicas sent, in FP32.
  void add_up_received(const Share& share, Instructions& out);
  /// Reduces whole buckets and leaves the rest in `parameters`.
  void reduce_buckets(Part part, double& parameters, Slots& slots, Instructions& out);
  /// With overlap the epilogue waits for the reductions, else the backward pass does at once.
  void settle(const Slots& slots, Instructions& out);

  /// Which part of the backward pass.
  enum class Pass { whole, input, weight };
  void run_forward(const PlacedPiece& placed, Instructions& out);
  void run_backward(const Pieces& pieces, std::size_t i, Pass pass, Instructions& out);

  Instructions first_forward(const Pieces& pieces);
  void settle_experts(const std::vector<Pieces>& chunks, Instructions& out);
  Instructions gathered_forward(const Pieces& pieces);
  Instructions plain_backward(const Pieces& pieces, Pass pass);
  Instructions reducing_backward(const Pieces& pieces, Pass pass);
  Instructions partitioned_forward(const Pieces& pieces);
  Instructions partitioned_backward(const Pieces& pieces, Pass pass);
  void lower_partitioned(const Pieces& pieces, ChunkProgram& chunk);
  void lower_replicated(const Pieces& pieces, bool first_slice, ChunkProgram& chunk);
  /// The slots of the chunk's reductions: whichever pass comes last uses the same ones.
  std::uint32_t next_reduction();
  /// Between the two holders of the same chunks: of what this rank updates.
  void reduce_between_directions(const Share& share, Instructions& out);
  void reduce_in_tensor_group(const std::vector<Pieces>& chunks, Instructions& out);
  void reduce_norm(Instructions& out);
  void barrier(bool here, const char* name, Instructions& out);
  void gather_updated(const std::vector<Pieces>& chunks, Instructions& out);
  void optimize(const Share& share, Instructions& out);
  /// What the framework launches beside the update, at this moment of the step's end.
  void pass_over(const Share& share, UpdateMoment moment, Instructions& out);

  const WorkloadSpec& spec_;
  ProgramBuilder& builder_;
  HostOffload offload_;
  Slots reducing_;         ///< issued in the backward passes, awaited in the epilogue
  Slots of_chunk_;         ///< reductions of the chunk under construction
  std::size_t next_ = 0;   ///< of them
  std::size_t chunk_ = 0;  ///< under construction
};

}  // namespace stepcast
