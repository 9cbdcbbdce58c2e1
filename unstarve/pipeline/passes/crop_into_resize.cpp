#include <fmt/format.h>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

Decision apply(Plan& plan, const PassInput& input) {
  if (!plan.encoded) return {false, "samples are stored as pixels"};
  if (plan.spec.cache.what == CacheWhat::kPixels) return {false, "whole images are decoded once, for the cache"};
  if (plan.operations.size() < 2) return {false, "no operation behind a resize"};
  const Operation& first = *plan.operations[0];
  const std::string &resize = plan.spec.operations[0].name, &crop = plan.spec.operations[1].name;
  Random random(plan.spec.order.seed, 0, 0, 0);
  const auto resized = first.only_resizes(first.select(input.probed, random).size());
  if (!resized) return {false, "the first operation does more than resize, or something else"};
  if (!selects_part(plan, 1, resized->size)) return {false, fmt::format("{} reads all that {} makes", crop, resize)};
  plan.crop_into_resize = true;
  return {true, fmt::format("{} makes what {} reads, from the pixels that this takes", resize, crop)};
}

}  // namespace

const Pass kCropIntoResizePass{"crop_into_resize", true, "resizes only to the part that the next operation reads",
                               apply};

}  // namespace unstarve
