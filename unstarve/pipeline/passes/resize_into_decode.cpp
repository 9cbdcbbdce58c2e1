#include <fmt/format.h>

#include "unstarve/codecs/decode_plan.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/plan/edit.h"

namespace unstarve {
namespace {

// A note where the first image is not decoded row by row, unlike most photographs.
std::string about_first(const ImageHeader& header) {
  if (header.encoding == Encoding::kUnknown) return "";
  const DecodePath path = decode_path(header, 1);
  if (path == DecodePath::kOwn) return "";
  return fmt::format("; the first image is decoded completely first, by {}", to_string(path));
}

}  // namespace

Rewrite pass_resize_into_decode(Plan plan, const PassContext&) {
  if (std::string why = why_decoding_is_fixed(plan); !why.empty()) return {std::move(plan), false, std::move(why)};
  if (!only_resizes(plan))
    return {std::move(plan), false, "the first operation does more than resize the region that it selects"};
  const DecodeStep decode = insert_select(plan);
  plan.steps[index_of(plan, decode)] = DecodeResizeStep{decode, 0};
  erase_steps(plan, [](const Step& step) { return step == Step(ApplyStep{0, OpRegion::kSelected}); });
  std::string reason = fmt::format(
      "{} consumes the rows of a baseline JPEG as they are decoded; the decoded image is "
      "never held in memory{}",
      plan.spec.operations[0].name, about_first(plan.facts.first.header));
  return {std::move(plan), true, std::move(reason)};
}

}  // namespace unstarve
