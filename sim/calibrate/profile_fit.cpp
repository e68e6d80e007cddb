#include "stepcast/sim/calibrate/profile_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {
namespace {

using Point = std::vector<double>;

constexpr double seen = 1e-6;  // a derivative below it: samples do not see the number

Seconds transfer(const LinkSpec& link, double efficiency, Seconds step, Bytes bytes) {
  return step + link.latency + bytes / (efficiency * link.bandwidth);
}

Seconds collective_time(const Sample& sample, ClusterSpec cluster) {
  // On the first devices of as many nodes as the ranks fill.
  const std::int64_t nodes = (sample.ranks + cluster.node_devices - 1) / cluster.node_devices;
  cluster.devices = nodes * cluster.node_devices;
  cluster.allocation.clear();
  const Fabric fabric{cluster};
  std::vector<DeviceId> members(static_cast<std::size_t>(sample.ranks));
  for (std::size_t i = 0; i < members.size(); ++i)
    members[i] = DeviceId{static_cast<std::uint32_t>(i)};
  return cluster.device.launch.communication +
         lone_time(fabric, plan_collective(fabric, members, sample.call, "auto"));
}

/// Numbers are fitted by their logarithms, so that they stay above 0.
ClusterSpec with_numbers(ClusterSpec cluster, const Point& logs) {
  const auto numbers = numbers_of_kernels();
  for (std::size_t j = 0; j < numbers.size(); ++j) numbers[j].set(cluster, std::exp(logs[j]));
  return cluster;
}

Point log_errors(const std::vector<Sample>& samples, const ClusterSpec& cluster) {
  Point errors;
  for (const Sample& s : samples) errors.push_back(std::log(sample_time(s, cluster) / s.time));
  return errors;
}

/// A type counts as the square root of its samples.
Point type_weights(const std::vector<Sample>& samples) {
  std::map<std::string, double> sizes;
  for (const Sample& s : samples) ++sizes[s.type];
  Point weights;
  for (const Sample& s : samples) weights.push_back(1 / std::sqrt(sizes[s.type]));
  return weights;
}

std::vector<TypeQuality> qualities(const Profile& profile, const Point& before,
                                   const Point& after) {
  std::map<std::string, TypeQuality> types;
  std::map<std::string, double> explained;
  for (std::size_t i = 0; i < profile.samples.size(); ++i) {
    const Sample& s = profile.samples[i];
    TypeQuality& q = types[s.type];
    q.type = s.type;
    ++q.samples;
    q.error_before += std::abs(std::expm1(before[i]));
    q.error_after += std::abs(std::expm1(after[i]));
    // Time of the profile that samples of the type account for.
    explained[s.type] += s.count * s.time.value();
  }
  std::vector<TypeQuality> result;
  for (auto& [type, q] : types) {
    q.error_before /= static_cast<double>(q.samples);
    q.error_after /= static_cast<double>(q.samples);
    for (const auto& [name, total] : profile.totals)
      if (name == type && total > 0) q.share = explained[type] / total;
    result.push_back(q);
  }
  return result;
}

bool sees(const FitResult& fitted, std::size_t j) {
  return std::ranges::any_of(fitted.jacobian,
                             [&](const Point& row) { return std::abs(row[j]) > seen; });
}

}  // namespace

Seconds sample_time(const Sample& sample, const ClusterSpec& c) {
  switch (sample.kind) {
    // Profiles are of BF16 training.
    case Sample::Kind::kernel:
      return operator_time(sample.op, c.device, false);
    case Sample::Kind::gap:
      return c.device.launch.vector;
    case Sample::Kind::collective:
      // Tables of single links know no algorithm.
      return collective_time(sample, c);
    case Sample::Kind::node_link:
      return transfer(node_link(c.node_fabric), node_efficiency(c.node_fabric),
                      c.collectives.node_step_latency, sample.bytes);
    case Sample::Kind::network_link:
      break;
  }
  return transfer(c.network.nic.link, c.network.nic.efficiency, c.collectives.step_latency,
                  sample.bytes);
}

ProfileCalibration calibrate_from_profile(const Profile& profile, const ClusterSpec& cluster) {
  if (profile.samples.empty())
    refuse_input({}, {}, "the profile holds nothing that the model knows");
  FitProblem p;
  for (const FittedNumber& n : numbers_of_kernels()) {
    p.low.push_back(std::log(n.low));
    p.high.push_back(std::log(n.high));
    p.start.push_back(std::log(std::clamp(n.get(cluster), n.low, n.high)));
  }
  p.weights = type_weights(profile.samples);
  p.spread.assign(p.start.size(), 100);  // kernels are measured one by one: the start hardly counts
  p.rounds = 60;
  const FitResult fitted = fit(p, [&](const std::vector<Point>& points) {
    std::vector<Point> all;
    all.reserve(points.size());
    for (const Point& x : points)
      all.push_back(log_errors(profile.samples, with_numbers(cluster, x)));
    return all;
  });
  const Point before = log_errors(profile.samples, with_numbers(cluster, p.start));
  // The root of it is what the fit leaves unexplained, in the mean.
  double noise = 0;
  for (const double r : fitted.residuals)
    noise += r * r / static_cast<double>(fitted.residuals.size());
  ProfileCalibration result;
  const auto identified =
      identify(fitted.jacobian, p.weights, std::sqrt(noise), &result.singular_values);
  const auto numbers = numbers_of_kernels();
  // Others keep what the cluster says.
  for (std::size_t j = 0; j < numbers.size(); ++j)
    if (sees(fitted, j))
      result.values.push_back(
          {&numbers[j], std::exp(p.start[j]), std::exp(fitted.point[j]), identified[j]});
  result.types = qualities(profile, before, fitted.residuals);
  return result;
}

}  // namespace stepcast
