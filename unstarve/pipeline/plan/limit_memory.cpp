#include "unstarve/pipeline/plan/limit_memory.h"

#include <algorithm>
#include <span>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

template <class Work>
bool failed(const Work& work) {
  try {
    work();
    return false;
  } catch (const Error&) {
    return true;
  }
}

// The largest record and the largest image of some that are spread over those that take part; unreadable ones do not
// count.
struct Largest {
  std::uint64_t record = 0;
  Size image;
};

Largest look_at_some(const Plan& plan) {
  constexpr std::uint64_t kLookedAt = 64, kTogether = 16;  // several at once, for data on a server
  Largest largest;
  Decoder decoder;
  const std::uint64_t samples = plan.samples->size(), looked_at = std::min(samples, kLookedAt);
  const auto look = [&](const RecordBuffer& record) {
    const Value& value = record.values[static_cast<std::size_t>(plan.image_field)];
    const Size size = plan.encoded ? decoder.open(value.bytes, plan.spec.decode.max_pixels).size : value.pixels.size();
    // What lies in mapped memory takes none of the record's.
    largest.record = std::max<std::uint64_t>(largest.record, record.storage.capacity());
    if (std::int64_t{size.width} * size.height > std::int64_t{largest.image.width} * largest.image.height)
      largest.image = size;
  };
  std::vector<RecordBuffer> records(kTogether);
  for (std::uint64_t first = 0; first < looked_at; first += kTogether) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = first; i < std::min(first + kTogether, looked_at); ++i)
      ids.push_back(plan.samples->id(i * samples / looked_at));
    const bool together = !failed([&] { plan.dataset->read_many(ids, std::span(records).first(ids.size())); });
    for (std::size_t i = 0; i < ids.size(); ++i) {
      // One that cannot be read or is no image: the error policy decides about it when its turn comes.
      (void)failed([&] {
        if (!together) plan.dataset->read(ids[i], records[i]);
        look(records[i]);
      });
    }
  }
  return largest;
}

std::uint64_t batch_values(const Plan& plan) {
  return static_cast<std::uint64_t>(plan.spec.batch.size) * static_cast<std::uint64_t>(plan.sample_size.width) *
         static_cast<std::uint64_t>(plan.sample_size.height) * kChannels;
}

}  // namespace

void limit_memory(Plan& plan, bool fewer_threads, bool grow, OnDevice on_device) {
  ExecutionSpec& execution = plan.spec.execution;
  const CacheSpec& cache = plan.spec.cache;
  const bool left_open = cache.what == CacheWhat::kAuto, kept = left_open || cache.what == CacheWhat::kPixels,
             in_memory = left_open || (cache.what != CacheWhat::kNothing && cache.folder.empty());
  MemoryNeeds needs;
  needs.batch = batch_bytes(plan);
  needs.device = on_device.per_value * batch_values(plan) + on_device.fixed;
  needs.threads = execution.threads;
  needs.prefetch = execution.prefetch;
  needs.grow = grow;
  needs.relaxed = execution.order == ExecutionOrder::kRelaxed;
  needs.cache = in_memory ? cache.limit_mb * 1'000'000 : 0;
  needs.read_ahead = execution.read_ahead != 0;
  if (execution.memory_limit_mb > 0) {
    const Largest largest = look_at_some(plan);
    needs.limit = execution.memory_limit_mb * 1'000'000;
    needs.record = largest.record;
    needs.worker = worker_bytes(largest.record, largest.image, plan.encoded, kept, plan.operations);
    for (const ChainStage& stage : plan.later)
      needs.worker =
          std::max(needs.worker, worker_bytes(largest.record, largest.image, plan.encoded, kept, stage.operations));
    needs.fewer_threads = fewer_threads;
    needs.read_ahead = execution.read_ahead > 0 || (execution.read_ahead < 0 && plan.dataset->reads_in_flight() > 0);
  }
  plan.memory = plan_memory(needs);
  execution.threads = plan.memory.threads;
  execution.prefetch = plan.memory.prefetch;
  if (plan.memory.limit > 0) {
    plan.larger_images = std::make_shared<MemoryPool>(plan.memory.larger_images);
    plan.room = std::make_shared<ByteBudget>(plan.memory.cache);
  }
}

}  // namespace unstarve
