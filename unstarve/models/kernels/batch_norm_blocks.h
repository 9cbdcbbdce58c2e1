#pragma once
// The work of a block of GPU threads in the passes of batch normalisation: the formulas are those of batch_norm_rows.h.
//
//   moments_block ──▶ join_moments_block ──▶ normalise_block           forward
//   gradients_block ──▶ join_gradients_block ──▶ input_gradient_block  backward
//
// nvcc compiles these functions for the GPU (cuda/batch_norm_device.cu). The host's compiler compiles the same ones for
// the tests, which run the threads of a block one after the other. A `Team` is the threads of a block: each(f) calls
// f(thread) for all of them and then waits for all. What one step passes to the next is in `shared`.
//
// T: float, or a type of 16 bits that converts to and from float. Sums over the rows of a block are float32, in a fixed
// order; blocks are joined in float64.

#include <cmath>
#include <cstdint>

#include "unstarve/models/kernels/batch_norm_grid.h"
#include "unstarve/models/kernels/batch_norm_rows.h"

#ifdef __CUDACC__
#define UNSTARVE_NORM_HD __host__ __device__
#else
#define UNSTARVE_NORM_HD
#endif

namespace unstarve {

// The index of a block in the grid.
struct NormBlock {
  int channels = 0, rows = 0;
};

// One per channel, and what follows the norm. Null pointers as in NormForward and NormBackward.
template <class T>
struct NormTensors {
  const T *x = nullptr, *added = nullptr, *dy = nullptr, *y = nullptr;
  T* out = nullptr;    // y of the forward pass, g, or dx
  bool inner = false;  // whether `added` is added before the activation
  NormCoefficients coefficients{};
  float lower = 0, upper = 0;  // of the activation; NaN: no bound
};

struct NormStatistics {
  float* parts = nullptr;  // written by moments_block(): row blocks x 2 x channels
  const float *weight = nullptr, *bias = nullptr;
  float *running_mean = nullptr, *running_var = nullptr;
  double momentum = 0, epsilon = 0;
  float* table = nullptr;  // 4 rows of channels: mean, 1 / deviation, scale, shift
};

struct NormSums {
  float* parts = nullptr;        // written by gradients_block(): row blocks x 2 x channels
  const float* table = nullptr;  // of NormStatistics
  float *dweight = nullptr, *dbias = nullptr;
  float* coefficients = nullptr;  // 2 rows of channels: slope, offset of input_gradient_block()
};

// The memory of moments_block() and gradients_block().
struct NormWork {
  float* shared = nullptr;  // of the block: kNormShared values
  float* parts = nullptr;   // of the grid: row blocks x 2 x channels
};

// The tensors of a pass in elements of type T.
template <class T>
[[nodiscard]] NormTensors<T> tensors_of(const NormForward& pass) {
  const auto [lower, upper] = bounds_of(pass.activation);
  const bool inner = pass.inner != nullptr;
  return {.x = static_cast<const T*>(pass.x),
          .added = static_cast<const T*>(inner ? pass.inner : pass.outer),
          .out = static_cast<T*>(pass.y),
          .inner = inner,
          .coefficients = pass.coefficients,
          .lower = lower,
          .upper = upper};
}
// `out`: g or dx.
template <class T>
[[nodiscard]] NormTensors<T> tensors_of(const NormBackward& pass, void* out) {
  const auto [lower, upper] = bounds_of(pass.activation);
  return {.x = static_cast<const T*>(pass.x),
          .dy = static_cast<const T*>(pass.dy),
          .y = static_cast<const T*>(pass.y),
          .out = static_cast<T*>(out),
          .coefficients = pass.coefficients,
          .lower = lower,
          .upper = upper};
}

namespace norm {

// Comparisons with NaN are false: NaN has no bounds, and no bound is NaN.
UNSTARVE_NORM_HD inline float bounded(float value, float lower, float upper) {
  value = value < lower ? lower : value;
  return value > upper ? upper : value;
}
UNSTARVE_NORM_HD inline float masked(float gradient, float value, float lower, float upper) {
  return value <= lower || value >= upper ? 0.0F : gradient;
}
UNSTARVE_NORM_HD inline std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// `kCount` adjacent values, read and written by one instruction.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T values[kCount];
};
template <int kCount, class T>
UNSTARVE_NORM_HD inline void load(const T* from, float* to) {
  const Pack<T, kCount> pack = *reinterpret_cast<const Pack<T, kCount>*>(from);
  for (int i = 0; i < kCount; ++i) to[i] = static_cast<float>(pack.values[i]);
}
template <int kCount, class T>
UNSTARVE_NORM_HD inline void store(const float* from, T* to) {
  Pack<T, kCount> pack;
  for (int i = 0; i < kCount; ++i) pack.values[i] = static_cast<T>(from[i]);
  *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
}

// The coefficients of a thread's channels.
template <int kCount>
struct Values {
  float of[kCount];
};
template <int kCount>
UNSTARVE_NORM_HD inline Values<kCount> values_at(const float* row, std::int64_t channel) {
  Values<kCount> values;
  for (int i = 0; i < kCount; ++i) values.of[i] = row[channel + i];
  return values;
}

// The part of a thread: its channels from `channel` on, and every `step`th row from `row` to `end`.
struct Part {
  int lane = 0, line = 0;
  std::int64_t channel = 0, row = 0, end = 0, step = 1;
  bool active = false;  // has channels
};
UNSTARVE_NORM_HD inline Part part_of(const NormGrid& grid, const NormBlock& block, int thread) {
  Part part;
  part.lane = thread % grid.lanes;
  part.line = thread / grid.lanes;
  part.channel = (static_cast<std::int64_t>(block.channels) * grid.lanes + part.lane) * grid.vector;
  part.step = grid.row_threads();
  part.row = block.rows * grid.block_rows + part.line;
  part.end = smaller(grid.rows, (block.rows + std::int64_t{1}) * grid.block_rows);
  part.active = part.channel < grid.channels;
  return part;
}

// `shared` has 2 x kCount values per thread; those of adjacent threads are adjacent.
// Adds the values of all threads with the same lane to those of line 0.
template <int kCount, class Team>
UNSTARVE_NORM_HD inline void join_lines(Team& team, const NormGrid& grid, float* shared) {
  for (int half = grid.row_threads() / 2; half > 0; half /= 2) {
    team.each([&](int thread) {
      if (thread / grid.lanes >= half) return;
      float* const to = shared + thread;
      const float* const from = to + half * grid.lanes;
      for (int i = 0; i < 2 * kCount; ++i) to[i * NormGrid::kThreads] += from[i * NormGrid::kThreads];
    });
  }
}

// The same for the threads that join blocks: one value per thread, kJoinLanes next to each other.
template <class Team>
UNSTARVE_NORM_HD inline void join_lines(Team& team, double* shared) {
  for (int half = NormGrid::kJoinThreads / NormGrid::kJoinLanes / 2; half > 0; half /= 2) {
    team.each([&](int thread) {
      if (thread / NormGrid::kJoinLanes < half) shared[thread] += shared[thread + half * NormGrid::kJoinLanes];
    });
  }
}
// Sums value(row block, channel) over the row blocks, for 32 channels.
template <class Team, class Value>
UNSTARVE_NORM_HD inline void join_blocks(Team& team, const NormGrid& grid, int block, double* shared,
                                         const Value& value) {
  team.each([&](int thread) {
    const std::int64_t channel =
        static_cast<std::int64_t>(block) * NormGrid::kJoinLanes + thread % NormGrid::kJoinLanes;
    double sum = 0;
    if (channel < grid.channels) {
      for (int i = thread / NormGrid::kJoinLanes; i < grid.row_blocks;
           i += NormGrid::kJoinThreads / NormGrid::kJoinLanes)
        sum += value(i, channel);
    }
    shared[thread] = sum;
  });
  join_lines(team, shared);
}

}  // namespace norm

