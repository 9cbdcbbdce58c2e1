#pragma once
// Batches for many consumers: of a loader, or of files that are read without decoding.
//
// A consumer that takes a batch has it in host memory; its copy to an accelerator is not part of this, as in MLPerf
// Storage.
//
// Threads: all members by any threads.
// Failure: take() throws the error of the loader or of reading, to each caller.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/order/position.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

class Dataset;
class Device;
class Loader;

class BatchFeed {
 public:
  enum class Taken { kReady, kWaited, kClosed };

  virtual ~BatchFeed() = default;
  BatchFeed() = default;
  BatchFeed(const BatchFeed&) = delete;
  BatchFeed& operator=(const BatchFeed&) = delete;

  // Takes a batch: kReady if one was complete at the call, kClosed after close().
  [[nodiscard]] virtual Taken take() = 0;
  // Wakes all consumers.
  virtual void close() = 0;
};

// Batches of a loader with `prefetch` batches, which begins with `epoch` at construction. Throws as Loader.
class LoaderFeed final : public BatchFeed {
 public:
  LoaderFeed(PipelineSpec spec, const std::shared_ptr<const Dataset>& dataset, Device& device, int prefetch,
             EpochPosition begin = {});
  ~LoaderFeed() override;
  [[nodiscard]] Taken take() override;
  void close() override;

 private:
  std::unique_ptr<Loader> loader_;
  std::mutex mutex_;                // of the consumer's side of the loader
  std::atomic<bool> empty_{false};  // the consumer that has the mutex waits for a batch
};

// The files below a folder, or one file, as raw samples: the number of samples of a file is its size divided by
// `sample_bytes`, rounded, but at least one.
struct RawData {
  struct Block {
    std::uint32_t file = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint32_t samples = 0;
  };
  std::vector<std::string> files;
  std::vector<Block> blocks;  // read by one call each, in random order
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
};
// Throws Error(kInput) if there are no files with data, Error(kArgument) for a URL.
[[nodiscard]] RawData list_raw_data(const std::string& path, std::uint64_t sample_bytes);
// Whether reads hardly wait, as the data is in the page cache. Examines a few blocks.
[[nodiscard]] bool is_cached(const RawData& data);

// Reads blocks from `first` on, endlessly, with `threads` threads, at most `prefetch` batches of `batch` samples before
// they are taken. Borrows `data`.
class RawFeed final : public BatchFeed {
 public:
  RawFeed(const RawData& data, int batch, int prefetch, int threads, std::size_t first = 0);
  ~RawFeed() override;
  [[nodiscard]] Taken take() override;
  void close() override;
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_.load(); }
  // Of all its threads: time ready to run, but without a CPU.
  [[nodiscard]] std::int64_t run_delay_ns() const { return run_delay_ns_.load(); }
  // The block after those that were read or are in flight.
  [[nodiscard]] std::size_t next_block();

 private:
  struct Progress {
    std::uint64_t ready = 0;    // samples read and not taken
    std::uint64_t claimed = 0;  // the same and in flight
    std::size_t next = 0;       // block
  };

  void read_blocks();

  const RawData& data_;
  const std::uint64_t batch_, most_;
  std::mutex mutex_;  // of the three members after the condition
  std::condition_variable changed_;
  Progress progress_;
  bool closed_ = false;
  std::optional<Error> failure_;
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::int64_t> run_delay_ns_{0};
  std::vector<std::jthread> threads_;
};

}  // namespace unstarve
