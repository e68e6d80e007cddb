#include <gtest/gtest.h>

#include "random_job.hpp"
#include "sim/in_child.hpp"

namespace stepcast {
namespace {

using namespace testing;

// Names of calls and operators are for reports: a job whose rows are all called alike takes as
// long.
TEST(CallNames, ChangeNoTime) {
  EXPECT_TRUE(rc::check([] {
    Job job = random_job();
    job.algorithms = random_algorithms();
    job.form = *rc::gen::element(NetworkForm::ports, NetworkForm::pairwise);
    const auto named = in_child([&] { return result_of(job, Fold::automatic); });
    for (StageProgram& program : job.programs) {
      for (StageCall& call : program.calls) call.name = "row";
      for (std::string& name : program.operator_names) name = "row";
    }
    const auto alike = in_child([&] { return result_of(job, Fold::automatic); });
    RC_ASSERT(!named.empty());
    RC_ASSERT(named == alike);
  }));
}

}  // namespace
}  // namespace stepcast
