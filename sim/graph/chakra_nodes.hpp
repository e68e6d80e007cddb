#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast::chakra {

/// A node of a trace, checked by itself.
struct TraceNode {
  enum class Kind : std::uint8_t { compute, collective, send, receive, none };
  std::uint64_t id = 0;
  std::string name;
  Kind kind = Kind::none;            ///< none: nothing runs, as for metadata
  std::vector<std::uint64_t> needs;  ///< ids
  bool on_host = false;
  double seconds = 0;
  CollectiveKind collective = CollectiveKind::all_reduce;
  double bytes = 0;    ///< as CollectiveCall has them; of a shard the shard
  bool exact = false;  ///< bytes are those of stepcast.bytes: the whole, always
  std::string group;   ///< pg_name
  std::uint32_t source = 0, target = 0, tag = 0;
  Stream stream = Stream::tensor;
};

/// One rank's trace.
struct Trace {
  std::string file;
  std::uint32_t rank = 0;
  std::vector<TraceNode> nodes;  ///< by id, ascending
  std::string sha256;            ///< of the file

  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void fail(const TraceNode& node, const std::string& message) const;
};

/// Throws InputError: a record that is cut off or too long, a field that is none, what ASTRA-sim
/// would refuse or drop.
Trace read_trace(const std::filesystem::path& file, std::uint32_t rank);

}  // namespace stepcast::chakra
