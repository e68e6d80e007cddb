#include "stepcast/sim/calibrate/left_out.hpp"

namespace stepcast {
namespace {

constexpr double one_us = 1e-6;

/// The part of a cluster that a number stands in.
template <typename Part>
using PartOf = std::function<Part&(ClusterSpec&)>;

/// The numbers of one part; the getter takes a copy, since parts are found in what may change.
template <typename Part>
class PartNumbers {
 public:
  PartNumbers(std::string path, PartOf<Part> part)
      : path_{std::move(path)}, part_{std::move(part)} {}

  PartNumbers& add(const char* name, double low, double high, double Part::*member) {
    return put(
        name, low, high, [member](Part& p) { return p.*member; },
        [member](Part& p, double v) { p.*member = v; });
  }
  PartNumbers& add(const char* name, double low, double high, Seconds Part::*member) {
    return put(
        name, low, high, [member](Part& p) { return (p.*member).value(); },
        [member](Part& p, double v) { p.*member = Seconds{v}; });
  }
  PartNumbers& add(const char* name, double low, double high, std::optional<double> Part::*member) {
    return put(
        name, low, high, [member](Part& p) { return (p.*member).value_or(0); },
        [member](Part& p, double v) { p.*member = v; });
  }
  std::vector<ComponentNumber> of(const ClusterSpec& cluster) const {
    std::vector<ComponentNumber> here;
    // What the cluster does not have is 0, whose logarithm is no start.
    for (const ComponentNumber& number : numbers_)
      if (number.get(cluster) > 0) here.push_back(number);
    return here;
  }

