#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

Decision apply(Plan& plan, const PassInput&) {
  if (!plan.encoded) return {false, "samples are stored as pixels"};
  if (plan.spec.cache.what == CacheWhat::kPixels) return {false, "whole images are decoded once, for the cache"};
  const auto found = plan.spec.passes.find("scale_into_decode");
  if (!plan.spec.decode.reduced_scale && found == plan.spec.passes.end())
    return {false, "approximate, hence off unless asked for: decode: {reduced_scale: true}"};
  if (plan.operations.empty() || !plan.operations[0]->resamples())
    return {false, "the first operation does not resample"};
  plan.scale_into_decode = true;
  return {true, "JPEG at 1/2, 1/4 or 1/8 where that is still at least the target size"};
}

}  // namespace

const Pass kScaleIntoDecodePass{
    .name = "scale_into_decode",
    .exact = false,
    .help = "decodes JPEG at a reduced scale where the result is resized further",
    .apply = apply,
    .error =
        "photographs differ by less than 6 of 255 on average, 20 in the worst, and show less than a pixel more on each "
        "side"};

}  // namespace unstarve
