#include <map>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/topology/fabric.hpp"
#include "stepcast/topology/planes.hpp"

namespace stepcast {
namespace {

// Below it a transfer takes longer than any step; a link that is as good as dead has a key of its
// own.
constexpr double least_bandwidth_factor = 1e-6;

std::string entry(const char* list, std::size_t index) {
  return std::string("stalls.") + list + "." + std::to_string(index);
}

/// Devices or nodes that exist, each in one entry at most.
class Roll {
 public:
  Roll(const char* list, const char* what, std::int64_t count, Checks& checks)
      : list_{list}, what_{what}, count_{count}, checks_{checks} {}

  void add(std::size_t index, const std::vector<std::int64_t>& numbers) {
    const std::string path = entry(list_, index) + "." + what_ + "s";
    for (const std::int64_t n : numbers) {
      if (!checks_.require(n < count_, path,
                           "names " + std::string(what_) + " " + count_text(n) + " of " +
                               count_text(count_) + ", allowed: 0 to " + count_text(count_ - 1)))
        return;
      // Two factors on one device would have to be multiplied or replaced: which of both is nowhere
      // written.
      const auto [first, fresh] = first_.try_emplace(n, index);
      const std::string where = first->second == index
                                    ? " twice"
                                    : ", which " + entry(list_, first->second) + " names too";
      if (!checks_.require(fresh, path,
                           "names " + std::string(what_) + " " + count_text(n) + where +
                               ", allowed: each " + what_ + " once"))
        return;
    }
  }

 private:
  const char* list_;
  const char* what_;
  std::int64_t count_;
  Checks& checks_;
  std::map<std::int64_t, std::size_t> first_;
};

void check_affinity(const StallsSpec& spec, const HostSpec& host, Checks& checks) {
  using Affinity = StallsSpec::SlowHosts::Affinity;
  for (std::size_t i = 0; i < spec.slow_hosts.size(); ++i) {
    const auto& hosts = spec.slow_hosts[i];
    // A factor that is given needs nothing from the cluster.
    if (hosts.affinity == Affinity::none) continue;
    const char* word = hosts.affinity == Affinity::unbound ? "unbound" : "cross_numa";
    checks.require(host_factor(hosts, host) > 0, entry("slow_hosts", i) + ".affinity",
                   "is " + std::string(word) + " but the cluster has no host.affinity." + word +
                       ", allowed: give that, or a factor here");
  }
}

std::string dates(const StallsSpec::Throttling& t) {
  return shortest(t.from.value()) + "s to " + shortest(t.until.value()) + "s";
}

void check_dates(const StallsSpec& spec, Checks& checks) {
  for (std::size_t i = 0; i < spec.throttling.size(); ++i) {
    const auto& t = spec.throttling[i];
    const std::string path = entry("throttling", i);
    if (!checks.good({path + ".from", path + ".until", path + ".period"})) continue;
    const double length = (t.until - t.from).value();
    checks.require(length > 0, path + ".until",
                   "is not after from, from " + dates(t) + ", allowed: more than " +
                       shortest(t.from.value()) + "s");
    // A throttling that is longer than its period would meet itself.
    checks.require(t.period == Seconds{0} || t.until - t.from < t.period, path + ".period",
                   "is " + shortest(t.period.value()) + "s, not longer than the " +
                       shortest(length) + "s that it throttles, allowed: more than " +
                       shortest(length) + "s, none");
  }
}

/// Two intervals that hold on one device at the same time; one that repeats stands alone there.
std::string conflict(const StallsSpec::Throttling& a, const StallsSpec::Throttling& b) {
  // Whether two that repeat meet depends on how long the run is.
  if (a.period > Seconds{0} || b.period > Seconds{0})
    return "and one of them repeats, allowed: a period for a device with no other throttling";
  if (a.from < b.until && b.from < a.until)
    return "at dates that overlap (" + dates(a) + ", " + dates(b) +
           "), allowed: one interval at a time";
  return {};
}

void check_throttling(const StallsSpec& spec, std::int64_t devices, Checks& checks) {
  check_dates(spec, checks);
  std::map<std::int64_t, std::vector<std::size_t>> of_device;
  for (std::size_t i = 0; i < spec.throttling.size(); ++i) {
    const std::string path = entry("throttling", i);
    Roll("throttling", "device", devices, checks).add(i, spec.throttling[i].devices);
    if (!checks.good({path + ".devices", path + ".from", path + ".until", path + ".period"}))
      continue;
    // Two may throttle one device as long as their dates do not overlap: factors are not
    // multiplied.
    for (const std::int64_t device : spec.throttling[i].devices) {
      auto& earlier = of_device[device];
      for (const std::size_t e : earlier) {
        const std::string wrong = conflict(spec.throttling[e], spec.throttling[i]);
        if (!checks.require(wrong.empty(), path + ".devices",
                            "names device " + count_text(device) + ", which " +
                                entry("throttling", e) + " names too, " + wrong))
          break;
      }
      earlier.push_back(i);
    }
  }
}

/// Links that exist, each in one entry at most, with a way around those that failed.
class LinkRoll {
 public:
  LinkRoll(const Fabric& fabric, Checks& checks) : fabric_{fabric}, checks_{checks} {}

