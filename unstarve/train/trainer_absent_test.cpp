#include <catch2/catch.hpp>

#include "unstarve/core/testing/refusal.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

TEST_CASE("without libtorch training is missing, with the remedy") {
  const auto refusal = [](auto call) { return testing::refusal(call, ErrorKind::kMissing); };
  CHECK_THAT(refusal([] { (void)make_trainer({}); }), Catch::Contains("UNSTARVE_TORCH=ON"));
  CHECK_THAT(refusal([] { (void)precision_supported("cpu", Precision::kBfloat16); }), Catch::Contains("libtorch"));
  CHECK_FALSE(trainer_in_build());
  CHECK(libtorch_facts().version.empty());
  CHECK(libtorch_facts().problem.empty());
  CHECK_FALSE(libtorch_facts().cuda);
  CHECK(model_infos().empty());
}

}  // namespace unstarve
