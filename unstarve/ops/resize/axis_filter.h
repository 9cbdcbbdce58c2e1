#pragma once
// The weights of one axis of a resize: the input samples of each output sample and their weights.
//
// The filter (resampling.h) is centred at the output sample, cut at the edges and normalised. Weights are
// computed in double and rounded to 16 bits with as many fractional bits as the largest one allows (14 when enlarging,
// more the wider the filter), so that a 16-bit multiply-add with 32-bit sums is enough; Pillow uses 22 bits in 32-bit
// products. The rounding moves a result by less than 0.02 of 255, far below the rounding to 8 bits between the passes;
// with N equal weights (box, area) by up to N / 32000, which is visible when a row of thousands becomes one pixel.
// Weights may be negative; the kernels clip the sums.
//
// Ownership: owns its tables; build() reuses their memory. Threads: one at a time. Cost: about 5 ns per output
// sample for bilinear, 17 for the others.

#include <cstdint>
#include <vector>

#include "unstarve/ops/base/resampling.h"

namespace unstarve {

class AxisFilter {
 public:
  // Precondition: both at least 1. Does nothing if the arguments are those of the last call.
  void build(int input, int output, Resampling resampling = {}) { build(input, output, resampling, {0, output}); }
  // Output samples [from, to), 0 <= from < to <= output. `reversed`: they are numbered from the far end, so that a
  // mirrored input gives the mirrored output, bit by bit.
  struct Part {
    int from = 0, to = 0;
    bool reversed = false;
    friend bool operator==(const Part&, const Part&) = default;
  };
  // The same for a part of the output. Its samples are numbered from 0 on; the input is the part that they read, from
  // begin() on. Their weights are those of the whole axis.
  void build(int input, int output, Resampling resampling, Part part);

  // Upper bound of taps(); does not shrink for a larger input.
  [[nodiscard]] static int max_taps(int input, int output, Resampling resampling);

  // Number of samples in the requested parts of input and output.
  [[nodiscard]] int input() const { return end_ - begin_; }
  [[nodiscard]] int output() const { return part_.to - part_.from; }
  // Index of the first sample of the input part within the whole input.
  [[nodiscard]] int begin() const { return begin_; }
  [[nodiscard]] bool identity() const { return whole_input_ == whole_output_; }
  // True if every output sample is the input sample first(i) unchanged: for kNearest and for equal sizes.
  [[nodiscard]] bool picks() const { return picks_; }
  // Weights per output sample, an even number; unused ones are 0.
  [[nodiscard]] int taps() const { return taps_; }
  [[nodiscard]] int fraction_bits() const { return fraction_bits_; }
  // First input sample of output sample i; first(i) + k may reach beyond the input only where the weight is 0.
  [[nodiscard]] int first(int i) const { return first_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const int* firsts() const { return first_.data(); }  // of all output samples
  // taps() weights of sample i, followed by those of sample i + 1.
  [[nodiscard]] const std::int16_t* weights(int i) const {
    return weights_.data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(taps_);
  }

  [[nodiscard]] std::uint64_t bytes_held() const {
    return first_.capacity() * sizeof(int) + weights_.capacity() * sizeof(std::int16_t) +
           exact_.capacity() * sizeof(double);
  }

 private:
  [[nodiscard]] double scale() const;    // input samples per output sample
  [[nodiscard]] double stretch() const;  // of the filter
  void build_triangle();
  void build_any();
  void choose_precision(double largest);
  void choose_input(int begin, int end, int longest);
  void reverse();

  int whole_input_ = 0, whole_output_ = 0;
  Resampling resampling_;
  Part part_;
  int begin_ = 0, end_ = 0;  // input samples
  bool picks_ = false;
  int taps_ = 0;
  int fraction_bits_ = 0;
  std::vector<int> first_;
  std::vector<std::int16_t> weights_;
  std::vector<double> exact_;
};

}  // namespace unstarve
