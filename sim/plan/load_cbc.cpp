// The functions of CBC's C interface as placements call them, passed on to the module. They are the
// program's own and not seen by the solver, whose library keeps its names to itself.
#include <string>

#include "cbc_calls.hpp"
#include "stepcast/base/module.hpp"

namespace stepcast {

const std::string& cbc_fingerprint();  // cmake/fingerprint.cmake

namespace {

const CbcCalls& cbc() {
  // Loaded once, at the first placement.
  static const auto* const calls =
      static_cast<const CbcCalls*>(module_entry("cbc", "stepcast_cbc_calls", cbc_fingerprint()));
  return *calls;
}

}  // namespace
}  // namespace stepcast

using stepcast::cbc;

Cbc_Model* Cbc_newModel() { return cbc().newModel(); }
void Cbc_deleteModel(Cbc_Model* model) { cbc().deleteModel(model); }
void Cbc_setLogLevel(Cbc_Model* model, int value) { cbc().setLogLevel(model, value); }
void Cbc_setObjSense(Cbc_Model* model, double sense) { cbc().setObjSense(model, sense); }
void Cbc_addCol(Cbc_Model* model, const char* name, double low, double high, double cost,
                char whole, int count, int* rows, double* factors) {
  cbc().addCol(model, name, low, high, cost, whole, count, rows, factors);
}
void Cbc_addRow(Cbc_Model* model, const char* name, int count, const int* columns,
                const double* factors, char sense, double right) {
  cbc().addRow(model, name, count, columns, factors, sense, right);
}
void Cbc_setMIPStartI(Cbc_Model* model, int count, const int columns[], const double values[]) {
  cbc().setMIPStartI(model, count, columns, values);
}
void Cbc_setMaximumSeconds(Cbc_Model* model, double seconds) {
  cbc().setMaximumSeconds(model, seconds);
}
void Cbc_setMaximumNodes(Cbc_Model* model, int nodes) { cbc().setMaximumNodes(model, nodes); }
int Cbc_solve(Cbc_Model* model) { return cbc().solve(model); }
const double* Cbc_getColSolution(Cbc_Model* model) { return cbc().getColSolution(model); }
double Cbc_getBestPossibleObjValue(Cbc_Model* model) {
  return cbc().getBestPossibleObjValue(model);
}
double Cbc_getObjValue(Cbc_Model* model) { return cbc().getObjValue(model); }
int Cbc_getNodeCount(Cbc_Model* model) { return cbc().getNodeCount(model); }
double* Cbc_bestSolution(Cbc_Model* model) { return cbc().bestSolution(model); }
int Cbc_isProvenOptimal(Cbc_Model* model) { return cbc().isProvenOptimal(model); }
int Cbc_isProvenInfeasible(Cbc_Model* model) { return cbc().isProvenInfeasible(model); }
