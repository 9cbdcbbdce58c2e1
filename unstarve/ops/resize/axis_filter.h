#pragma once
// The weights of one axis of a resize: which input samples make an output sample, and how much each counts.
//
// The filter (resampling.h) lies around the output sample's centre, cut at the edges and normalised. Weights are
// computed in double and rounded to 16 bits with as many fractional bits as the largest one allows (14 when enlarging,
// more the wider the filter), so that a 16-bit multiply-add with 32-bit sums is enough; Pillow keeps 22 bits in 32-bit
// products. The rounding moves a result by less than 0.02 of 255, far below the rounding to 8 bits between the passes.
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
  // Both at least 1. Nothing happens when all are those of the last call.
  void build(int input, int output, Resampling resampling = {}) { build(input, output, resampling, 0, output); }
  // The same of output samples [from, to), 0 <= from < to <= output, alone: they are numbered from 0 on, and the input
  // is what they need of it, from begin() on. Their weights are those of the whole. `reversed`: both are numbered from
  // the far end, which makes the mirror image of the same input the mirror image of the same output, bit by bit.
  void build(int input, int output, Resampling resampling, int from, int to, bool reversed = false);

  // What taps() is at most; not less for a larger input.
  [[nodiscard]] static int most_taps(int input, int output, Resampling resampling);

  // Samples of the input and of the output, of the parts that were asked for.
  [[nodiscard]] int input() const { return end_ - begin_; }
  [[nodiscard]] int output() const { return to_ - from_; }
  // Where the input begins in that of the whole, from its near end.
  [[nodiscard]] int begin() const { return begin_; }
  [[nodiscard]] bool identity() const { return whole_input_ == whole_output_; }
  // Whether every output sample is one of the input's, first(i), as it is: of kNearest, and where nothing changes.
  [[nodiscard]] bool picks() const { return picks_; }
  // Weights per output sample, an even number; those before and past the sample's own are 0.
  [[nodiscard]] int taps() const { return taps_; }
  [[nodiscard]] int fraction_bits() const { return fraction_bits_; }
  // First input sample of output sample i; first(i) + k may reach beyond the input only where the weight is 0.
  [[nodiscard]] int first(int i) const { return first_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const int* firsts() const { return first_.data(); }  // of all, one behind the other
  // Those of sample i, and behind them those of the next.
  [[nodiscard]] const std::int16_t* weights(int i) const {
    return weights_.data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(taps_);
  }

  [[nodiscard]] std::uint64_t bytes_held() const {
    return first_.capacity() * sizeof(int) + weights_.capacity() * sizeof(std::int16_t) +
           exact_.capacity() * sizeof(double);
  }

 private:
  [[nodiscard]] double scale() const;    // input samples to an output sample
  [[nodiscard]] double stretch() const;  // of the filter
  void build_triangle();
  void build_any();
  void choose_precision(double largest);
  void choose_input(int begin, int end, int longest);
  void reverse();

  int whole_input_ = 0, whole_output_ = 0;
  Resampling resampling_;
  int from_ = 0, to_ = 0;    // of the outputs
  int begin_ = 0, end_ = 0;  // of the inputs
  bool reversed_ = false;
  bool picks_ = false;
  int taps_ = 0;
  int fraction_bits_ = 0;
  std::vector<int> first_;
  std::vector<std::int16_t> weights_;
  std::vector<double> exact_;
};

}  // namespace unstarve
