#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/topology/cluster_spec.hpp"
#include "stepcast/workloads/collectives.hpp"
#include "stepcast/workloads/operators.hpp"

/// Here single kernels stand as people write and measure them: one table of their kinds, with the
/// columns that give the shape of each. docs/formats/operators.md documents it.
namespace stepcast {

/// The columns of a table of operators that say what is run; others are kept as they are.
enum class OperatorColumn {
  device,
  kind,
  ranks,
  m_or_bytes,
  k,
  n,
  groups,
  heads,
  head_size,
  sequence,
  batch,
  causal,
  generation,
  type,
  top_k
};
inline constexpr std::size_t operator_columns = 15;
struct OperatorColumnInfo {
  std::string_view name;    ///< in the header of a table
  std::string_view option;  ///< of `stepcast operator`; empty: there is none
  std::string_view meaning;
};
const OperatorColumnInfo& info(OperatorColumn column);

/// The type of the elements that a kernel reads; a collective counts bytes.
enum class ElementType { bf16, fp16, fp8, bytes };
const char* name(ElementType type);

/// The generations of attention kernels that a row may name.
struct AttentionGenerationName {
  std::string_view name;
  AttentionGeneration kernel;  ///< whose numbers of the cluster file hold
};
std::span<const AttentionGenerationName> named_generations();

/// What one kernel works on. Of the sizes only those are set that its kind takes.
struct KernelShape {
  double m = 0;  ///< rows; of a group; parameters of an optimizer; bytes of a collective
  double k = 0, n = 0, groups = 1;
  double heads = 0, head_size = 0, sequence = 0, batch = 1;
  double top_k = 0;  ///< tokens that a query of sparse attention sees
  bool causal = true;
  const AttentionGenerationName* generation = nullptr;  ///< of attention; nullptr: the cluster's
  ElementType type = ElementType::bf16;
};

/// The size that a column gives; it is nullptr for ranks and for what is no number.
double KernelShape::*size_in(OperatorColumn column);

/// The class says how errors of kinds are put together.
enum class OperatorClass {
  product,
  grouped_product,
  attention,
  linear_attention,
  sparse_attention,
  vector,
  collective
};
const char* name(OperatorClass which);
/// Whether its kernels take several sequences at once.
bool has_sequences(OperatorClass which);

/// One kind of operator: a row of the one table.
struct OperatorKind {
  std::string_view name;
  OperatorClass of;
  std::string_view meaning;             ///< what is computed, with the letters of the columns
  std::vector<OperatorColumn> sizes;    ///< the columns that it needs
  std::vector<ElementType> types = {};  ///< that it takes
  /// The kernels that it runs, one after the other; there are none for a collective.
  std::vector<Operator> (*kernels)(const KernelShape&) = nullptr;
  std::optional<CollectiveKind> collective = {};  ///< of a collective
};
std::span<const OperatorKind> operator_kinds();
/// The kind of that name or other name; it is nullptr where there is none.
const OperatorKind* find_operator_kind(std::string_view name);

}  // namespace stepcast
