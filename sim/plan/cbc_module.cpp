// Module `cbc`: the only code that links the solver.
#include "cbc_calls.hpp"

extern "C" [[gnu::visibility("default")]] const stepcast::CbcCalls stepcast_cbc_calls;
const stepcast::CbcCalls stepcast_cbc_calls = {
#define STEPCAST_CBC_CALL(name) &Cbc_##name,
    STEPCAST_CBC_CALLS(STEPCAST_CBC_CALL)
#undef STEPCAST_CBC_CALL
};
