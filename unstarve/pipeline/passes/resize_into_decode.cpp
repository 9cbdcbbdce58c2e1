#include <fmt/format.h>

#include "unstarve/codecs/decode_plan.h"
#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

// Where the first image does not go as most photographs do.
std::string about_first(const ImageHeader& header) {
  if (header.encoding == Encoding::kUnknown) return "";
  const DecodePath path = decode_path(header, 1);
  if (path == DecodePath::kOwn) return "";
  return fmt::format("; the first image is decoded as a whole, by {}", to_string(path));
}

Decision apply(Plan& plan, const PassInput& input) {
  if (!plan.encoded) return {false, "samples are stored as pixels"};
  if (plan.spec.cache.what == CacheWhat::kPixels) return {false, "whole images are decoded once, for the cache"};
  if (plan.operations.empty() || !plan.operations[0]->only_resizes(input.probed))
    return {false, "the first operation does more than resize, or something else"};
  plan.resize_into_decode = true;
  return {true, fmt::format("{} takes the rows of a baseline JPEG as they are decoded, which are nowhere as "
                            "a whole{}",
                            plan.spec.operations[0].name, about_first(plan.first.header))};
}

}  // namespace

const Pass kResizeIntoDecodePass{"resize_into_decode", true, "resizes rows as they are decoded", apply};

}  // namespace unstarve
