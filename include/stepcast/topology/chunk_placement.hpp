#pragma once
#include <cstdint>
#include <optional>

#include "stepcast/base/ids.hpp"

/// The placement says which part of the model the chunks of a stage hold.
namespace stepcast {

/// Which part of the model the chunks of a stage hold. docs/models/pipeline.md.
enum class ChunkPlacement : std::uint8_t {
  loop,           ///< chunk c of stage s is virtual stage c * p + s
  v_shape,        ///< two chunks: virtual stages s and 2p - 1 - s; loss and input on stage 0
  bidirectional,  ///< two pipelines: chunk 0 is stage s of one, chunk 1 stage p - 1 - s of the
                  ///< other
};

/// A seat is one chunk of one stage.
struct Seat {
  Chunk chunk;
  Stage stage;
  friend bool operator==(const Seat&, const Seat&) = default;
};

/// The map says where the chunks of one pipeline stand: `chunks` on each of `stages` stages.
struct ChunkMap {
  ChunkPlacement placement = ChunkPlacement::loop;
  std::int64_t stages = 1, chunks = 1;

  /// The place of a chunk in its pipeline; 0 is the one that reads the input.
  constexpr std::int64_t virtual_stage(Seat seat) const {
    switch (placement) {
      case ChunkPlacement::v_shape:
        return seat.chunk.value == 0 ? seat.stage.value : 2 * stages - 1 - seat.stage.value;
      case ChunkPlacement::bidirectional:
        return seat.chunk.value == 0 ? seat.stage.value : stages - 1 - seat.stage.value;
      case ChunkPlacement::loop:
        break;
    }
    return seat.chunk.value * stages + seat.stage.value;
  }
  /// Counts the virtual stages of one pipeline.
  constexpr std::int64_t virtual_stages() const {
    return placement == ChunkPlacement::bidirectional ? stages : stages * chunks;
  }
  /// The stages hold this many copies of the parameters together.
  constexpr std::int64_t copies() const {
    return placement == ChunkPlacement::bidirectional ? 2 : 1;
  }
  /// The seat whose forward this seat's forward reads; it is nothing at the input of the
  /// model.
  constexpr std::optional<Seat> before(Seat seat) const {
    const std::int64_t place = virtual_stage(seat);
    return place == 0 ? std::nullopt : std::optional{at(seat, place - 1)};
  }
  /// The seat whose backward this seat's backward reads; it is nothing at the loss.
  constexpr std::optional<Seat> after(Seat seat) const {
    const std::int64_t place = virtual_stage(seat) + 1;
    return place == virtual_stages() ? std::nullopt : std::optional{at(seat, place)};
  }

 private:
  /// The seat of a virtual stage of the pipeline that `of` belongs to.
  constexpr Seat at(Seat of, std::int64_t place) const {
    const auto seat = [](std::int64_t chunk, std::int64_t stage) {
      return Seat{{static_cast<std::uint32_t>(chunk)}, {static_cast<std::uint32_t>(stage)}};
    };
    switch (placement) {
      case ChunkPlacement::v_shape:
        return place < stages ? seat(0, place) : seat(1, 2 * stages - 1 - place);
      case ChunkPlacement::bidirectional:
        return seat(of.chunk.value, of.chunk.value == 0 ? place : stages - 1 - place);
      case ChunkPlacement::loop:
        break;
    }
    return seat(place / stages, place % stages);
  }
};

}  // namespace stepcast
