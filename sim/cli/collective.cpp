#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/report_table.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/report/lines.hpp"
#include "stepcast/workloads/collectives.hpp"

namespace stepcast::cli {
namespace {

CollectiveKind kind_of(const std::string& text) {
  std::vector<std::string> known;
  for (std::size_t k = 0; k < collective_kinds; ++k) {
    known.emplace_back(name(static_cast<CollectiveKind>(k)));
    if (known.back() == text) return static_cast<CollectiveKind>(k);
  }
  bad_option("KIND", fmt::format("is '{}', allowed: {}", text, joined(known)));
}

CollectiveCall call_of(const CollectiveOptions& options) {
  const CollectiveKind kind = kind_of(options.kind);
  const std::optional<Bytes> size = parse_bytes(options.size);
  if (!size || size->value() < 1 || size->value() > 1e18) {
    bad_option("--size",
               fmt::format("is '{}', allowed: a size such as 64MiB, 1B to 1e+18B", options.size));
  }
  return {kind, *size};
}

/// The group: `ranks` devices from device 0 on, every `stride`-th.
struct Group {
  std::vector<DeviceId> members;
  std::int64_t stride = 1;
};

Group group_of(const CollectiveOptions& options, const ClusterSpec& cluster) {
  constexpr auto most = static_cast<std::int64_t>(max_devices);
  const std::int64_t ranks = count_option("--ranks", options.ranks, 2, most);
  if (options.kind == name(CollectiveKind::send_recv) && ranks != 2)
    bad_option("--ranks", fmt::format("is {} for a send_recv, allowed: 2", ranks));
  const std::int64_t stride = count_option("--stride", options.stride, 1, most);
  // Members are taken from device 0 on, stride apart.
  if ((ranks - 1) * stride >= cluster.devices) {
    bad_option("--ranks",
               fmt::format("{} ranks with stride {} need more than the {} devices of the cluster; "
                           "give --devices",
                           ranks, stride, cluster.devices));
  }
  Group group{{}, stride};
  for (std::int64_t i = 0; i < ranks; ++i)
    group.members.push_back(DeviceId{static_cast<std::uint32_t>(i * stride)});
  return group;
}

bool wants_pairwise(const CollectiveOptions& options) {
  if (options.network != "ports" && options.network != "pairwise")
    bad_option("--network", fmt::format("is '{}', allowed: ports, pairwise", options.network));
  return options.network == "pairwise";
}

/// Whether a step has more messages than pairs may have (Step::post); other reasons name no key.
bool is_of_pairwise(const InputError& error) {
  return std::ranges::any_of(error.diagnostics(),
                             [](const Diagnostic& d) { return d.path == "simulate.network"; });
}

/// Time of every message as a flow of its own.
Seconds pairwise_time(const Fabric& fabric, std::span<const DeviceId> members,
                      const CollectiveCall& call, std::string_view algorithm) {
  try {
    return lone_time(fabric,
                     plan_collective(fabric, members, call, algorithm, NetworkForm::pairwise));
  } catch (const InputError& error) {
    if (!is_of_pairwise(error)) throw;
    bad_option("--network",
               fmt::format("is pairwise, but {} of {} ranks has a step of more than {} messages, "
                           "allowed: ports, or fewer ranks",
                           algorithm, members.size(), most_pairwise_messages));
  }
}

struct Row {
  std::string algorithm, as_run;
  Seconds time;
  std::optional<Seconds> pairwise = {};  ///< every message a flow of its own
};

/// `auto` and every algorithm that makes this collective of this group, or only the `wanted` one.
std::vector<Row> rows_of(const Fabric& fabric, std::span<const DeviceId> members,
                         const CollectiveCall& call, const std::string& wanted, bool pairwise) {
  std::vector<Row> rows;
  const auto add = [&](std::string_view algorithm, const CollectivePlan& plan) {
    const Seconds launch = fabric.cluster().device.launch.communication;
    Row& row = rows.emplace_back(
        Row{std::string(algorithm), plan.algorithm, launch + lone_time(fabric, plan)});
    if (!pairwise) return;
    row.pairwise = launch + pairwise_time(fabric, members, call, algorithm);
  };
  if (wanted.empty() || wanted == "auto")
    add("auto", plan_collective(fabric, members, call, "auto"));
  for (const NamedAlgorithm& known : collective_algorithms()) {
    if (!wanted.empty() && wanted != known.name) continue;
    if (const auto plan = known.plan(fabric, members, call, NetworkForm::ports))
      add(known.name, *plan);
  }
  return rows;
}

void check_algorithm(const std::string& wanted) {
  std::vector<std::string> known{"auto"};
  for (const NamedAlgorithm& algorithm : collective_algorithms())
    known.emplace_back(algorithm.name);
  if (!wanted.empty() && std::ranges::find(known, wanted) == known.end())
    bad_option("--algorithm", fmt::format("is '{}', allowed: {}", wanted, joined(known)));
}

[[noreturn]] void refuse_algorithm(const std::string& wanted, const Fabric& fabric,
                                   std::span<const DeviceId> members, const CollectiveCall& call) {
  std::vector<std::string> usable;
  for (const Row& row : rows_of(fabric, members, call, "", false)) usable.push_back(row.algorithm);
  bad_option("--algorithm", fmt::format("is {}, which makes no {} of these {} ranks, allowed: {}",
                                        wanted, name(call.kind), members.size(), joined(usable)));
}

ReportTable table_of(const std::vector<Row>& rows, const CollectiveCall& call, std::size_t ranks,
                     bool pairwise) {
  std::vector<TableColumn> columns{text_column("algorithm"), text_column("as run"),
                                   number_column("time"), number_column("algbw"),
                                   number_column("busbw")};
  if (pairwise) columns.push_back(number_column("pairwise time"));
  ReportTable table(std::move(columns));
  for (const Row& row : rows) {
    const BytesPerSecond algbw = call.bytes / row.time;
    std::vector<std::string> cells{row.algorithm, row.as_run, human(row.time), human(algbw),
                                   human(algbw * bus_factor(call.kind, ranks))};
    if (pairwise) cells.push_back(row.pairwise ? human(*row.pairwise) : "");
    table.add(std::move(cells));
  }
  return table;
}

std::string as_json(const ClusterSpec& cluster, const Group& group, const CollectiveCall& call,
                    const std::vector<Row>& rows, Seconds bound) {
  using Json = nlohmann::ordered_json;
  const auto rates = [&](Json json, Seconds time) {
    const BytesPerSecond algbw = call.bytes / time;
    json["time_s"] = time.value();
    json["algbw_bytes_per_s"] = algbw.value();
    json["busbw_bytes_per_s"] = (algbw * bus_factor(call.kind, group.members.size())).value();
    return json;
  };
  Json list = Json::array();
  for (const Row& row : rows) {
    list.push_back(rates({{"algorithm", row.algorithm}, {"as_run", row.as_run}}, row.time));
    if (row.pairwise) list.back()["pairwise_time_s"] = row.pairwise->value();
  }
  const Json json{{"collective", name(call.kind)},
                  {"bytes", call.bytes.value()},
                  {"ranks", group.members.size()},
                  {"stride", group.stride},
                  {"cluster", cluster.name},
                  {"algorithms", list},
                  {"bound", rates(Json::object(), bound)}};
  return json.dump(2) + "\n";
}

}  // namespace

Outcome collective(const CollectiveOptions& options) {
  const CollectiveCall call = call_of(options);
  check_algorithm(options.algorithm);
  const ClusterSpec cluster = cluster_option(options.cluster, options.devices, options);
  // Hashed routes have a mean over what else is on them, and nothing else is here.
  if (cluster.network.routing != NetworkSpec::Routing::ideal)
    refuse_input(place_of(load_document(options.cluster, default_search_path(options.presets)),
                          "network.routing"),
                 "network.routing",
                 "is not ideal, but flows collide with those of other groups of a job, which "
                 "a collective by itself has not, allowed: ideal");
  const Group group = group_of(options, cluster);
  const std::size_t ranks = group.members.size();
  const Fabric fabric(cluster);
  const bool pairwise = wants_pairwise(options);
  std::vector<Row> rows = rows_of(fabric, group.members, call, options.algorithm, pairwise);
  if (rows.empty()) refuse_algorithm(options.algorithm, fabric, group.members, call);
  const Seconds bound = bandwidth_bound(fabric, group.members, call);

  const std::string json = as_json(cluster, group, call, rows, bound);
  // The last row of the table is the bound, which is no algorithm and stands apart in JSON.
  rows.push_back({"bound", "ports and cuts of this fabric", bound});
  const std::string text = fmt::format(
      "{} of {} over {} ranks (stride {}) of {}\n\n{}", name(call.kind), human(call.bytes), ranks,
      group.stride, cluster.name, table_of(rows, call, ranks, pairwise).text("  "));
  return shown(folded(text, lines_width()), options.json, json);
}

}  // namespace stepcast::cli
