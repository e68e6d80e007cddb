#pragma once
#include <Cbc_C_Interface.h>

/// The calls of the solver that placements make, by name. Module `cbc` holds a table of them and is
/// loaded when the first one is made (base/module.hpp); placement_cbc.cpp and column_master.cpp use
/// the names of CBC as if it were linked.
#define STEPCAST_CBC_CALLS(CALL) \
  CALL(newModel)                 \
  CALL(deleteModel)              \
  CALL(setLogLevel)              \
  CALL(setObjSense)              \
  CALL(addCol)                   \
  CALL(addRow)                   \
  CALL(setMIPStartI)             \
  CALL(setMaximumSeconds)        \
  CALL(setMaximumNodes)          \
  CALL(solve)                    \
  CALL(getColSolution)           \
  CALL(getBestPossibleObjValue)  \
  CALL(getObjValue)              \
  CALL(getNodeCount)             \
  CALL(bestSolution)             \
  CALL(isProvenOptimal)          \
  CALL(isProvenInfeasible)

namespace stepcast {

struct CbcCalls {
#define STEPCAST_CBC_CALL(name) decltype(&Cbc_##name) name;
  STEPCAST_CBC_CALLS(STEPCAST_CBC_CALL)
#undef STEPCAST_CBC_CALL
};

}  // namespace stepcast
