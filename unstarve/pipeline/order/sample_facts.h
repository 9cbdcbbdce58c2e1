#pragma once
// What is known of records before they are decoded: labels, and the sizes in images' headers.
//
// Both come from the data set's index where it has them; all else reads the records, many at once.
// Threads: one caller; works on threads of its own. Failure: a record that cannot be read has no facts; fail() throws
// what reading it throws. What `check` throws ends the reading: no further record is begun, and it leaves the call.

#include <atomic>
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

// kWholeImages: without the index and by decoding whole images, to compare with; the facts are the same. An image of
// more than `max_pixels` is not decoded: its header counts, and the run refuses it.
enum class FactsFrom { kIndexAndHeaders, kWholeImages };

class SampleFacts {
 public:
  // `threads` to read with; more where the place of the data rewards more reads at once.
  SampleFacts(const Dataset& dataset, int threads, FactsFrom from = FactsFrom::kIndexAndHeaders, Check check = {},
              std::int64_t max_pixels = kMaxPixels)
      : dataset_(dataset),
        threads_(threads),
        whole_(from == FactsFrom::kWholeImages),
        check_(std::move(check)),
        max_pixels_(max_pixels) {}

  [[nodiscard]] std::vector<std::optional<std::int64_t>> labels(std::span<const std::uint32_t> ids) const;
  // By their headers.
  [[nodiscard]] std::vector<std::optional<ImageFacts>> images(std::span<const std::uint32_t> ids) const;
  // Upright; without reading those that the index knows.
  [[nodiscard]] std::vector<std::optional<Size>> sizes(std::span<const std::uint32_t> ids) const;
  // Records that were read for all this.
  [[nodiscard]] std::uint64_t read() const { return read_; }
  // Images that were decoded for it.
  [[nodiscard]] std::uint64_t decoded() const { return decoded_; }
  // Of a record without label: throws why.
  void fail(std::uint32_t id) const;

 private:
  // Decodes all of the image that is open, whose header told its size.
  Size decode_whole(Decoder& decoder, Size told) const;

  const Dataset& dataset_;
  const int threads_;
  const bool whole_;
  const Check check_;
  const std::int64_t max_pixels_;
  mutable std::uint64_t read_ = 0;
  mutable std::atomic<std::uint64_t> decoded_{0};
};

}  // namespace unstarve
