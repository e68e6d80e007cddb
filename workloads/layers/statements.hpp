#pragma once
#include <string>

#include "experts.hpp"

/// What the statements of a framework launch: docs/models/dispatchers.md. Private to
/// workloads/layers.
namespace stepcast::rows {

/// Kernels of a statement, its copies to or from the host, and the waits of the host. The i-th copy
/// and the i-th wait stand behind the i-th kernel, because the kernels behind them need what was
/// read. `operators` of the framework launch the kernels, each its even part of them; with none
/// every kernel and every copy is an operator.
struct Calls {
  int kernels = 1, copies = 0, waits = 0, operators = 0;

  /// The operator that launched kernel `i - 1` launches kernel `i`.
  bool in_call(int i) const {
    return operators > 0 && i > 0 && i * operators / kernels == (i - 1) * operators / kernels;
  }
};

/// A statement with the bytes of all its kernels together.
struct Statement {
  std::string name;
  Calls calls;
  double bytes = 0;
  VectorKind kind = VectorKind::elementwise;
};

/// Appends the kernels, each with its part of the bytes, copies and waits.
void put(LayerItems& items, const Statement& statement);
/// A statement that moves rows of tokens, so many read or written; its shape follows from the
/// routing.
void put_rows(LayerItems& items, const Experts& e, std::string name, Calls calls, double rows,
              VectorKind kind = VectorKind::elementwise);

/// What PyTorch makes of a statement on a GPU, and `torch_npu` on an NPU.
struct Platform {
  bool npu;

  Calls top_k() const { return one(npu ? 1 : 2); }
  /// Out of place: with a copy of the whole operand on a GPU.
  Calls scatter() const { return one(npu ? 1 : 2); }
  Calls nonzero() const { return npu ? Calls{1, 0, 1} : Calls{5, 1, 1, 1}; }
  Calls masked_select() const { return npu ? Calls{1, 0, 1} : Calls{6, 1, 1, 1}; }
  Calls masked_scatter() const { return one(npu ? 1 : 4); }
  /// More than 2048 keys of so many bytes: three kernels and one per 8 bits of the key. MindSpeed
  /// casts first.
  Calls argsort(int key_bytes) const { return npu ? Calls{2} : one(3 + key_bytes); }
  Calls bincount() const { return npu ? Calls{3, 0, 2} : Calls{4, 2, 2, 1}; }
  Calls histogram() const { return one(npu ? 1 : 2); }
  Calls repeat_interleave() const { return npu ? Calls{2, 0, 1} : Calls{6, 1, 2, 1}; }
  /// One kernel joins so many pieces; of NPUs an assumption.
  int pieces_of_cat() const { return npu ? 32 : 128; }

 private:
  static Calls one(int kernels) { return {.kernels = kernels, .operators = 1}; }
};

/// The platform of a dispatcher that has a form.
inline Platform platform_of(const Experts& e) { return {e.form->npu}; }

}  // namespace stepcast::rows
