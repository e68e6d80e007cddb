#include <algorithm>
#include <cmath>

#include "stepcast/base/random.hpp"
#include "stepcast/scheduler/packing.hpp"

namespace stepcast {
namespace {

/// Longer than any sequence, short enough that sums stay exact.
constexpr double longest_document = 1 << 30;

std::int64_t lognormal(const DocumentSpec& spec, std::uint64_t index) {
  // The number of the document is the counter: lengths do not depend on who asks first.
  const double z = normal_number(static_cast<std::uint64_t>(spec.seed), 0, document_stream, index);
  // mu = ln(mean) - sigma^2 / 2 makes `mean` the mean of the lengths, not of their logarithms.
  const double mu = std::log(spec.mean) - spec.sigma * spec.sigma / 2;
  const double length = std::round(std::exp(mu + spec.sigma * z));
  return static_cast<std::int64_t>(std::clamp(length, 1.0, longest_document));
}

}  // namespace

std::int64_t document_length(const DocumentSpec& spec, std::uint64_t index) {
  switch (spec.distribution) {
    case DocumentSpec::Distribution::lognormal:
      return lognormal(spec, index);
    case DocumentSpec::Distribution::fixed:
      return spec.length;
    case DocumentSpec::Distribution::file:
      // A file is a corpus that begins anew when it ends.
      return spec.lengths[index % spec.lengths.size()];
  }
  return 1;
}

}  // namespace stepcast
