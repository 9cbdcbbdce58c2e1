#include <fmt/format.h>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

Decision apply(Plan& plan, const PassInput& input) {
  if (!plan.encoded) return {false, "samples are stored as pixels"};
  if (plan.spec.cache.what == CacheWhat::kPixels) return {false, "whole images are decoded once, for the cache"};
  if (!plan.spec.decode.crop_only) return {false, "switched off by decode.crop_only"};
  if (plan.operations.empty()) return {false, "no operation selects a part"};
  Random random(plan.spec.order.seed, 0, 0, 0);
  const Operation& first = *plan.operations[0];
  if (first.select(input.probed, random) == Rect{0, 0, input.probed.width, input.probed.height} &&
      !first.fixed_output())
    return {false, fmt::format("{} reads the whole image", plan.spec.operations[0].name)};
  plan.crop_into_decode = true;
  return {true, fmt::format("only what {} reads is decoded", plan.spec.operations[0].name)};
}

}  // namespace

const Pass kCropIntoDecodePass{"crop_into_decode", true, "decodes only the part that the first operation reads", apply};

}  // namespace unstarve
