// Module `simgrid`: the links and routes between some hosts of a platform file.
#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/s4u.hpp>
#include <unordered_map>

#include "stepcast/sim/engine/platform_file.hpp"

namespace stepcast {
namespace {

namespace s4u = simgrid::s4u;

/// The module calls nothing of the other layers, so that it throws no error of theirs.
struct RefusedPlatform {
  std::string key, wrong;
};

[[noreturn]] void refuse_platform(const std::string& key, const std::string& wrong) {
  throw RefusedPlatform{key, wrong};
}

s4u::NetZone* platform_root(const std::string& file) {
  static int argc = 2;
  static char name[] = "stepcast";
  // SimGrid prints what it reads otherwise, into the output of the command.
  static char quiet[] = "--log=root.thres:critical";
  static char* argv[] = {name, quiet, nullptr};
  auto* engine = new s4u::Engine(&argc, argv);  // lives as long as the process
  engine->load_platform(file);
  s4u::NetZone* root = engine->get_netzone_root();
  root->seal();  // loading does not
  return root;
}

/// In the order of the file: zones and their points are numbered as they are made, while SimGrid's
/// own lists go by name.
void add_hosts(const s4u::NetZone& zone,
               const std::map<const s4u::NetZone*, std::vector<s4u::Host*>>& of_zone,
               std::vector<s4u::Host*>& hosts) {
  if (const auto found = of_zone.find(&zone); found != of_zone.end()) {
    std::vector<s4u::Host*> own = found->second;
    std::ranges::sort(own, {}, [](const s4u::Host* host) { return host->get_netpoint()->id(); });
    hosts.insert(hosts.end(), own.begin(), own.end());
  }
  for (const s4u::NetZone* part : zone.get_children()) add_hosts(*part, of_zone, hosts);
}

std::vector<s4u::Host*> hosts_of_file(const s4u::NetZone& root) {
  std::map<const s4u::NetZone*, std::vector<s4u::Host*>> of_zone;
  for (s4u::Host* host : s4u::Engine::get_instance()->get_all_hosts())
    of_zone[host->get_englobing_zone()].push_back(host);
  std::vector<s4u::Host*> hosts;
  add_hosts(root, of_zone, hosts);
  // Files of `topology --platform` have zones of leaves, which hold devices of several nodes.
  if (root.get_property("stepcast.devices") != nullptr)
    std::ranges::stable_sort(hosts, {}, [](const s4u::Host* host) {
      const std::string& name = host->get_name();
      return std::strtoull(name.c_str() + name.find(':') + 1, nullptr, 10);
    });
  return hosts;
}

/// Links get their numbers as routes first cross them.
class TableMaker {
 public:
  explicit TableMaker(std::vector<s4u::Host*> hosts) : hosts_{std::move(hosts)} {}

  PlatformTable make() {
    for (const s4u::Host* host : hosts_) table_.hosts.push_back(host->get_name());
    for (const s4u::Host* from : hosts_)
      for (const s4u::Host* to : hosts_) {
        // Routes lie one behind another; `first` has where each begins, and one more for the end.
        table_.first.push_back(table_.crossed.size());
        if (from != to) add_route(*from, *to);
      }
    table_.first.push_back(table_.crossed.size());
    return std::move(table_);
  }

 private:
  void add_route(const s4u::Host& from, const s4u::Host& to) {
    std::vector<s4u::Link*> links;
    double latency = 0;
    from.route_to(&to, links, &latency);
    double narrowest = std::numeric_limits<double>::infinity();
    const std::size_t first = table_.crossed.size();
    for (const s4u::Link* link : links) {
      // A link without bandwidth would make steps that never end.
      if (!(link->get_bandwidth() > 0))
        refuse_platform("file", "has the link " + link->get_name() + " of no bandwidth between " +
                                    between(from, to) + ", allowed: above 0");
      if (link->get_sharing_policy() == s4u::Link::SharingPolicy::FATPIPE) continue;
      narrowest = std::min(narrowest, link->get_bandwidth());
      table_.crossed.push_back(index_of(*link));
    }
    // Two devices without a shared link between them would talk at infinite speed.
    if (table_.crossed.size() == first)
      refuse_platform("file", "has no route from " + between(from, to) +
                                  ", allowed: one of links that are shared");
    for (const s4u::Link* link : links) check_pipe(*link, narrowest);
  }

  /// Flows do not share such a link but none is faster than it, which flows of many messages do not
  /// know.
  static void check_pipe(const s4u::Link& link, double narrowest) {
    if (link.get_sharing_policy() != s4u::Link::SharingPolicy::FATPIPE) return;
    if (link.get_bandwidth() >= narrowest && !(link.get_latency() > 0)) return;
    refuse_platform("file",
                    "has the link " + link.get_name() +
                        " that nobody shares (FATPIPE) and that has a latency or is narrower "
                        "than others of its routes, allowed: SHARED, SPLITDUPLEX");
  }

  std::uint32_t index_of(const s4u::Link& link) {
    const auto [place, fresh] = index_.try_emplace(&link, index_.size());
    if (fresh)
      table_.links.push_back(
          {link.get_name(), BytesPerSecond{link.get_bandwidth()}, Seconds{link.get_latency()}});
    return static_cast<std::uint32_t>(place->second);
  }

  static std::string between(const s4u::Host& from, const s4u::Host& to) {
    return from.get_name() + " to " + to.get_name();
  }

  std::vector<s4u::Host*> hosts_;
  std::unordered_map<const s4u::Link*, std::size_t> index_;
  PlatformTable table_;
};

PlatformTable table_of_simgrid(const std::string& file, const std::string& pattern,
                               std::int64_t devices) {
  const s4u::NetZone* root = platform_root(file);
  std::vector<s4u::Host*> hosts = hosts_of_file(*root);
  const std::size_t all = hosts.size();
  // The pattern is the shell's, with * and ?.
  std::erase_if(hosts, [&](const s4u::Host* host) {
    return fnmatch(pattern.c_str(), host->get_cname(), 0) != 0;
  });
  if (std::ssize(hosts) < devices)
    refuse_platform(
        "hosts",
        "is '" + pattern + "', which " + std::to_string(hosts.size()) + " of the " +
            std::to_string(all) + " hosts of the file match, allowed: at least the " +
            std::to_string(devices) + " devices of the cluster" +
            (hosts.empty() ? "" : ", or --set cluster.devices=" + std::to_string(hosts.size())));
  // Hosts beyond the cluster's devices are left alone.
  hosts.resize(static_cast<std::size_t>(devices));
  return TableMaker(std::move(hosts)).make();
}

}  // namespace
}  // namespace stepcast

extern "C" [[gnu::visibility("default")]] stepcast::PlatformAnswer* stepcast_read_platform_table(
    const std::string& file, const std::string& pattern, std::int64_t devices) {
  auto answer = std::make_unique<stepcast::PlatformAnswer>();
  try {
    answer->table = stepcast::table_of_simgrid(file, pattern, devices);
  } catch (const stepcast::RefusedPlatform& refused) {
    answer->key = refused.key;
    answer->wrong = refused.wrong;
  }
  return answer.release();
}
