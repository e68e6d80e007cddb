#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/sim/sweep/point_result.hpp"

namespace stepcast {

/// A store keeps results of sweeps in one SQLite file: one row per scenario (its key), version
/// of the simulator and build of it (its fingerprint). Several processes may read and write it at
/// once; what `put` returned from survives the death of the process. It is not to be used in a
/// forked child. Format: docs/sweeps.md. Every function throws InputError that names the file when
/// it cannot be read or written (missing, read-only, disk full, no store, damaged, of another
/// format). Each row has a checksum, and so have all together: opening reads and checks them.
class Store {
 public:
  /// `existing` may be read-only, itself or its folder.
  enum class Open { existing, create };
  Store(const std::string& path, Open how);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  enum class Builds { own, any };
  /// The row of a key by this build of the simulator; with `any` that of another one where
  /// there is none, the newest version first, then the first fingerprint.
  std::optional<PointResult> find(const std::string& key, Builds builds = Builds::own) const;
  /// Keeps the row. Of two for one key and build the one of the first sweep by name, then of
  /// the first point stays, so that the order of writing does not show.
  void put(const PointResult& result);
  /// All at once or none.
  void put(const std::vector<PointResult>& results);
  /// Rows for which the SQL expression `where` holds (empty: all), in the order of sweep, point,
  /// key, version.
  std::vector<PointResult> rows(const std::string& where) const;

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace stepcast
