#include <fmt/format.h>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

Decision apply(Plan& plan, const PassInput& input) {
  if (!plan.encoded) return {false, "samples are stored as pixels"};
  if (plan.spec.cache.what == CacheWhat::kPixels) return {false, "whole images are decoded once, for the cache"};
  if (plan.operations.empty() || !plan.operations[0]->only_resizes(input.probed))
    return {false, "the first operation does more than resize, or something else"};
  plan.resize_into_decode = true;
  return {true, fmt::format("{} takes the rows of a JPEG as they are decoded, which are nowhere as a whole",
                            plan.spec.operations[0].name)};
}

}  // namespace

const Pass kResizeIntoDecodePass{"resize_into_decode", true, "resizes rows as they are decoded", apply};

}  // namespace unstarve
