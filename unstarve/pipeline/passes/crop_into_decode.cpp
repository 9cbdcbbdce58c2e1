#include <fmt/format.h>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

Decision apply(Plan& plan, const PassInput& input) {
  if (!plan.encoded) return {false, "samples are stored as pixels"};
  if (plan.spec.cache.what == CacheWhat::kPixels) return {false, "whole images are decoded once, for the cache"};
  if (!plan.spec.decode.crop_only) return {false, "switched off by decode.crop_only"};
  if (plan.operations.empty()) return {false, "no operation selects a part"};
  const bool by_next = plan.crop_into_resize;
  if (!selects_part(plan, 0, input.probed) && !by_next)
    return {false, fmt::format("{} reads the whole image", plan.spec.operations[0].name)};
  plan.crop_into_decode = true;
  if (by_next)
    return {true, fmt::format("only what {} reads for {} is decoded", plan.spec.operations[0].name,
                              plan.spec.operations[1].name)};
  return {true, fmt::format("only what {} reads is decoded", plan.spec.operations[0].name)};
}

}  // namespace

const Pass kCropIntoDecodePass{"crop_into_decode", true, "decodes only the part that the first operation reads", apply};

}  // namespace unstarve
