#include "unstarve/jobs/common/findings.h"

#include <catch2/catch.hpp>
#include <vector>

namespace unstarve {
namespace {

TEST_CASE("the text states a confidence that is not high") {
  RunFinding finding{"a", "title", "evidence", "change", 0.5, 2};
  finding.confidence = Confidence::kLow;
  CHECK_THAT(findings_to_text(std::vector{finding}), Catch::Contains("1. title (low confidence)\n"));
  finding.confidence = Confidence::kHigh;
  CHECK_THAT(findings_to_text(std::vector{finding}), Catch::Contains("1. title\n"));
}

}  // namespace
}  // namespace unstarve
