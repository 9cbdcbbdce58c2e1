#pragma once
// The weights of a triangle filter, several output samples at a time: what AxisFilter makes of bilinear resizing, the
// common case. Private to ops.
//
// Threads: pure. Exactness: the same operations in the same order for each output sample, so that every instruction set
// gives the same bits.

#include <cstddef>
#include <cstdint>

namespace unstarve {

// Tables of doubles, `pitch` apart, one value per output sample in each. A pitch is at least outputs + kTriangleSlack.
inline constexpr std::size_t kTriangleSlack = 8;

struct TriangleTables {
  double* centres;
  double* begins;   // first input sample
  double* ends;     // behind the last one
  double* counts;   // of weights up to the last one that is not 0
  double* weights;  // [k]: of input sample begins + k, 0 <= k < taps
  std::size_t pitch;

  static constexpr std::size_t kBeside = 4;  // tables beside the weights
  // One behind the other in `memory`, which has room for (kBeside + taps) * pitch values.
  [[nodiscard]] static TriangleTables in(double* memory, std::size_t pitch) {
    return {memory, memory + pitch, memory + 2 * pitch, memory + 3 * pitch, memory + kBeside * pitch, pitch};
  }
};

// Fills all tables for `outputs` samples of an axis of `input` samples, `scale` input samples to an output sample; the
// triangle reaches `stretch` to either side and is cut at the edges. Weights add up to 1. Returns the largest.
[[nodiscard]] double make_triangle_weights(const TriangleTables& tables, int input, std::size_t outputs, double scale,
                                           double stretch, std::size_t taps);

// Weights of outputs [from, to) in fixed point, `one` for 1: sample i's first `longest` to out[(i - from) * taps].
void round_triangle_weights(const TriangleTables& tables, std::size_t from, std::size_t to, std::size_t longest,
                            double one, std::size_t taps, std::int16_t* out);

}  // namespace unstarve
