#include <charconv>

#include "stepcast/base/errors.hpp"
#include "stepcast/topology/fabric.hpp"

/// Links by id and by name.
namespace stepcast {
namespace {

/// As names begin; links up and down share one.
constexpr std::array<std::string_view, link_kinds> prefixes{
    "hccs", "port", "port", "bridge", "bridge", "super", "super", "nic", "nic", "leaf", "leaf"};

/// Reads a number at the front of `text` and takes it off.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool is_up(std::size_t kind) { return kind % 2 == 1; }

}  // namespace

std::uint32_t Fabric::link_count() const { return link_count_; }

LinkKind Fabric::kind_of(LinkId id) const {
  expects(id.value < link_count_, "the link exists");
  for (std::size_t kind = 0; kind < link_kinds; ++kind) {
    const Block& b = blocks_[kind];
    if (id.value >= b.first && id.value - b.first < b.count) return static_cast<LinkKind>(kind);
  }
  contract_broken("link ids are contiguous", __FILE__, __LINE__);
}

Link Fabric::link(LinkId id) const {
  const LinkKind kind = kind_of(id);
  const Block& b = block(kind);
  const std::uint32_t index = id.value - b.first;
  const auto fault = faults_.bandwidth_factor.find(id.value);
  const double left = fault == faults_.bandwidth_factor.end() ? 1 : fault->second;
  if (kind != LinkKind::mesh) return {kind, index, index, b.bandwidth * left, b.latency};
  const auto size = static_cast<std::uint32_t>(mesh_size_);
  const std::uint32_t from = index / (size - 1);
  const std::uint32_t place = index % (size - 1);
  const std::uint32_t to = from - from % size + (place >= from % size ? place + 1 : place);
  return {kind, from, to, b.bandwidth * left, b.latency};
}

std::string Fabric::link_name(LinkId id) const {
  const Link l = link(id);
  const auto kind = static_cast<std::size_t>(l.kind);
  const std::string stem = std::string(prefixes[kind]) + ":" + std::to_string(l.from);
  if (l.kind == LinkKind::mesh) return stem + "-" + std::to_string(l.to);
  return stem + (is_up(kind) ? ".up" : ".down");
}

std::optional<LinkId> Fabric::find_link(std::string_view name) const {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view prefix = name.substr(0, colon);
  std::string_view rest = name.substr(colon + 1);
  const auto from = take_number(rest);
  if (!from) return std::nullopt;
  if (prefix == prefixes.front()) {
    if (!rest.starts_with('-')) return std::nullopt;
    rest.remove_prefix(1);
    const auto to = take_number(rest);
    if (!to || !rest.empty() || *from == *to || *from >= devices_ || *to >= devices_) return {};
    if (!same_mesh({*from}, {*to})) return std::nullopt;
    return mesh_link({*from}, {*to});
  }
  for (std::size_t kind = 1; kind < link_kinds; ++kind) {
    if (prefixes[kind] != prefix || rest != (is_up(kind) ? ".up" : ".down")) continue;
    if (*from < blocks_[kind].count) return LinkId{blocks_[kind].first + *from};
  }
  return std::nullopt;
}

}  // namespace stepcast
