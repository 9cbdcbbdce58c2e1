#include <catch2/catch.hpp>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

TEST_CASE("without libtorch training is missing, with the remedy") {
  const auto error_message = [](auto call) { return testing::error_message(call, ErrorKind::kMissing); };
  CHECK_THAT(error_message([] { (void)make_trainer({}); }), Catch::Contains("UNSTARVE_TORCH=ON"));
  CHECK_THAT(error_message([] { (void)precision_supported("cpu", Precision::kBfloat16); }),
             Catch::Contains("libtorch"));
  CHECK_FALSE(trainer_in_build());
  CHECK(libtorch_facts().version.empty());
  CHECK(libtorch_facts().problem.empty());
  CHECK_FALSE(libtorch_facts().cuda);
  CHECK(model_infos().empty());
}

}  // namespace unstarve
