#pragma once
// The analysis of measurements at several batch sizes: the memory of a larger size and the knee of the throughput.
//
// Threads: plain data and pure functions. Points are in the order of the batch size, each size once.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "unstarve/core/statistics.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

// Samples per second: the geometric mean of several blocks with its 95 % interval; (0, infinity) for one block.
struct RateEstimate {
  double rate = 0;
  double low = 0;
  double high = 0;
  int blocks = 0;
};

struct BatchPoint {
  int batch = 0;
  RateEstimate together;         // loader and trainer
  RateEstimate alone;            // trainer on a resident batch
  double data_wait = 0;          // share of the time in which the trainer waited for a batch
  std::size_t memory_bytes = 0;  // peak: of the GPU's allocator, on the host of the process; 0: unknown
  std::size_t host_bytes = 0;    // peak of the process
  // Share of the time in which the trainer computes: the rate with the loader relative to that without, at most 1.
  [[nodiscard]] double utilisation() const;
  [[nodiscard]] double step_ms() const { return together.rate > 0 ? 1e3 * batch / together.rate : 0; }
};

// Precondition: at least one block, all positive.
[[nodiscard]] RateEstimate estimate_rate(std::span<const double> blocks);

// Peak memory at a batch size. A point of batch 0 is the memory before the first size.
struct BatchMemory {
  int batch = 0;
  std::size_t bytes = 0;
};

// The memory of a larger batch: that of the last point, and the steepest growth per sample that leads from an earlier
// point to it. If the memory is a constant and a part in proportion to the batch, this is an upper bound, as batch 0 is
// without the constant. Precondition: two points or more; batch is at least that of the last point.
[[nodiscard]] std::size_t predict_memory(std::span<const BatchMemory> points, int batch);
// The largest batch whose predicted memory is at most `limit`; none if there is no such limit, because the memory does
// not grow. 0 if the last point exceeds the limit.
[[nodiscard]] std::optional<int> largest_within(std::span<const BatchMemory> points, std::size_t limit);

// Share of the best rate that the knee reaches.
inline constexpr double kKneeShare = 0.95;

// Whether a rate is at least kKneeShare of the best one: its mean is, or its interval contains that share and spans at
// most 10 %, so that a noisy measurement does not pass.
[[nodiscard]] bool reaches_best(const RateEstimate& rate, const RateEstimate& best);
// The index of the point with the highest rate with the loader. Precondition: at least one point, also below.
[[nodiscard]] std::size_t best_point(std::span<const BatchPoint> points);
// The index of the knee: the smallest batch that reaches the best rate.
[[nodiscard]] std::size_t knee_of(std::span<const BatchPoint> points);
// The next size to measure, to find the knee more precisely: the middle between the knee and the size below, a multiple
// of 8 from 8 on. None if there is no such size.
[[nodiscard]] std::optional<int> next_refinement(std::span<const BatchPoint> points);
// The largest multiple of 8 at or below a size; below 8, the size.
[[nodiscard]] int round_to_eight(int batch);
// A size next to `batch` that is not a multiple of 8; none unless `batch` is one and at least 16.
[[nodiscard]] std::optional<int> next_to_multiple(int batch);

// The layers whose number of input or output channels is not a multiple of 8, which the fast kernels of GPUs require or
// pad to. Image channels (the inputs of the first layer) and classes (the outputs of the last one) do not count.
[[nodiscard]] std::vector<LayerShape> unaligned_layers(std::span<const LayerShape> layers);
// The layer with the most multiply-adds of those without groups whose channels are multiples of 8, at least 16.
[[nodiscard]] std::optional<LayerShape> heaviest_aligned_layer(std::span<const LayerShape> layers);
// `layer` with channels that are not multiples of 8: 4 fewer at its input and output.
[[nodiscard]] LayerShape with_unaligned_channels(LayerShape layer);

}  // namespace unstarve
