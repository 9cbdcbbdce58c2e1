#include "unstarve/models/kernels/batch_norm_grid.h"

#include <algorithm>

namespace unstarve {
namespace {

// Enough blocks to occupy a large GPU, few enough that joining their sums takes little time.
constexpr std::int64_t kBlocks = 512;
// Rows per thread below which more blocks would only make more sums to join.
constexpr std::int64_t kThreadRows = 4;

std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

NormGrid norm_grid(std::int64_t rows, std::int64_t channels, int vector) {
  NormGrid grid{.rows = rows, .channels = channels, .vector = vector};
  const std::int64_t vectors = channels / vector;
  while (grid.lanes < 32 && grid.lanes < vectors) grid.lanes *= 2;
  grid.channel_blocks = static_cast<int>(quotient_up(vectors, grid.lanes));
  const std::int64_t useful = quotient_up(rows, kThreadRows * grid.row_threads());
  const std::int64_t blocks = std::clamp<std::int64_t>(kBlocks / grid.channel_blocks, 1, useful);
  grid.block_rows = quotient_up(rows, blocks);
  grid.row_blocks = static_cast<int>(quotient_up(rows, grid.block_rows));
  return grid;
}

int norm_vector(std::int64_t channels, NormElement type, std::uintptr_t addresses) {
  constexpr int kBytes = 16;
  const int vector = kBytes / bytes_of(type);
  return channels % vector == 0 && addresses % kBytes == 0 ? vector : 1;
}

}  // namespace unstarve
