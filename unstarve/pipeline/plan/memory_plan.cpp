#include "unstarve/pipeline/plan/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/pipeline/plan/slot_count.h"

namespace unstarve {
namespace {

// Decoder state and entropy buffers, in addition to images and the scratch memory of operations.
constexpr std::uint64_t kWorkerBase = std::uint64_t{1} << 20;
// Parts of the memory that the minimum leaves.
constexpr std::uint64_t kLargerImagesPart = 8;
// Half of a small rest, up to a progressive photograph of five megapixels.
constexpr std::uint64_t kOneLargerImage = 64'000'000;
constexpr std::uint64_t kReadAheadPart = 4;
// Read-ahead of fewer records does not justify its threads.
constexpr std::uint64_t kLeastRecordsAhead = 8;

std::uint64_t megabytes_up(std::uint64_t bytes) { return (bytes + 999'999) / 1'000'000; }
double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

std::uint64_t worker_bytes(const WorkerLoad& load, std::span<const std::shared_ptr<const Operation>> operations) {
  const auto pixels = [](Size size) {
    return static_cast<std::uint64_t>(size.width) * static_cast<std::uint64_t>(size.height) * kChannels;
  };
  // An operation that resamples reads the decoded image through its window; others may copy it first.
  const bool copies = operations.empty() || !operations.front()->resamples();
  std::uint64_t largest = copies ? pixels(load.image) : 0, scratch = 0;
  try {
    Size size = load.image;
    for (const auto& operation : operations) {
      scratch += operation->scratch_bytes(size);
      size = operation->output_size(size);
      largest = std::max(largest, pixels(size));
    }
  } catch (const Error& error) {
    // An operation rejects this image, so its sample is bad when it is loaded; the operations before it still count.
    if (error.kind() != ErrorKind::kInput) throw;
  }
  // The decoded image and two-byte coefficients (progressive files); the two images that operations alternate between,
  // and a copy for the cache. Buffers grow by half.
  const std::uint64_t images =
      pixels(load.decoded) + 2 * pixels(load.coefficients) + (load.pixel_cache ? 3 : 2) * largest;
  return kWorkerBase + (load.record_bytes + images + scratch) * 3 / 2;
}

MemoryPlan plan_memory(const MemoryNeeds& needs) {
  const auto slots = [&](int prefetch) {
    return slots_kept({.prefetch = prefetch, .grow = needs.grow, .relaxed = needs.relaxed});
  };
  MemoryPlan plan;
  plan.needs = needs;
  plan.limit = needs.limit;
  plan.batch = needs.batch;
  plan.worker = needs.worker;
  plan.device = needs.device;
  plan.threads = needs.threads;
  plan.prefetch = needs.prefetch;
  plan.read_ahead = needs.read_ahead ? kReadAheadBytes : 0;
  plan.cache = needs.cache;
  plan.kept_batches = slots(needs.prefetch);
  if (needs.limit == 0) return plan;
  const int least_ahead = std::min(needs.prefetch, 1);
  const auto working_set = [&](int threads, int prefetch) {
    return static_cast<std::uint64_t>(threads) * needs.worker + slots(prefetch) * needs.batch + needs.device;
  };
  if (needs.fewer_threads)
    while (plan.threads > 1 && working_set(plan.threads, least_ahead) > needs.limit) --plan.threads;
  const std::uint64_t least = working_set(plan.threads, least_ahead);
  if (least > needs.limit)
    throw argument_error(
        "execution.memory_limit_mb: {}; expected at least {}: {} batches of {:.1f} MB and {} of {:.1f} MB{}{}; {} "
        "less. Set it by --memory-limit {}MB, in Python by options(memory_limit=\"{}MB\")",
        needs.limit / 1'000'000, megabytes_up(least), slots(least_ahead), megabytes(needs.batch),
        plan.threads == 1 ? "a thread" : fmt::format("{} threads", plan.threads), megabytes(needs.worker),
        plan.threads == 1 ? "" : " each",
        needs.device > 0 ? fmt::format(", and {:.1f} MB on the device", megabytes(needs.device)) : "",
        plan.threads > 1 ? "a smaller batch or fewer threads need" : "a smaller batch needs", megabytes_up(least),
        megabytes_up(least));
  while (plan.prefetch > least_ahead && working_set(plan.threads, plan.prefetch) > needs.limit) --plan.prefetch;
  std::uint64_t left = needs.limit - working_set(plan.threads, plan.prefetch);
  plan.larger_images = std::max(left / kLargerImagesPart, std::min(left / 2, kOneLargerImage));
  left -= plan.larger_images;
  if (needs.read_ahead) {
    plan.read_ahead = std::min(kReadAheadBytes, left / kReadAheadPart);
    if (plan.read_ahead < kLeastRecordsAhead * needs.record) plan.read_ahead = 0;
    left -= plan.read_ahead;
  }
  plan.cache = std::min(needs.cache, left);
  left -= plan.cache;
  plan.kept_batches = slots(plan.prefetch);
  plan.max_batches = plan.kept_batches + left / std::max<std::uint64_t>(needs.batch, 1);
  return plan;
}

std::uint64_t limit_for_larger_image(MemoryNeeds needs, std::uint64_t bytes) {
  constexpr std::uint64_t kMegabyte = 1'000'000;
  // A higher limit may first add prefetched batches and threads, so that the part is not monotonic below this.
  std::uint64_t low = needs.limit / kMegabyte, high = low + 1;
  const auto fits = [&](std::uint64_t limit) {
    needs.limit = limit * kMegabyte;
    return plan_memory(needs).larger_images >= bytes;
  };
  while (!fits(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) (fits(low + (high - low) / 2) ? high : low) = low + (high - low) / 2;
  return high;
}

void leave_room_for_threads(MemoryPlan& plan) {
  const std::uint64_t batches = (plan.max_batches - plan.kept_batches) / 2;
  plan.max_threads = plan.threads + static_cast<int>(std::min<std::uint64_t>(
                                        1024, batches * plan.batch / std::max<std::uint64_t>(plan.worker, 1)));
  plan.max_batches -= batches;
}

std::string explain(const MemoryPlan& plan) {
  if (plan.limit == 0) return {};
  std::string text =
      fmt::format("limit {:.1f} MB: {} to {} batches of {:.1f}, {} threads of {:.1f}, larger images {:.1f}",
                  megabytes(plan.limit), plan.kept_batches, plan.max_batches, megabytes(plan.batch), plan.threads,
                  megabytes(plan.worker), megabytes(plan.larger_images));
  if (plan.device > 0) text += fmt::format(", on the device {:.1f}", megabytes(plan.device));
  if (plan.read_ahead > 0) text += fmt::format(", records read ahead {:.1f}", megabytes(plan.read_ahead));
  if (plan.cache > 0) text += fmt::format(", cache {:.1f}", megabytes(plan.cache));
  return text;
}

}  // namespace unstarve