// float32 values of `shared` for kCount channels per thread.
template <int kCount>
inline constexpr int kNormShared = 2 * kCount* NormGrid::kThreads;

// Writes mean and sum((x - mean)^2) of the block's rows to `work.parts`.
template <int kCount, class T, class Team>
UNSTARVE_NORM_HD void moments_block(Team& team, const NormGrid& grid, const NormBlock& block, const T* x,
                                    const NormWork& work) {
  float* const shared = work.shared;
  const std::int64_t first = block.rows * grid.block_rows;
  team.each([&](int thread) {
    const norm::Part part = norm::part_of(grid, block, thread);
    float pivot[kCount], sums[2 * kCount] = {};
    if (part.active) {
      // Of the first row, so that the squares of values far from zero lose few digits.
      norm::load<kCount>(x + first * grid.channels + part.channel, pivot);
      for (std::int64_t row = part.row; row < part.end; row += part.step) {
        float values[kCount];
        norm::load<kCount>(x + row * grid.channels + part.channel, values);
        for (int i = 0; i < kCount; ++i) {
          const float distance = values[i] - pivot[i];
          sums[i] += distance;
          sums[kCount + i] += distance * distance;
        }
      }
    }
    for (int i = 0; i < 2 * kCount; ++i) shared[i * NormGrid::kThreads + thread] = sums[i];
  });
  norm::join_lines<kCount>(team, grid, shared);
  team.each([&](int thread) {
    const norm::Part part = norm::part_of(grid, block, thread);
    if (part.line != 0 || !part.active) return;
    float pivot[kCount];
    norm::load<kCount>(x + first * grid.channels + part.channel, pivot);
    const auto rows = static_cast<float>(part.end - first);
    float* const to = work.parts + 2 * grid.channels * block.rows + part.channel;
    for (int i = 0; i < kCount; ++i) {
      const float sum = shared[i * NormGrid::kThreads + thread];
      const float squares = shared[(kCount + i) * NormGrid::kThreads + thread];
      const float from_pivot = sum / rows;
      to[i] = pivot[i] + from_pivot;
      to[grid.channels + i] = squares - from_pivot * sum;
    }
  });
}

