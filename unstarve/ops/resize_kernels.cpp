#include "unstarve/ops/resize_kernels.h"

#include <algorithm>
#include <cstring>

#include "unstarve/core/simd_targets.h"
#include "unstarve/core/wide_vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/resize_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

std::uint8_t clipped(int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); }

// Machines without SSE4: plain loops.
void run(const std::uint8_t* source, std::ptrdiff_t row_stride, Scratch::ResizeTables& t, std::uint8_t* out) {
  const AxisFilter& horizontal = t.horizontal;
  const AxisFilter& vertical = t.vertical;
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{horizontal.output()} * kChannels;
  t.between.reserve_discard(static_cast<std::size_t>(row_bytes) * static_cast<std::size_t>(vertical.input()));
  std::uint8_t* between = t.between.data();
  for (int y = 0; y < vertical.input(); ++y) {
    for (int x = 0; x < horizontal.output(); ++x) {
      const int first = horizontal.first(x);
      for (int c = 0; c < kChannels; ++c) {
        int sum = 1 << (horizontal.fraction_bits() - 1);
        for (int k = 0; k < horizontal.taps() && first + k < horizontal.input(); ++k) {
          sum += horizontal.weights(x)[k] * source[y * row_stride + (first + k) * kChannels + c];
        }
        *between++ = clipped(sum >> horizontal.fraction_bits());
      }
    }
  }
  for (int y = 0; y < vertical.output(); ++y) {
    const int first = vertical.first(y);
    for (std::ptrdiff_t x = 0; x < row_bytes; ++x) {
      int sum = 1 << (vertical.fraction_bits() - 1);
      for (int k = 0; k < vertical.taps() && first + k < vertical.input(); ++k) {
        sum += vertical.weights(y)[k] * t.between.data()[(first + k) * row_bytes + x];
      }
      *out++ = clipped(sum >> vertical.fraction_bits());
    }
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

#include "unstarve/ops/resize_vectors-inl.h"
// In this order.
#include "unstarve/ops/resize_blocks-inl.h"
#include "unstarve/ops/resize_permute-inl.h"
#include "unstarve/ops/resize_vertical-inl.h"

// Either pass writes at most so much behind a row. The next row overwrites it.
constexpr std::size_t kWrittenBehind = 64;
constexpr std::size_t kRowsAtOnce = 2;

// The tables of the horizontal filter, for whichever of the kernels takes it.
void prepare_horizontal(Scratch::ResizeTables& t) {
  t.permuted = 0;
#if HWY_TARGET == HWY_AVX3_DL
  if (wide_vectors_pay() && Permuted<64>::prepare(t)) {
    t.permuted = 64;
  } else if (Permuted<32>::prepare(t)) {
    t.permuted = 32;
  }
#endif
  if (t.permuted == 0) blocks::prepare(t);
}

// Rows through the horizontal pass: one, or kRowsAtOnce where t.permuted is not 0; the next ones lie `ahead` bytes later.
void run_horizontal(const std::uint8_t* const* rows, std::size_t count, [[maybe_unused]] std::ptrdiff_t ahead,
                    const Scratch::ResizeTables& t, std::uint8_t* const* outs) {
#if HWY_TARGET == HWY_AVX3_DL
  if (t.permuted == 64) return Permuted<64>::run(rows, count, ahead, t, outs);
  if (t.permuted == 32) return Permuted<32>::run(rows, count, ahead, t, outs);
#endif
  for (std::size_t i = 0; i < count; ++i) blocks::run(rows[i], t, outs[i]);
}

void run_vertical(const Scratch::ResizeTables& t, int y, std::uint8_t* out) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if (wide_vectors_pay()) return vertical_pass<64>(t, y, out);
#endif
  vertical_pass<blocks::kBytes>(t, y, out);
}

void run(const std::uint8_t* source, std::ptrdiff_t row_stride, Scratch::ResizeTables& t, std::uint8_t* out) {
  const AxisFilter& horizontal = t.horizontal;
  const AxisFilter& vertical = t.vertical;
  const auto out_bytes = static_cast<std::size_t>(horizontal.output()) * kChannels;
  const int last_line = vertical.input() - 1;
  const auto taps = static_cast<std::size_t>(vertical.taps());
  // Only as many rows as one output row needs lie between the passes, and those made along with the last of them: line
  // i in place i % ring.
  const std::size_t ring = taps + kRowsAtOnce - 1;
  const std::size_t pitch = out_bytes + kWrittenBehind;
  t.between.reserve_discard(pitch * ring);
  t.rows.resize(taps);
  if (!horizontal.identity()) {
    prepare_horizontal(t);
    // The horizontal pass reads beyond a row's last pixel, with weights of 0: into the next row, or from this copy.
    const auto row_bytes = static_cast<std::size_t>(horizontal.input()) * kChannels;
    t.last_row.reserve_discard(row_bytes + static_cast<std::size_t>(horizontal.taps()) * kChannels + 64);
    std::memcpy(t.last_row.data(), source + last_line * row_stride, row_bytes);
  }
  const auto source_line = [&](int line) {
    return line == last_line && !horizontal.identity() ? t.last_row.data() : source + line * row_stride;
  };

  // Several rows at once where the vertical filter uses them all.
  const bool all_used = vertical.taps() * vertical.output() >= vertical.input();
  const int at_once = t.permuted != 0 && all_used ? static_cast<int>(kRowsAtOnce) : 1;
  const auto place = [&](int line) { return t.between.data() + static_cast<std::size_t>(line) % ring * pitch; };

  int done = 0;  // lines that went through the horizontal pass
  for (int y = 0; y < vertical.output(); ++y, out += out_bytes) {
    if (vertical.identity()) {
      if (horizontal.identity()) {
        std::memcpy(out, source_line(y), out_bytes);
      } else {
        const std::uint8_t* const line = source_line(y);
        run_horizontal(&line, 1, row_stride, t, &out);
      }
      continue;
    }
    for (std::size_t k = 0; k < taps; ++k) {
      const int wanted = vertical.first(y) + static_cast<int>(k);
      const int line = wanted < last_line ? wanted : last_line;
      if (horizontal.identity()) {
        t.rows[k] = source_line(line);
        continue;
      }
      if (line >= done) {
        const int count = line + at_once <= vertical.input() ? at_once : 1;
        const std::uint8_t* from[kRowsAtOnce];
        std::uint8_t* to[kRowsAtOnce];
        for (int i = 0; i < count; ++i) {
          from[i] = source_line(line + i);
          to[i] = place(line + i);
        }
        run_horizontal(from, static_cast<std::size_t>(count), count * row_stride, t, to);
        done = line + count;
      }
      t.rows[k] = place(line);
    }
    run_vertical(t, y, out);
  }
}

#endif

}  // namespace

void resize_rows_on_target(const std::uint8_t* source, std::ptrdiff_t row_stride, Scratch::ResizeTables& tables,
                           std::uint8_t* out) {
  run(source, row_stride, tables, out);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(resize_rows_on_target);

void resize_rows(const std::uint8_t* source, std::ptrdiff_t row_stride, Scratch::ResizeTables& tables,
                 std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(resize_rows_on_target)(source, row_stride, tables, out);
}

}  // namespace unstarve
#endif
