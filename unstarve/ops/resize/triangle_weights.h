#pragma once
// The weights of a triangle filter (bilinear resizing, the common case), for several output samples at a time. Private
// to ops.
//
// Threads: pure. Every output sample takes the same operations in the same order, so that every instruction set gives
// the same bits.

#include <cstddef>
#include <cstdint>

namespace unstarve {

// Tables of doubles, `pitch` apart, one value per output sample in each. A pitch is at least outputs + kTriangleSlack.
inline constexpr std::size_t kTriangleSlack = 8;

struct TriangleTables {
  double* centres;
  double* begins;   // first input sample
  double* ends;     // one past the last
  double* counts;   // number of weights up to the last nonzero one
  double* weights;  // [k]: weight of input sample begins + k, 0 <= k < taps
  std::size_t pitch, taps;

  static constexpr std::size_t kOtherTables = 4;  // tables before the weights
  // Consecutive tables in `memory`, which has room for (kOtherTables + taps) * pitch values.
  [[nodiscard]] static TriangleTables in(double* memory, std::size_t pitch, std::size_t taps) {
    return {memory, memory + pitch, memory + 2 * pitch, memory + 3 * pitch, memory + kOtherTables * pitch, pitch, taps};
  }
};

// Fills all tables for `outputs` samples of an axis of `input` samples, `scale` input samples per output sample; the
// triangle reaches `stretch` to either side and is cut at the edges. Weights add up to 1. Returns the largest.
[[nodiscard]] double make_triangle_weights(const TriangleTables& tables, int input, std::size_t outputs, double scale,
                                           double stretch);

// Weights in fixed point: 1 is `one`. The first `longest` of each output go to `out`, `pitch` apart.
struct RoundedWeights {
  std::size_t longest;
  double one;
  std::int16_t* out;
  std::size_t pitch;
};
// Rounds the weights of outputs [from, to).
void round_triangle_weights(const TriangleTables& tables, std::size_t from, std::size_t to,
                            const RoundedWeights& fixed);

}  // namespace unstarve