// The table and the running statistics of 32 channels. `shared`: kJoinThreads values.
template <class Team>
UNSTARVE_NORM_HD void join_moments_block(Team& team, const NormGrid& grid, int block, const NormStatistics& to,
                                         double* shared) {
  const float* const parts = to.parts;
  const auto rows_of = [&](int i) {
    return static_cast<double>(norm::smaller(grid.block_rows, grid.rows - i * grid.block_rows));
  };
  const auto rows = static_cast<double>(grid.rows);
  norm::join_blocks(team, grid, block, shared, [&](int i, std::int64_t channel) {
    return rows_of(i) * static_cast<double>(parts[2 * grid.channels * i + channel]);
  });
  team.each([&](int thread) {
    const std::int64_t channel = static_cast<std::int64_t>(block) * NormGrid::kJoinLanes + thread;
    if (thread < NormGrid::kJoinLanes && channel < grid.channels)
      to.table[channel] = static_cast<float>(shared[thread] / rows);
  });
  // Around the rounded mean, which the table has; the difference is far below the precision of the variance.
  norm::join_blocks(team, grid, block, shared, [&](int i, std::int64_t channel) {
    const float* const part = parts + 2 * grid.channels * i + channel;
    const double distance = static_cast<double>(part[0]) - static_cast<double>(to.table[channel]);
    return static_cast<double>(part[grid.channels]) + rows_of(i) * distance * distance;
  });
  team.each([&](int thread) {
    const std::int64_t channel = static_cast<std::int64_t>(block) * NormGrid::kJoinLanes + thread;
    if (thread >= NormGrid::kJoinLanes || channel >= grid.channels) return;
    const double mean = static_cast<double>(to.table[channel]), squares = shared[thread];
    const double inverse = 1 / sqrt(squares / rows + to.epsilon);
    const double scale = static_cast<double>(to.weight[channel]) * inverse;
    to.table[grid.channels + channel] = static_cast<float>(inverse);
    to.table[2 * grid.channels + channel] = static_cast<float>(scale);
    to.table[3 * grid.channels + channel] = static_cast<float>(static_cast<double>(to.bias[channel]) - mean * scale);
    const auto moved = [&](float value, double target) {
      return static_cast<float>((1 - to.momentum) * static_cast<double>(value) + to.momentum * target);
    };
    to.running_mean[channel] = moved(to.running_mean[channel], mean);
    to.running_var[channel] = moved(to.running_var[channel], squares / (rows - 1));
  });
}

