#include "unstarve/pipeline/passes/pass.h"

#include "unstarve/ops/base/operation.h"

namespace unstarve {

std::string why_decoding_is_fixed(const Plan& plan) {
  if (!plan.facts.encoded) return "samples are stored as pixels";
  if (cached(plan) == CacheWhat::kPixels) return "whole images are decoded once, for the cache";
  if (plan.spec.operations.empty()) return "the pipeline has no operations";
  return {};
}

bool selects_part(const Plan& plan, OpIndex operation, Size input) {
  constexpr std::uint32_t kDraws = 32;
  for (const Size size : {input, Size{2 * input.width, 2 * input.height}}) {
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
      Random random(plan.spec.order.seed, draw, 0, operation);
      if (plan.stages[0].operations[operation]->select(size, random) != Rect{0, 0, size.width, size.height})
        return true;
    }
  }
  return false;
}

}  // namespace unstarve
