#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

Decision apply(Plan& plan, const PassInput&) {
  if (!plan.encoded) return {false, "samples are stored as pixels"};
  if (plan.spec.cache.what == CacheWhat::kPixels) return {false, "whole images are decoded once, for the cache"};
  if (!plan.spec.decode.reduced_scale) return {false, "approximate, and not asked for by decode.reduced_scale"};
  if (plan.operations.empty() || !plan.operations[0]->resamples())
    return {false, "the first operation does not resample"};
  plan.scale_into_decode = true;
  return {true, "JPEG at 1/2, 1/4 or 1/8 where that is still at least the target size"};
}

}  // namespace

const Pass kScaleIntoDecodePass{"scale_into_decode", false,
                                "decodes JPEG at a reduced scale where the result is resized further", apply};

}  // namespace unstarve