// y = activation(scale x + shift + inner) + outer
template <int kCount, class T, class Team>
UNSTARVE_NORM_HD void normalise_block(Team& team, const NormGrid& grid, const NormBlock& block,
                                      const NormTensors<T>& pass) {
  team.each([&](int thread) {
    const norm::Part part = norm::part_of(grid, block, thread);
    if (!part.active) return;
    const auto scale = norm::values_at<kCount>(pass.coefficients.scale, part.channel);
    const auto shift = norm::values_at<kCount>(pass.coefficients.shift, part.channel);
    for (std::int64_t row = part.row; row < part.end; row += part.step) {
      const std::int64_t at = row * grid.channels + part.channel;
      float values[kCount], added[kCount] = {};
      norm::load<kCount>(pass.x + at, values);
      if (pass.added != nullptr) norm::load<kCount>(pass.added + at, added);
      for (int i = 0; i < kCount; ++i) {
        float value = values[i] * scale.of[i] + shift.of[i];
        if (pass.inner) value += added[i];
        value = norm::bounded(value, pass.lower, pass.upper);
        values[i] = pass.inner ? value : value + added[i];
      }
      norm::store<kCount>(values, pass.out + at);
    }
  });
}

namespace norm {

// Reads x and the gradient of the activation's input.
template <int kCount>
struct GradientReader {
  Values<kCount> scale, shift;
  template <class T>
  UNSTARVE_NORM_HD void read(const NormTensors<T>& pass, std::int64_t at, float* x, float* g) const {
    load<kCount>(pass.x + at, x);
    load<kCount>(pass.dy + at, g);
    float y[kCount];
    if (pass.y != nullptr) load<kCount>(pass.y + at, y);
    for (int i = 0; i < kCount; ++i) {
      const float bounded_value = pass.y != nullptr ? y[i] : x[i] * scale.of[i] + shift.of[i];
      g[i] = masked(g[i], bounded_value, pass.lower, pass.upper);
    }
  }
};
template <int kCount>
UNSTARVE_NORM_HD inline GradientReader<kCount> reader_at(const NormCoefficients& of, std::int64_t channel) {
  return {values_at<kCount>(of.scale, channel), values_at<kCount>(of.shift, channel)};
}

}  // namespace norm