 private:
  PartNumbers& put(const char* name, double low, double high, std::function<double(Part&)> get,
                   std::function<void(Part&, double)> set) {
    const auto part = part_;
    numbers_.push_back({path_ + name, low, high,
                        [part, get](const ClusterSpec& c) {
                          ClusterSpec copy = c;
                          return get(part(copy));
                        },
                        [part, set](ClusterSpec& c, double v) { set(part(c), v); }});
    return *this;
  }
  std::string path_;
  PartOf<Part> part_;
  std::vector<ComponentNumber> numbers_;
};

/// Bounds are what kernels and links of any generation can be.
std::vector<ComponentNumber> of_products(const ClusterSpec& cluster, bool grouped, bool fp8) {
  const auto part = [grouped, fp8](ClusterSpec& c) -> MatmulEfficiency& {
    EfficiencySpec& e = c.device.efficiency;
    auto& special = grouped ? e.grouped_matmul_fp8 : e.matmul_fp8;
    if (fp8 && special) return *special;
    return grouped ? e.grouped_matmul : e.matmul;
  };
  const std::string path = std::string("device.efficiency.") + (grouped ? "grouped_" : "") +
                           "matmul" + (fp8 ? "_fp8." : ".");
  return PartNumbers<MatmulEfficiency>{path, part}
      .add("peak", 0.1, 1, &MatmulEfficiency::peak)
      .add("fill", 1, 2048, &MatmulEfficiency::fill)
      .add("tile_exponent", 0.001, 1, &MatmulEfficiency::tile_exponent)
      .add("sustained", 0.1, 1, &MatmulEfficiency::sustained)
      .add("memory", 0.1, 1, &MatmulEfficiency::memory)
      .add("exposed", 0.01, 1, &MatmulEfficiency::exposed)
      .add("ramp", 0.1 * one_us, 50 * one_us, &MatmulEfficiency::ramp)
      .of(cluster);
}

/// The kernel of a generation, its own or the usual one of the device.
AttentionKernel& attention_kernel(ClusterSpec& cluster, AttentionGeneration generation) {
  AttentionEfficiency& a = cluster.device.efficiency.attention;
  for (auto [which, kernel] : {std::pair{AttentionGeneration::flash_1, &a.flash_1},
                               {AttentionGeneration::flash_2, &a.flash_2},
                               {AttentionGeneration::flash_3, &a.flash_3},
                               {AttentionGeneration::cudnn, &a.cudnn},
                               {AttentionGeneration::flash_triton, &a.flash_triton},
                               {AttentionGeneration::cudnn_mxfp8, &a.cudnn_mxfp8}})
    if (which == generation && *kernel) return **kernel;
  return a.fused;
}

std::vector<ComponentNumber> of_attention(const ClusterSpec& cluster, AttentionGeneration kernel) {
  std::vector<ComponentNumber> all;
  // Ranges bound the search and are wide beside any device known.
  for (const auto& [name, pass] : {std::pair{"forward.", &AttentionKernel::forward},
                                   {"backward.", &AttentionKernel::backward}}) {
    const auto part = [kernel, pass = pass](ClusterSpec& c) -> AttentionPass& {
      return attention_kernel(c, kernel).*pass;
    };
    const auto numbers =
        PartNumbers<AttentionPass>{std::string("device.efficiency.attention.") + name, part}
            .add("cube", 0.05, 1, &AttentionPass::cube)
            .add("vector", 1, 2000, &AttentionPass::vector)
            .add("start", 1, 2000, &AttentionPass::start)
            .add("diagonal", 1, 2000, &AttentionPass::diagonal)
            .add("head_exponent", 0.01, 2, &AttentionPass::head_exponent)
            .of(cluster);
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

/// What a library has for training alone - norms, activations - comes from other tables.
std::vector<ComponentNumber> of_vector_kernels(const ClusterSpec& cluster) {
  const auto part = [](ClusterSpec& c) -> MemoryEfficiency& { return c.device.efficiency.memory; };
  return PartNumbers<MemoryEfficiency>{"device.efficiency.memory.", part}
      .add("peak", 0.1, 1, &MemoryEfficiency::peak)
      .add("block_norm", 0.05, 1, &MemoryEfficiency::block_norm)
      .add("block_activation", 0.05, 1, &MemoryEfficiency::block_activation)
      .add("block_row", 1, 10000, &MemoryEfficiency::block_row)
      .add("ramp", 0.1 * one_us, 50 * one_us, &MemoryEfficiency::ramp)
      .add("cache_share", 0.01, 1, &MemoryEfficiency::cache_share)
      .add("cache_speedup", 1, 10, &MemoryEfficiency::cache_speedup)
      .of(cluster);
}

std::vector<ComponentNumber> of_exchanges(const ClusterSpec& cluster) {
  using Library = CollectiveLibrarySpec;
  const auto library = [](ClusterSpec& c) -> Library& { return c.collectives; };
  std::vector<ComponentNumber> all =
      PartNumbers<Library>{"collectives.", library}
          .add("ring_start", one_us, 1000 * one_us, &Library::ring_start)
          .add("node_bandwidth", 0.1, 1, &Library::node_bandwidth)
          .add("pair_bandwidth", 0.1, 1, &Library::pair_bandwidth)
          .of(cluster);
  const auto transfer = [](ClusterSpec& c) -> TransferSpec& { return c.collectives.transfer; };
  const auto of_transfer = PartNumbers<TransferSpec>{"collectives.transfer.", transfer}
                               .add("start", 0.1 * one_us, 1000 * one_us, &TransferSpec::start)
                               .add("bandwidth", 0.1, 1, &TransferSpec::bandwidth)
                               .of(cluster);
  all.insert(all.end(), of_transfer.begin(), of_transfer.end());
  // Only devices that have the protocol have its numbers.
  if (!cluster.collectives.ll128) return all;
  const auto ll128 = [](ClusterSpec& c) -> RingProtocolSpec& { return *c.collectives.ll128; };
  const auto of_ll128 = PartNumbers<RingProtocolSpec>{"collectives.ll128.", ll128}
                            .add("start", 0.1 * one_us, 1000 * one_us, &RingProtocolSpec::start)
                            .add("node_bandwidth", 0.1, 1, &RingProtocolSpec::node_bandwidth)
                            .of(cluster);
  all.insert(all.end(), of_ll128.begin(), of_ll128.end());
  return all;
}

}  // namespace

std::vector<ComponentNumber> component_numbers(const OperatorRequest& request,
                                               const ClusterSpec& cluster) {
  const KernelShape& shape = request.shape;
  switch (request.kind->of) {
    case OperatorClass::product:
    case OperatorClass::grouped_product:
      return of_products(cluster, request.kind->of == OperatorClass::grouped_product,
                         shape.type == ElementType::fp8);
    case OperatorClass::attention:
      return of_attention(cluster, shape.generation == nullptr ? AttentionGeneration::fused
                                                               : shape.generation->kernel);
    case OperatorClass::vector:
      return of_vector_kernels(cluster);
    case OperatorClass::collective:
      return of_exchanges(cluster);
    case OperatorClass::linear_attention:
    case OperatorClass::sparse_attention:
      break;
  }
  return {};
}

}  // namespace stepcast
