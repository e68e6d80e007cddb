// Module `simgrid`: what SimGrid reads of a platform file.
#include <algorithm>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>

#include "stepcast/topology/platform.hpp"

namespace stepcast {
namespace {

namespace s4u = simgrid::s4u;

/// `device:9` comes before `device:10`.
bool earlier(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

Platform read_by_simgrid(const std::string& file) {
  static int argc = 2;
  static char name[] = "stepcast";
  static char quiet[] = "--log=root.thres:critical";
  static char* argv[] = {name, quiet, nullptr};
  auto* engine = new s4u::Engine(&argc, argv);
  engine->load_platform(file);
  engine->get_netzone_root()->seal();  // loading does not
  // By number, since SimGrid's own list goes by name.
  std::vector<s4u::Host*> hosts = engine->get_all_hosts();
  std::ranges::sort(hosts, [](const s4u::Host* a, const s4u::Host* b) {
    return earlier(a->get_name(), b->get_name());
  });
  Platform platform;
  platform.name = engine->get_netzone_root()->get_name();
  for (const s4u::Host* host : hosts) {
    // Other people's files have no such property: all hosts are one node then.
    const char* node = host->get_property("node");
    platform.hosts.push_back(
        {host->get_name(), node ? static_cast<std::uint32_t>(std::stoul(node)) : 0});
  }
  std::map<std::string, std::uint32_t> index;
  for (const s4u::Link* link : engine->get_all_links()) {
    // Links that nobody shares limit nobody and are left out of routes as well.
    if (link->get_sharing_policy() == s4u::Link::SharingPolicy::FATPIPE) continue;
    index[link->get_name()] = static_cast<std::uint32_t>(platform.links.size());
    platform.links.push_back({link->get_name(), link->get_bandwidth(), link->get_latency()});
  }
  platform.route = [hosts, index](std::uint32_t from, std::uint32_t to) {
    std::vector<s4u::Link*> links;
    double latency = 0;
    hosts[from]->route_to(hosts[to], links, &latency);
    // SimGrid gives links by pointer; the table knows them by name.
    std::vector<std::uint32_t> result;
    for (const s4u::Link* link : links)
      if (const auto found = index.find(link->get_name()); found != index.end())
        result.push_back(found->second);
    return result;
  };
  return platform;
}

}  // namespace
}  // namespace stepcast

extern "C" [[gnu::visibility("default")]] stepcast::Platform* stepcast_read_platform(
    const std::string& file) {
  return std::make_unique<stepcast::Platform>(stepcast::read_by_simgrid(file)).release();
}
