#pragma once
// Counter-based random numbers: the n-th number of a stream is a pure function of the stream's name and n.
//
// A stream is named by (seed, draw, sample, operation), so augmentation does not depend on the thread, the processing
// order or the resume position. The generator is Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011; it passes TestU01's BigCrush.
//
// Threads: a Random is a small value; copy it freely and use each copy from one thread at a time.

#include <array>
#include <cstdint>

namespace unstarve {

// One block: maps a 128-bit counter and a 64-bit key to 128 random bits.
[[nodiscard]] std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                                         std::array<std::uint32_t, 2> key) noexcept;

// Values of `operation` for streams of other purposes. Operations of samples have their index, below all of these.
inline constexpr std::uint32_t kBatchOperationStreams = 0x800;  // plus the index of the batch operation
inline constexpr std::uint32_t kNetworkStream = 0xffd;          // dropout and stochastic depth of a training step
inline constexpr std::uint32_t kDecodeDeviceStream = 0xffe;     // the device that decodes a sample
inline constexpr std::uint32_t kOrderStream = 0xfff;            // the order of an epoch

class Random {
 public:
  // `draw`: the epoch, or another number that distinguishes the occurrences of a sample (Sample::draw). `sample`: the
  // sample's id in the dataset, not its position in the epoch; for batch operations, the position of the batch.
  // `operation`: below 4096; index in the chain of operations, or one of the above.
  Random(std::uint64_t seed, std::uint32_t draw, std::uint64_t sample, std::uint32_t operation) noexcept
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        counter_{operation << kBlockBits, draw, static_cast<std::uint32_t>(sample),
                 static_cast<std::uint32_t>(sample >> 32)} {}

  [[nodiscard]] std::uint32_t draw() const noexcept { return counter_[1]; }
  // The stream of another draw of the same sample and operation, from its first number.
  [[nodiscard]] Random of_draw(std::uint32_t draw) const noexcept {
    Random other = *this;
    other.counter_[0] = counter_[0] >> kBlockBits << kBlockBits;
    other.counter_[1] = draw;
    other.used_ = 4;
    return other;
  }
  // Uniform over all 32-bit values.
  std::uint32_t bits() noexcept {
    if (used_ == 4) {
      block_ = philox4x32_10(counter_, key_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }
  // Uniform in [0, 1), a multiple of 2^-24 and therefore exact in float and double.
  double uniform() noexcept { return (bits() >> 8) * 0x1p-24; }
  // Uniform in [low, high).
  double uniform(double low, double high) noexcept { return low + (high - low) * uniform(); }
  // Uniform over {0, .., n - 1}, without bias; n in [1, 2^31]. Multiplication with rejection (Lemire 2019).
  std::uint32_t below(std::uint32_t n) noexcept {
    std::uint64_t product = std::uint64_t{bits()} * n;
    if (static_cast<std::uint32_t>(product) < n) {
      const std::uint32_t threshold = (0u - n) % n;
      while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{bits()} * n;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  static constexpr int kBlockBits = 20;
  // Key: the seed. Counter: 20 bits for the block number within an operation, 12 bits for the operation, then draw and
  // sample.
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;
};

// A draw from the standard normal distribution (Box and Muller 1958). Takes two uniform draws.
[[nodiscard]] double draw_normal(Random& random);

// A draw from the gamma distribution of scale 1 (Marsaglia and Tsang, "A simple method for generating gamma variables",
// ACM Transactions on Mathematical Software 26(3), 2000). Precondition: shape > 0. Takes any number of uniform draws.
[[nodiscard]] double draw_gamma(double shape, Random& random);

}  // namespace unstarve
