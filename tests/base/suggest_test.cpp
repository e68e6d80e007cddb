#include "stepcast/base/suggest.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

TEST(Suggestions, BeginBeforeTheyHoldBeforeTheyAreNear) {
  const std::vector<std::string> models{"qwen3-235b-a22b", "qwen3-30b-a3b", "llama3-70b",
                                        "llama3-8b"};
  EXPECT_EQ(did_you_mean("qwen3-235b", models), "; did you mean qwen3-235b-a22b?");
  EXPECT_EQ(did_you_mean("llama3", models), "; did you mean llama3-70b or llama3-8b?");
  EXPECT_EQ(did_you_mean("lama3-8b", models, "models/", ".yaml"),
            "; did you mean models/llama3-8b.yaml?");
  EXPECT_EQ(did_you_mean("nothing", models), "");
  const std::vector<std::string> boards{"dgx-h100", "h100-24k", "h100-32k", "h100-96gb"};
  EXPECT_EQ(did_you_mean("h100", boards), "; did you mean h100-24k, h100-32k or dgx-h100?");
  const std::vector<std::string> keys{"sequence", "precision"};
  EXPECT_EQ(did_you_mean("seq_length", keys), "; did you mean sequence?");
  const std::vector<std::string> words{"fp16", "bf16", "fp8_mixed"};
  EXPECT_EQ(did_you_mean("fp8", words), "; did you mean fp8_mixed?");
  const std::vector<std::string> paths{"parallel.tp", "parallel.pp", "training.sequence"};
  EXPECT_EQ(did_you_mean("tp", paths), "; did you mean parallel.tp?");
  // What others call it comes before what is spelled alike.
  const std::vector<std::string> batches{"batch_copy", "global_batch", "micro_batch"};
  EXPECT_EQ(did_you_mean("batch_size", batches), "; did you mean global_batch or micro_batch?");
  EXPECT_EQ(did_you_mean("--format", std::vector<std::string>{"--json", "--set"}),
            "; did you mean --json?");
  const std::vector<std::string> clusters{"atlas-800t-a2", "atlas-900-a3", "dgx-h100"};
  EXPECT_EQ(did_you_mean("atlas-800t-a3", clusters),
            "; did you mean atlas-800t-a2 or atlas-900-a3?");
}

}  // namespace
}  // namespace stepcast
