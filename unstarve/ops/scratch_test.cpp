#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/ops/operations.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

TEST_CASE("no operation uses more scratch memory than it reports") {
  std::vector<OpSpec> specs;
  for (const OperationInfo& info : operations()) specs.push_back(testing::defaults(info.name));
  specs.push_back({"gaussian_blur", {{"sigma", {0.1, 20}}}});
  specs.push_back({"gaussian_blur", {{"radius", {64}}}});
  for (const char* filter : {"nearest", "bilinear", "bicubic", "box", "lanczos", "area"}) {
    specs.push_back({"resize", {{"size", {700, 900}}, {"interpolation", filter}}});
    specs.push_back({"resize", {{"size", {5}}, {"interpolation", filter}}});
    specs.push_back({"resize", {{"size", {5}}, {"interpolation", filter}, {"antialias", "false"}}});
  }
  Random made_up(1, 0, 0, 0);
  bool taken = false;
  for (const OpSpec& spec : specs) {
    CAPTURE(spec.name);
    const auto operation = make_operation(spec);
    for (const Size size : {Size{1, 1}, {23, 25}, {60, 40}, {300, 200}, {2000, 30}, {30, 2000}}) {
      CAPTURE(size.width, size.height);
      const testing::Pixels pixels(size, testing::Arrangement::kInterleaved, made_up);
      for (std::uint64_t sample = 0; sample < 8; ++sample) {
        Scratch scratch;
        Random random(11, 2, sample, 3);
        Frame frame(pixels.view);
        frame.crop(operation->select(size, random));
        operation->apply(frame, random, scratch);
        REQUIRE(scratch.other_bytes() <= operation->scratch_bytes(size));
        taken = taken || scratch.other_bytes() > 0;
      }
    }
  }
  CHECK(taken);
}

}  // namespace
}  // namespace unstarve
