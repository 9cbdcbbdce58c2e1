// A lower bound for any loader that writes batches to memory: only the write.
#include <algorithm>
#include <cstring>
#include <vector>

#include <unistd.h>

#include "bench/ours/jobs.h"
#include "bench/ours/sides.h"
#include "unstarve/device/device.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/storage/open.h"

namespace unstarve::bench {
namespace {

// Minimum size of the destination as a multiple of the last-level cache.
constexpr std::size_t kCacheMultiple = 4;
// Used if the C library does not report the cache size; larger than the cache of most sockets.
constexpr std::size_t kAssumedCacheBytes = std::size_t{64} << 20;

std::size_t last_level_cache_bytes() {
  const long level3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return level3 > 0 ? static_cast<std::size_t>(level3) : kAssumedCacheBytes;
}

class MemcpySide final : public Side {
 public:
  explicit MemcpySide(const Job& job) : threads_(job.at("cores")), samples_(job.at("batch")) {
    const PipelineSpec spec = pipeline_of(job);
    const Plan plan = plan_run(spec, open_dataset(spec.source.path, spec.source.split), {threads_}).plan;
    sample_bytes_ = Storer(spec.output).sample_bytes(plan.sample_size());
    const std::size_t batch = static_cast<std::size_t>(samples_) * sample_bytes_;
    batches_ = kCacheMultiple * last_level_cache_bytes() / batch + 1;
    source_ = allocate_pageable(batch);
    destination_ = allocate_pageable(batch * batches_);
    next_.resize(static_cast<std::size_t>(threads_));
  }

  Block run(double seconds) override {
    return run_threads(threads_, seconds, [this](int thread) { return copy_share(thread); });
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    return {{"destination_bytes", destination_->bytes()}, {"last_level_cache_bytes", last_level_cache_bytes()}};
  }

 private:
  // Copies the thread's share of its next batch.
  int copy_share(int thread) {
    const int first = samples_ * thread / threads_;
    const int count = samples_ * (thread + 1) / threads_ - first;
    const std::size_t offset = static_cast<std::size_t>(first) * sample_bytes_;
    std::size_t& batch = next_[static_cast<std::size_t>(thread)];
    std::memcpy(destination_->data() + batch * static_cast<std::size_t>(samples_) * sample_bytes_ + offset,
                source_->data() + offset, static_cast<std::size_t>(count) * sample_bytes_);
    batch = (batch + 1) % batches_;
    return count;
  }

  int threads_;
  int samples_;
  std::size_t sample_bytes_ = 0;
  std::size_t batches_ = 0;
  std::unique_ptr<Memory> source_;
  std::unique_ptr<Memory> destination_;
  std::vector<std::size_t> next_;  // per thread: the batch of the destination to write
};

}  // namespace

std::unique_ptr<Side> make_memcpy_side(const Job& job) { return std::make_unique<MemcpySide>(job); }

}  // namespace unstarve::bench