  /// The links, or none when one of them is wrong.
  std::vector<LinkId> add(const std::string& at, const std::string& name) {
    const std::string path = at + ".link";
    if (!checks_.good({path})) return {};
    const std::vector<LinkId> links = find_links(fabric_, name);
    if (!checks_.require(
            !links.empty(), path,
            "is '" + name + "', which the fabric does not have, allowed: " + link_names(fabric_)))
      return {};
    for (const LinkId link : links) {
      const auto [first, fresh] = first_.try_emplace(link.value, at);
      if (!checks_.require(fresh, path,
                           "is " + fabric_.link_name(link) + ", which " + first->second +
                               " names too, allowed: each link once"))
        return {};
    }
    return links;
  }

 private:
  const Fabric& fabric_;
  Checks& checks_;
  std::map<std::uint32_t, std::string> first_;
};

void check_trunk(const StallsSpec::FailedLink& failed, const std::string& path,
                 const NetworkSpec& network, Checks& checks) {
  const double all = uplinks(network);
  checks.require(static_cast<double>(failed.ports) < all, path + ".ports",
                 "is " + count_text(failed.ports) + " of the " + shortest(all) +
                     " uplinks of a leaf (leaf_ports / oversubscription), allowed: fewer than " +
                     "all of them, or nothing reaches the spine");
}

/// A plane that fails leaves the others, of which some are needed.
void check_plane(const StallsSpec::FailedLink& failed, PlaneName plane, const std::string& path,
                 const Fabric& fabric, std::map<PlaneSet, std::set<std::uint32_t>>& seen,
                 Checks& checks) {
  const std::string names = plane_names(fabric.cluster());
  const std::int64_t all = planes_of(fabric.cluster(), plane.set);
  std::set<std::uint32_t>& lost = seen[plane.set];
  if (!checks.require(all > 1 && plane.number < all, path + ".link",
                      "is '" + failed.link + "', which the fabric does not have" +
                          (names.empty() ? ", no ports have planes, allowed: " + link_names(fabric)
                                         : ", allowed: " + names)))
    return;
  checks.require(failed.ports == 1, path + ".ports",
                 "is " + count_text(failed.ports) + " of a plane, allowed: 1");
  checks.require(lost.insert(plane.number).second, path + ".link",
                 "is " + failed.link + ", which is named before, allowed: each plane once");
  checks.require(std::ssize(lost) < all, path + ".link",
                 "is the last of " + count_text(all) + " planes, allowed: all but one");
}

void check_failed(const StallsSpec& spec, const Fabric& fabric, LinkRoll& roll, Checks& checks) {
  std::vector<std::vector<LinkId>> links;
  std::set<std::uint32_t> failed;
  std::map<PlaneSet, std::set<std::uint32_t>> planes;
  for (std::size_t i = 0; i < spec.failed_links.size(); ++i) {
    const std::string path = entry("failed_links", i);
    // A plane is one of several switches that a port is spread over; it fails on all devices at
    // once.
    const auto plane = plane_name(spec.failed_links[i].link);
    if (plane && checks.good({path + ".link"}))
      check_plane(spec.failed_links[i], *plane, path, fabric, planes, checks);
    links.push_back(plane ? std::vector<LinkId>{} : roll.add(path, spec.failed_links[i].link));
    if (links.back().empty()) continue;
    // Uplinks of a leaf are one link of many ports: losing some of them makes it narrower, and
    // nothing needs a way around.
    if (is_trunk(fabric, links.back().front())) {
      check_trunk(spec.failed_links[i], path, fabric.cluster().network, checks);
      links.back().clear();
      continue;
    }
    const std::int64_t bundle = planes_of(fabric.cluster(), fabric.link(links.back().front()).kind);
    checks.require(
        spec.failed_links[i].ports <= bundle, path + ".ports",
        "is " + count_text(spec.failed_links[i].ports) + " of " +
            (bundle > 1 ? "the " + count_text(bundle) + " it is made of, allowed: 1 to those"
                        : "a single link, allowed: 1"));
    // What is left of a bundle still carries the traffic, with less bandwidth.
    if (spec.failed_links[i].ports < bundle) {
      links.back().clear();
      continue;
    }
    for (const LinkId link : links.back()) failed.insert(link.value);
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (const LinkId link : links[i]) {
      // Judged when all failures are known: a way around may use a link that fails in a later
      // entry.
      if (!checks.require(!detour_around(fabric, link, failed).empty(),
                          entry("failed_links", i) + ".link",
                          "is " + fabric.link_name(link) +
                              ", which has no way around, allowed: hccs pairs and nics of devices "
                              "with a neighbour that works, leaf:N with ports"))
        break;
    }
  }
}

void check_links(const StallsSpec& spec, const ClusterSpec& cluster, Checks& checks) {
  if (spec.degraded_links.empty() && spec.failed_links.empty()) return;
  // Names of links are those of the fabric, which has to be built to know them.
  const Fabric fabric(cluster);
  LinkRoll roll(fabric, checks);
  for (std::size_t i = 0; i < spec.degraded_links.size(); ++i) {
    const std::string path = entry("degraded_links", i);
    const double factor = spec.degraded_links[i].bandwidth_factor;
    roll.add(path, spec.degraded_links[i].link);
    checks.require(factor >= least_bandwidth_factor, path + ".bandwidth_factor",
                   "is " + shortest(factor) + ", allowed: " + shortest(least_bandwidth_factor) +
                       " to 1; a link that carries nothing goes under failed_links");
  }
  check_failed(spec, fabric, roll, checks);
}

/// Parts of `stalls.spread` that change nothing without another.
void check_spread(const SpreadSpec& spec, Checks& checks) {
  const std::string at = "stalls.spread.";
  // A seed without anything that it draws would make two hashes of one forecast.
  const bool draws_any = spec.device || spec.host || spec.node || spec.link || spec.transient;
  if (checks.given(at + "seed"))
    checks.require(draws_any, at + "seed",
                   "is given but nothing is drawn, allowed: with device, host, node, link or "
                   "transient");
  if (!spec.node) return;
  const auto given = [&](const char* key) { return checks.given(at + "node." + key); };
  if (given("slow_share") && !given("slow_factor"))
    checks.require(spec.node->slow_share <= 0, at + "node.slow_share",
                   "is " + shortest(spec.node->slow_share) +
                       " but no factor is given, allowed: with slow_factor above 1");
  if (given("slow_factor") && !given("slow_share"))
    checks.require(spec.node->slow_factor <= 1, at + "node.slow_factor",
                   "is " + shortest(spec.node->slow_factor) +
                       " but no node is slow, allowed: with slow_share above 0");
  if (given("law") && spec.node->law != SpreadSpec::Distribution::Law::empirical)
    checks.require(given("sigma"), at + "node.law",
                   "is given without sigma, allowed: with it, or without law");
}

}  // namespace

void check_stalls(const Scenario& scenario, Checks& checks) {
  const StallsSpec& spec = scenario.stalls;
  if (spec.spread && scenario.synthetic)
    checks.fail("stalls.spread",
                "is given but a synthetic workload has no device that could differ, allowed: none");
  if (spec.spread && checks.good_below("stalls.spread")) check_spread(*spec.spread, checks);
  check_affinity(spec, scenario.cluster.host, checks);
  if (spec.gc_pauses && checks.good({"stalls.gc_pauses.duration", "stalls.gc_pauses.period"})) {
    const auto& gc = *spec.gc_pauses;
    checks.require(gc.duration < gc.period, "stalls.gc_pauses.duration",
                   "is " + shortest(gc.duration.value()) +
                       "s, not less than the period, allowed: " + "less than " +
                       shortest(gc.period.value()) + "s");
  }
  if (!checks.good_below("cluster")) return;
  checks.require(
      !spec.collisions || scenario.cluster.network.routing != NetworkSpec::Routing::ideal,
      "stalls.collisions",
      "is given but cluster.network.routing is ideal and hashes nothing, allowed: none, or "
      "routing ecmp or adaptive");
  const std::int64_t devices = scenario.cluster.devices;
  Roll slow_devices("slow_devices", "device", devices, checks);
  for (std::size_t i = 0; i < spec.slow_devices.size(); ++i)
    slow_devices.add(i, spec.slow_devices[i].devices);
  // Slots are positions in a node, the same on all of them: the back row of every chassis is warm.
  Roll hot("thermal_classes", "slot", scenario.cluster.node_devices, checks);
  for (std::size_t i = 0; i < spec.thermal_classes.size(); ++i)
    hot.add(i, spec.thermal_classes[i].slots);
  Roll slow_hosts("slow_hosts", "node", scenario.cluster.nodes(), checks);
  for (std::size_t i = 0; i < spec.slow_hosts.size(); ++i)
    slow_hosts.add(i, spec.slow_hosts[i].nodes);
  check_throttling(spec, devices, checks);
  check_platform_job(scenario, checks);
  // Links of a platform file are known once SimGrid has read it, which is after this.
  const auto* platform = std::get_if<PlatformFabric>(&scenario.cluster.node_fabric);
  if (platform == nullptr || platform->table != nullptr) check_stalled_links(scenario, checks);
}

void check_stalled_links(const Scenario& scenario, Checks& checks) {
  check_links(scenario.stalls, scenario.cluster, checks);
}

}  // namespace stepcast
