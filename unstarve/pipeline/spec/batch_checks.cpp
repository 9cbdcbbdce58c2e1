#include "unstarve/pipeline/spec/spec_checks.h"

#include <fmt/format.h>

#include <string>

#include "unstarve/core/error.h"

namespace unstarve {

void check_batch(const PipelineSpec& spec) {
  const auto fail = [](const char* node, const std::string& what) {
    throw Error(ErrorKind::kArgument, std::string(node) + ": " + what);
  };
  if (spec.batch.size < 1) fail("batch.size", fmt::format("{}, expected 1 or more", spec.batch.size));
  const PadSpec& pad = spec.batch.pad;
  if (pad.to == PadTo::kSize && (pad.size.width < 1 || pad.size.height < 1))
    fail("batch.pad.to", "size without batch.pad.size; expected [height, width] there");
  if (pad.to != PadTo::kSize && pad.size != Size{})
    fail("batch.pad.size", "found without batch.pad.to: size; expected only with it");
  if (pad.value < 0 || pad.value > 255) fail("batch.pad.value", fmt::format("{}, expected 0 to 255", pad.value));
  const BucketSpec& bucket = spec.batch.bucket;
  constexpr std::uint64_t kMostWindow = 0xffffffff;
  if (bucket.window > kMostWindow)
    fail("batch.bucket.window", fmt::format("{}, expected 0 to {}", bucket.window, kMostWindow));
  if (bucket.window == 0) return;
  const std::uint64_t run =
      bucket.run > 0 ? bucket.run
                     : static_cast<std::uint64_t>(spec.batch.size) * static_cast<std::uint64_t>(spec.order.world);
  if (bucket.window < run)
    fail("batch.bucket.window", fmt::format("{}, expected 0 or at least the {} samples of a {}", bucket.window, run,
                                            bucket.run > 0 ? "group (batch.bucket.run)" : "batch of all ranks"));
  if (pad.to != PadTo::kLargest) fail("batch.bucket.window", "buckets without padding; expected batch.pad.to: largest");
  if (spec.execution.order == ExecutionOrder::kRelaxed)
    fail("batch.bucket.window",
         "relaxed order would mix samples of different buckets; expected execution.order: exact");
}

}  // namespace unstarve
