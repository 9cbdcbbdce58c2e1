#pragma once
// What is known of records before they are decoded: labels, and the sizes in images' headers.
//
// Both come from the data set's index where it has them; all else reads the records, many at once.
// Threads: one caller; works on threads of its own. Failure: a record that cannot be read has no facts; fail() throws
// what reading it throws. What `check` throws ends the reading: no further record is begun, and it leaves the call.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/image.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct ImageFacts {
  Size size;                // upright
  std::uint64_t bytes = 0;  // as stored: encoded, or 3 per pixel
};

// Asked some ten times a second while records are read, by the caller's thread; throws to end it. Empty: nobody asks.
using Check = std::function<void()>;

class SampleFacts {
 public:
  // `threads` to read with; more where the place of the data rewards more reads at once.
  SampleFacts(const Dataset& dataset, int threads, Check check = {})
      : dataset_(dataset), threads_(threads), check_(std::move(check)) {}

  [[nodiscard]] std::vector<std::optional<std::int64_t>> labels(std::span<const std::uint32_t> ids) const;
  // By their headers.
  [[nodiscard]] std::vector<std::optional<ImageFacts>> images(std::span<const std::uint32_t> ids) const;
  // Upright; without reading those that the index knows.
  [[nodiscard]] std::vector<std::optional<Size>> sizes(std::span<const std::uint32_t> ids) const;
  // Records that were read for all this.
  [[nodiscard]] std::uint64_t read() const { return read_; }
  // Of a record without label: throws why.
  void fail(std::uint32_t id) const;

 private:
  const Dataset& dataset_;
  const int threads_;
  const Check check_;
  mutable std::uint64_t read_ = 0;
};

}  // namespace unstarve
