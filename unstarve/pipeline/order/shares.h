#pragma once
// Draws samples in proportion to weights, by systematic sampling: a pass of N draws cuts the sum of all weights into N
// strips of (almost) equal width and takes the sample at the same offset of each strip.
//
//   weights   |   a   |b|      c      | d |
//   strips    |    |    |    |    |    |        N = 5: a, a, c, c, d
//
// In each pass a sample occurs N x weight / sum times, rounded up or down, and on average over the offsets exactly that
// often. A sample of weight 0 never occurs. Draws are a function of (offset, strip), without state.
//
// Threads: immutable. Memory: 8 bytes per sample. Cost: a binary search per draw.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace unstarve {

class Shares {
 public:
  struct Draw {
    std::uint64_t sample = 0;
    std::uint64_t occurrence = 0;  // earlier strips of the pass with this sample
  };

  Shares() = default;
  // Throws Error(kArgument) for a weight that is negative or not finite, and if all are 0.
  explicit Shares(std::span<const double> weights);
  // From ends().
  explicit Shares(std::vector<std::uint64_t> ends) : ends_(std::move(ends)) {}

  [[nodiscard]] bool empty() const { return ends_.empty(); }
  // The end of each sample's share; that of the last sample is kTotal.
  [[nodiscard]] const std::vector<std::uint64_t>& ends() const { return ends_; }
  // Exclusive upper bound of the offset in a pass of `draws` draws.
  [[nodiscard]] static std::uint64_t offsets(std::uint64_t draws) { return kTotal / draws; }
  // Preconditions: strip < draws <= kTotal, offset < offsets(draws).
  [[nodiscard]] Draw at(std::uint64_t strip, std::uint64_t draws, std::uint64_t offset) const;
  // Upper bound of the occurrences of one sample in a pass.
  [[nodiscard]] std::uint64_t most_occurrences(std::uint64_t draws) const;
  [[nodiscard]] std::uint64_t fingerprint() const;

  static constexpr std::uint64_t kTotal = std::uint64_t{1} << 52;  // exact in double

 private:
  std::vector<std::uint64_t> ends_;
};

// The weights in a file: a text with one number per line, or .npy of float32 or float64 with one dimension. Throws
// Error(kIo), Error(kInput) with the file and line, and Error(kInput) unless there are `records` weights.
[[nodiscard]] std::vector<double> read_sample_weights(const std::string& path, std::uint64_t records);

}  // namespace unstarve
