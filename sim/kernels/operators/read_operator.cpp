#include <algorithm>
#include <cmath>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/kernels/operator_rows.hpp"

namespace stepcast {
namespace {

constexpr double largest_size = 0x1p31 - 1;  // kernels count rows and columns in 32 bits
constexpr double largest_count = 0x1p53;     // of bytes or parameters: exact as a double

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

template <class Range, class Name>
std::string joined_names(const Range& range, Name name) {
  std::vector<std::string> names;
  names.reserve(std::size(range));
  for (const auto& item : range) names.emplace_back(name(item));
  return joined(names);
}

/// Reads the cells of one row, and remembers what is wrong with them.
class OperatorReader {
 public:
  OperatorReader(const OperatorCells& cells, std::vector<OperatorProblem>& problems)
      : cells_{cells}, problems_{problems} {}

  std::optional<OperatorRequest> request() {
    const std::size_t before = problems_.size();
    const std::optional<std::string_view> kind = needed(OperatorColumn::kind, allowed_kinds());
    if (!kind) return {};
    request_.kind = find_operator_kind(*kind);
    if (request_.kind == nullptr) {
      refuse(OperatorColumn::kind, *kind, allowed_kinds());
      return {};
    }
    for (const OperatorColumn column : request_.kind->sizes) size(column);
    if (has_sequences(request_.kind->of) && given(OperatorColumn::batch))
      size(OperatorColumn::batch);
    if (request_.kind->of == OperatorClass::attention) attention();
    type();
    if (problems_.size() > before) return {};
    return request_;
  }

 private:
  static std::string allowed_kinds() {
    return joined_names(operator_kinds(), [](const OperatorKind& kind) { return kind.name; });
  }

  void refuse(OperatorColumn column, std::string_view text, const std::string& allowed) {
    const std::string two = two_counts(text);
    problems_.push_back(
        {column, two.empty() ? "is " + in_quotes(text) + ", allowed: " + allowed : two});
  }

  /// The cell without blanks; nothing when it is empty or its column is not there.
  std::optional<std::string_view> given(OperatorColumn column) const {
    const auto& cell = cells_[static_cast<std::size_t>(column)];
    if (!cell || trimmed(*cell).empty()) return {};
    return trimmed(*cell);
  }

  std::optional<std::string_view> needed(OperatorColumn column, const std::string& allowed) {
    const auto cell = given(column);
    if (cell) return cell;
    const bool missing = !cells_[static_cast<std::size_t>(column)];
    const std::string of =
        request_.kind == nullptr ? std::string{"every operator"} : std::string(request_.kind->name);
    problems_.push_back(
        {column, missing ? "is missing, " + of + " needs it" : "is empty, allowed: " + allowed,
         missing});
    return {};
  }

  void whole(OperatorColumn column, double least, double most, double& target) {
    const std::string allowed =
        "a whole number, " + shortest(least) + " to " + std::to_string(std::llround(most));
    const auto cell = needed(column, allowed);
    if (!cell) return;
    const auto value = parse_count(*cell);
    if (value && *value >= least && *value <= most)
      target = *value;
    else
      refuse(column, *cell, allowed);
  }

  void size(OperatorColumn column) {
    const auto target = size_in(column);
    if (target == nullptr) return ranks();
    const bool counted = column == OperatorColumn::m_or_bytes && counts();
    whole(column, 1, counted ? largest_count : largest_size, request_.shape.*target);
  }

  /// Whether m is a number of bytes or parameters and no side of a matrix.
  bool counts() const {
    return request_.kind->of == OperatorClass::collective || request_.kind->sizes.size() == 1;
  }

  void ranks() {
    const bool pair = request_.kind->collective == CollectiveKind::send_recv;
    double ranks = 0;
    whole(OperatorColumn::ranks, 2, pair ? 2 : max_devices, ranks);
    request_.ranks = static_cast<std::int64_t>(ranks);
  }

  void attention() {
    KernelShape& s = request_.shape;
    if (const auto causal = given(OperatorColumn::causal)) {
      s.causal = *causal == "yes";
      if (!s.causal && *causal != "no") refuse(OperatorColumn::causal, *causal, "yes, no");
    }
    const auto generation = given(OperatorColumn::generation);
    if (!generation) return;
    const auto known = named_generations();
    const auto found = std::ranges::find(known, *generation, &AttentionGenerationName::name);
    if (found != known.end())
      s.generation = &*found;
    else
      refuse(OperatorColumn::generation, *generation,
             joined_names(known, [](const AttentionGenerationName& g) { return g.name; }));
  }

  void type() {
    const std::string allowed =
        joined_names(request_.kind->types, [](ElementType t) { return name(t); });
    const auto cell = needed(OperatorColumn::type, allowed);
    if (!cell) return;
    for (const ElementType type : request_.kind->types)
      if (name(type) == *cell) {
        request_.shape.type = type;
        return;
      }
    refuse(OperatorColumn::type, *cell, allowed);
  }

  const OperatorCells& cells_;
  std::vector<OperatorProblem>& problems_;
  OperatorRequest request_;
};

}  // namespace

std::optional<OperatorRequest> read_operator(const OperatorCells& cells,
                                             std::vector<OperatorProblem>& problems) {
  return OperatorReader{cells, problems}.request();
}

void check_operator(const OperatorRequest& request, const OperatorForecaster& cluster,
                    std::vector<OperatorProblem>& problems) {
  const ElementType type = request.shape.type;
  if (!cluster.has(type)) {
    std::vector<std::string> allowed;
    for (const ElementType other : request.kind->types)
      if (cluster.has(other)) allowed.emplace_back(name(other));
    problems.push_back({OperatorColumn::type, "is '" + std::string(name(type)) + "', which " +
                                                  cluster.cluster().device.name +
                                                  " lacks, allowed: " + joined(allowed)});
  }
  const AttentionGenerationName* generation = request.shape.generation;
  const AttentionEfficiency& kernels = cluster.cluster().device.efficiency.attention;
  if (generation != nullptr && kernels.of(generation->kernel) == nullptr) {
    std::vector<std::string> allowed;
    for (const AttentionGenerationName& known : named_generations())
      if (kernels.of(known.kernel) != nullptr) allowed.emplace_back(known.name);
    problems.push_back(
        {OperatorColumn::generation, "is '" + std::string(generation->name) + "', which " +
                                         cluster.cluster().device.name +
                                         " has no numbers for, allowed: " + joined(allowed)});
  }
  if (request.kind->of == OperatorClass::collective && request.ranks > cluster.most_ranks())
    problems.push_back(
        {OperatorColumn::ranks, "is '" + std::to_string(request.ranks) + "', allowed: 2 to the " +
                                    std::to_string(cluster.most_ranks()) + " devices of a " +
                                    (cluster.cluster().super_node ? "super-node" : "node") +
                                    " of " + cluster.cluster().name});
}

}  // namespace stepcast