// Writes sum(g) and sum(g (x - mean)) of the block's rows to `work.parts`, and g to `out` if that is defined.
template <int kCount, class T, class Team>
UNSTARVE_NORM_HD void gradients_block(Team& team, const NormGrid& grid, const NormBlock& block,
                                      const NormTensors<T>& pass, const NormWork& work) {
  float* const shared = work.shared;
  team.each([&](int thread) {
    const norm::Part part = norm::part_of(grid, block, thread);
    float sums[2 * kCount] = {};
    if (part.active) {
      const auto mean = norm::values_at<kCount>(pass.coefficients.mean, part.channel);
      const auto reader = norm::reader_at<kCount>(pass.coefficients, part.channel);
      for (std::int64_t row = part.row; row < part.end; row += part.step) {
        const std::int64_t at = row * grid.channels + part.channel;
        float x[kCount], g[kCount];
        reader.read(pass, at, x, g);
        if (pass.out != nullptr) norm::store<kCount>(g, pass.out + at);
        for (int i = 0; i < kCount; ++i) {
          sums[i] += g[i];
          sums[kCount + i] += g[i] * (x[i] - mean.of[i]);
        }
      }
    }
    for (int i = 0; i < 2 * kCount; ++i) shared[i * NormGrid::kThreads + thread] = sums[i];
  });
  norm::join_lines<kCount>(team, grid, shared);
  team.each([&](int thread) {
    const norm::Part part = norm::part_of(grid, block, thread);
    if (part.line != 0 || !part.active) return;
    float* const to = work.parts + 2 * grid.channels * block.rows + part.channel;
    for (int i = 0; i < kCount; ++i) {
      to[i] = shared[i * NormGrid::kThreads + thread];
      to[grid.channels + i] = shared[(kCount + i) * NormGrid::kThreads + thread];
    }
  });
}

// The gradients of weight and bias, and the coefficients of input_gradient_block(), for 32 channels. `shared`: twice
// kJoinThreads values.
template <class Team>
UNSTARVE_NORM_HD void join_gradients_block(Team& team, const NormGrid& grid, int block, const NormSums& to,
                                           double* shared) {
  const float* const parts = to.parts;
  double* const products = shared + NormGrid::kJoinThreads;
  norm::join_blocks(team, grid, block, shared, [&](int i, std::int64_t channel) {
    return static_cast<double>(parts[2 * grid.channels * i + channel]);
  });
  norm::join_blocks(team, grid, block, products, [&](int i, std::int64_t channel) {
    return static_cast<double>(parts[2 * grid.channels * i + grid.channels + channel]);
  });
  team.each([&](int thread) {
    const std::int64_t channel = static_cast<std::int64_t>(block) * NormGrid::kJoinLanes + thread;
    if (thread >= NormGrid::kJoinLanes || channel >= grid.channels) return;
    const auto rows = static_cast<double>(grid.rows);
    const double inverse = static_cast<double>(to.table[grid.channels + channel]);
    const double scale = static_cast<double>(to.table[2 * grid.channels + channel]);
    const double product = products[thread] * inverse;
    to.dbias[channel] = static_cast<float>(shared[thread]);
    to.dweight[channel] = static_cast<float>(product);
    to.coefficients[channel] = static_cast<float>(-scale * product * inverse / rows);
    to.coefficients[grid.channels + channel] = static_cast<float>(-scale * shared[thread] / rows);
  });
}

// dx = scale g + slope (x - mean) + offset
template <int kCount, class T, class Team>
UNSTARVE_NORM_HD void input_gradient_block(Team& team, const NormGrid& grid, const NormBlock& block,
                                           const NormTensors<T>& pass) {
  team.each([&](int thread) {
    const norm::Part part = norm::part_of(grid, block, thread);
    if (!part.active) return;
    const auto reader = norm::reader_at<kCount>(pass.coefficients, part.channel);
    const auto mean = norm::values_at<kCount>(pass.coefficients.mean, part.channel);
    const auto slope = norm::values_at<kCount>(pass.coefficients.slope, part.channel);
    const auto offset = norm::values_at<kCount>(pass.coefficients.offset, part.channel);
    for (std::int64_t row = part.row; row < part.end; row += part.step) {
      const std::int64_t at = row * grid.channels + part.channel;
      float x[kCount], g[kCount];
      reader.read(pass, at, x, g);
      for (int i = 0; i < kCount; ++i)
        g[i] = reader.scale.of[i] * g[i] + (slope.of[i] * (x[i] - mean.of[i]) + offset.of[i]);
      norm::store<kCount>(g, pass.out + at);
    }
  });
}

}  // namespace unstarve
