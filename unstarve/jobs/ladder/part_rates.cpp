#include "unstarve/jobs/ladder/part_rates.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/executor/resources.h"
#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {
namespace {

// Of the time of a loader, at most for the batches that fill its slots.
constexpr double kFillShare = 0.3;
// Records between two looks at the clock.
constexpr std::uint64_t kRecordsPerLook = 16;

std::int64_t end_after(double seconds) { return steady_clock().now_ns() + static_cast<std::int64_t>(seconds * 1e9); }

double rate_of(std::int64_t count, std::int64_t ns) {
  return ns > 0 ? static_cast<double>(count) * 1e9 / static_cast<double>(ns) : 0;
}

std::uint64_t bytes_of(const RecordBuffer& record) {
  std::uint64_t bytes = 0;
  for (const Value& value : record.values) {
    bytes += value.bytes.size();
    if (value.pixels.data != nullptr)
      bytes += 3 * static_cast<std::uint64_t>(value.pixels.width) * static_cast<std::uint64_t>(value.pixels.height);
  }
  return bytes;
}

// Forces pages of mapped files into memory: a record may be a view that nothing has read.
std::uint8_t touch(const RecordBuffer& record) {
  constexpr std::size_t kPage = 4096;
  std::uint8_t sum = 0;
  for (const Value& value : record.values)
    for (std::size_t at = 0; at < value.bytes.size(); at += kPage) sum ^= value.bytes[at];
  return sum;
}

struct ReadCounts {
  std::atomic<std::int64_t> samples{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint8_t> touched{0};
};

struct ReadShare {
  std::uint64_t first = 0, stride = 1;
  std::uint32_t epoch = 0;
  std::uint64_t skipped = 0;  // of the first epoch
  std::int64_t deadline = 0;
};

// Reads each `stride`-th record of the order from `first` on until the deadline.
void read_records(const Dataset& dataset, const Order& order, const ReadShare& share, ReadCounts& counts) {
  RecordBuffer record;
  for (std::uint32_t epoch = share.epoch;; ++epoch) {
    const Order::Epoch ids = order.epoch(epoch);
    const std::uint64_t first = share.first + (epoch == share.epoch ? share.skipped : 0);
    for (std::uint64_t position = first; position < order.batches_per_epoch(); position += share.stride) {
      try {
        dataset.read(ids.id(position, 0), record);
        counts.samples.fetch_add(1, std::memory_order_relaxed);
        counts.bytes.fetch_add(bytes_of(record), std::memory_order_relaxed);
        counts.touched.fetch_xor(touch(record), std::memory_order_relaxed);
      } catch (const Error&) {  // counted by the loader
      }
      const bool look = (position / share.stride) % kRecordsPerLook == kRecordsPerLook - 1;
      if (look && steady_clock().now_ns() >= share.deadline) return;
    }
    if (steady_clock().now_ns() >= share.deadline) return;
  }
}

}  // namespace

std::int64_t process_cpu_ns() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_usec * 1000; };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

StorageRate storage_rate(const Dataset& dataset, const Loader& loader, double seconds, int threads,
                         const EpochPosition& begin) {
  const Order order(loader.plan().spec.order, {1, LastBatch::kKeep}, OrderBasis{loader.resources().samples, {}});
  const std::uint64_t skipped = begin.offset / order.world();
  ReadCounts counts;
  std::exception_ptr failure;
  std::atomic<bool> failed{false};
  const std::int64_t start = steady_clock().now_ns(), deadline = end_after(seconds);
  {
    const auto stride = static_cast<std::uint64_t>(std::max(1, threads));
    std::vector<std::jthread> readers;
    for (std::uint64_t i = 1; i < stride; ++i) {
      readers.emplace_back([&, i] {
        try {
          read_records(dataset, order, {i, stride, begin.epoch, skipped, deadline}, counts);
        } catch (...) {
          if (!failed.exchange(true)) failure = std::current_exception();
        }
      });
    }
    read_records(dataset, order, {0, stride, begin.epoch, skipped, deadline}, counts);
  }
  if (failure) std::rethrow_exception(failure);
  const std::int64_t wall = steady_clock().now_ns() - start;
  return {rate_of(counts.samples.load(), wall), rate_of(static_cast<std::int64_t>(counts.bytes.load()), wall)};
}

LoaderRate loader_rate(const PipelineSpec& spec, const std::shared_ptr<const Dataset>& dataset, Device& device,
                       double seconds, const EpochPosition& begin) {
  Loader loader(with_full_batches(spec, dataset->size()), dataset, device, {.start = begin, .check_data = false});
  const double begin_s = seconds_now();
  for (int i = 0; i <= spec.execution.prefetch && (i == 0 || seconds_now() - begin_s < kFillShare * seconds); ++i)
    (void)loader.next();
  std::int64_t samples = 0;
  const std::int64_t delay = loader.profile().run_delay_ns;
  const std::int64_t start = steady_clock().now_ns(), cpu = process_cpu_ns();
  const std::int64_t deadline = end_after(std::max(0.0, begin_s + seconds - seconds_now()));
  do {
    const auto batch = loader.next();
    if (!batch) break;
    samples += static_cast<std::int64_t>(batch->samples());
  } while (steady_clock().now_ns() < deadline);
  const auto wall = static_cast<double>(std::max<std::int64_t>(1, steady_clock().now_ns() - start));
  Profile profile = loader.profile();
  LoaderRate rate;
  rate.samples_per_s = static_cast<double>(samples) * 1e9 / wall;
  rate.cores_busy = static_cast<double>(process_cpu_ns() - cpu) / wall;
  rate.cores_delayed = static_cast<double>(profile.run_delay_ns - delay) / wall;
  rate.stages = std::move(profile.stages);
  return rate;
}

}  // namespace unstarve
