#pragma once
// Labels and image sizes of records, without decoding the images.
//
// Facts come from the dataset's index if available. Otherwise the records are read, in parallel.
// Threads: one caller; starts worker threads. Failure: a record that cannot be read has no facts; fail() throws the
// error of reading it. An exception of `check` stops the reading and is rethrown.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "unstarve/core/size.h"

namespace unstarve {

class Dataset;
struct PipelineSpec;

struct ImageFacts {
  Size size;                // after applying the EXIF orientation
  std::uint64_t bytes = 0;  // size in storage: encoded, or 3 per pixel
};

// Called about ten times a second in the caller's thread while records are read; throws to cancel. May be empty.
using Check = std::function<void()>;

// Threads that read facts before a run: as many as the loader of `spec` begins with.
[[nodiscard]] int threads_for_facts(const PipelineSpec& spec);

class SampleFacts {
 public:
  // `threads`: threads that read; more if the storage supports more concurrent reads.
  SampleFacts(const Dataset& dataset, int threads, Check check = {})
      : dataset_(dataset), threads_(threads), check_(std::move(check)) {}

  [[nodiscard]] std::vector<std::optional<std::int64_t>> labels(std::span<const std::uint32_t> ids) const;
  // From the image headers.
  [[nodiscard]] std::vector<std::optional<ImageFacts>> images(std::span<const std::uint32_t> ids) const;
  // Sizes after applying the EXIF orientation; reads only records that are missing in the index.
  [[nodiscard]] std::vector<std::optional<Size>> sizes(std::span<const std::uint32_t> ids) const;
  // Number of records read so far.
  [[nodiscard]] std::uint64_t read() const { return read_; }
  // Throws the error of reading a record without facts.
  void fail(std::uint32_t id) const;

 private:
  const Dataset& dataset_;
  const int threads_;
  const Check check_;
  mutable std::uint64_t read_ = 0;
};

}  // namespace unstarve
