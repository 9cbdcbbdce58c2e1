#include <array>

#include "unstarve/jobs/ladder/rung.h"

namespace unstarve {
namespace {

// First the consumer, then the loader, then the resources they share.
constexpr std::array<const Rung*, 11> kRungs{
    &kBatchSizeRung,      &kMixedPrecisionRung, &kChannelsLastRung,    &kFusedOptimiserRung,
    &kUint8BusRung,       &kLoaderThreadsRung,  &kPrefetchRung,        &kPinnedMemoryRung,
    &kCropOnlyDecodeRung, &kReducedScaleRung,   &kOperatorThreadsRung,
};

}  // namespace

std::span<const Rung* const> rungs() { return kRungs; }

}  // namespace unstarve
