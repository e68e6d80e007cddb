#include <algorithm>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/format_version.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/sim/kernels/operator_interval.hpp"

namespace stepcast {
namespace {

constexpr const char* shipped_file = "residuals/operators.yaml";
constexpr Range a_quotient = between(0.001, 1000);

bool is_size(OperatorColumn column) {
  return column == OperatorColumn::ranks || size_in(column) != nullptr;
}

void describe(Visitor& visitor, QuotientRange& range) {
  visitor.field(
      {"low", &range.low, "measured over forecast: one of ten is below", a_quotient, true});
  visitor.field({"high", &range.high, "one of ten is above", a_quotient, true});
}

void describe(Visitor& visitor, std::array<double, operator_columns>& sizes) {
  for (std::size_t i = 0; i < operator_columns; ++i) {
    const auto column = static_cast<OperatorColumn>(i);
    if (is_size(column))
      visitor.field({info(column).name, &sizes[i], "of a measured row; 0: the kind has none",
                     between(0, 0x1p53)});
  }
}

void describe(Visitor& visitor, KindResiduals& spec) {
  visitor.field({"device", &spec.device, "its name in a cluster file", any_number(), true});
  visitor.field({"kind", &spec.kind, "of stepcast operator", any_number(), true});
  visitor.field({"rows", &spec.rows, "that were judged", at_least(1), true});
  describe(visitor, spec.range);
  visitor.field({"types", &spec.types, "of operands that were measured", any_number(), true});
  visitor.field({"generations", &spec.generations, "of attention that were measured"});
  // Between these sizes a residual is one of interpolation; beyond them the range says so.
  visitor.section("least", "smallest sizes that were measured",
                  [&](Visitor& v) { describe(v, spec.least); });
  visitor.section("most", "largest sizes that were measured",
                  [&](Visitor& v) { describe(v, spec.most); });
}

const KindResiduals* find(const OperatorResiduals& residuals, const std::string& device,
                          std::string_view kind) {
  for (const KindResiduals& known : residuals.kinds)
    if (known.device == device && known.kind == kind) return &known;
  return nullptr;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// With a type and a kernel that were measured, and every size between the smallest and the
/// largest: a box, not the rows, since tables have few sizes of each side.
bool was_measured(const KindResiduals& known, const OperatorRequest& request) {
  if (!has(known.types, residual_type(request))) return false;
  if (request.kind->of == OperatorClass::attention &&
      !has(known.generations, residual_generation(request)))
    return false;
  for (std::size_t i = 0; i < operator_columns; ++i) {
    const double size = size_of(request, static_cast<OperatorColumn>(i));
    if (size > 0 && (size < known.least[i] || size > known.most[i])) return false;
  }
  return true;
}

}  // namespace

const char* name(MeasuredShape shape) {
  switch (shape) {
    case MeasuredShape::inside:
      return "measured";
    case MeasuredShape::outside:
      return "outside";
    case MeasuredShape::not_measured:
      return "not measured";
  }
  return "";
}

double size_of(const OperatorRequest& request, OperatorColumn column) {
  const OperatorKind& kind = *request.kind;
  // A batch is a size where it counts sequences.
  const bool batch = column == OperatorColumn::batch && has_sequences(kind.of);
  if (!batch && std::ranges::find(kind.sizes, column) == kind.sizes.end()) return 0;
  const auto size = size_in(column);
  return size != nullptr ? request.shape.*size : static_cast<double>(request.ranks);
}

std::string residual_type(const OperatorRequest& request) {
  const ElementType type = request.shape.type;
  // Kernels take as long with either 16-bit type.
  return name(type == ElementType::fp16 ? ElementType::bf16 : type);
}

std::string residual_generation(const OperatorRequest& request) {
  const AttentionGenerationName* generation = request.shape.generation;
  return std::string(generation == nullptr ? "library" : generation->name);
}

std::optional<OperatorInterval> operator_interval(const OperatorResiduals& residuals,
                                                  const std::string& device,
                                                  const OperatorRequest& request, Seconds time) {
  if (!residuals.common) return {};
  // What was never measured may be as wrong as anything that was.
  QuotientRange range = residuals.common->widest;
  MeasuredShape shape = MeasuredShape::not_measured;
  if (const KindResiduals* known = find(residuals, device, request.kind->name)) {
    const QuotientRange& all = residuals.common->together;
    const bool inside = was_measured(*known, request);
    shape = inside ? MeasuredShape::inside : MeasuredShape::outside;
    // Beyond the sizes that were measured a kind may be as wrong as all rows together.
    range = inside ? known->range
                   : QuotientRange{std::min(all.low, known->range.low),
                                   std::max(all.high, known->range.high)};
  }
  return OperatorInterval{time * range.low, time * range.high, shape};
}

void describe(Visitor& visitor, OperatorResiduals& spec) {
  describe_format_version(visitor, true);
  CommonRanges& common = spec.common ? *spec.common : spec.common.emplace();
  visitor.section("together", "all rows, where every kind of a device counts the same",
                  [&](Visitor& v) { describe(v, common.together); });
  visitor.section("widest", "the widest range of all kinds",
                  [&](Visitor& v) { describe(v, common.widest); });
  // Both are in each file; absent is only a scenario without any.
  visitor.list(
      "residuals", "by device and kind", spec.kinds.size(),
      [&](std::size_t size) { spec.kinds.resize(size); },
      [&](Visitor& v, std::size_t i) { describe(v, spec.kinds[i]); });
}

OperatorResiduals read_residuals(const std::string& path, const SearchPath& search) {
  const Node root = load_document(path, search);
  OperatorResiduals residuals;
  Reading reading;
  read_mapping(root, {}, reading, [&](Visitor& v) { describe(v, residuals); });
  // Kinds are the words of the operator command, which may change between versions.
  for (const KindResiduals& known : residuals.kinds)
    if (find_operator_kind(known.kind) == nullptr)
      reading.report({path}, "residuals",
                     "name '" + known.kind + "', allowed: a kind of stepcast operator");
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
  return residuals;
}

OperatorResiduals shipped_residuals(const SearchPath& search) {
  if (!find_file(shipped_file, {}, search)) return {};
  return read_residuals(shipped_file, search);
}

}  // namespace stepcast
