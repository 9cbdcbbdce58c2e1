#include "unstarve/ops/resize/resize_kernels.h"

#include <algorithm>
#include <cstring>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/resize/resize_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/core/simd_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

// Bytes that either pass may write beyond a row; the next row overwrites them.
constexpr std::size_t kOverrun = 64;
constexpr std::size_t kRowsPerCall = 2;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

std::uint8_t clipped(int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); }

// Scalar targets.

void prepare_horizontal(ResizeTables&) {}

void run_horizontal(const std::uint8_t* const* rows, std::size_t count, std::ptrdiff_t, const ResizeTables& t,
                    std::uint8_t* const* outs) {
  const AxisFilter& horizontal = t.horizontal;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint8_t* out = outs[i];
    for (int x = 0; x < horizontal.output(); ++x) {
      const int first = horizontal.first(x);
      for (int c = 0; c < kChannels; ++c) {
        int sum = 1 << (horizontal.fraction_bits() - 1);
        for (int k = 0; k < horizontal.taps() && first + k < horizontal.input(); ++k) {
          sum += horizontal.weights(x)[k] * rows[i][(first + k) * kChannels + c];
        }
        *out++ = clipped(sum >> horizontal.fraction_bits());
      }
    }
  }
}

void run_vertical(const ResizeTables& t, int y, std::size_t bytes, std::uint8_t* out) {
  const AxisFilter& vertical = t.vertical;
  for (std::size_t x = 0; x < bytes; ++x) {
    int sum = 1 << (vertical.fraction_bits() - 1);
    for (int k = 0; k < vertical.taps(); ++k) {
      sum += vertical.weights(y)[k] * t.rows[static_cast<std::size_t>(k)][x];
    }
    *out++ = clipped(sum >> vertical.fraction_bits());
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

#include "unstarve/ops/resize/sum_vectors-inl.h"
// The order matters.
#include "unstarve/ops/resize/horizontal_blocks-inl.h"
#include "unstarve/ops/resize/horizontal_permute-inl.h"
#include "unstarve/ops/resize/horizontal_picks-inl.h"
#include "unstarve/ops/resize/vertical-inl.h"

// Prepares the tables of the horizontal filter for the kernel that will run it.
void prepare_horizontal(ResizeTables& t) {
  t.kernel.permuted = 0;
  if (t.horizontal.picks()) return picks::prepare(t.horizontal, t.kernel);
#if HWY_TARGET == HWY_AVX3_DL
  if (wide_vectors_pay() && Permuted<64>::prepare(t.horizontal, t.kernel)) {
    t.kernel.permuted = 64;
  } else if (Permuted<32>::prepare(t.horizontal, t.kernel)) {
    t.kernel.permuted = 32;
  }
#endif
  if (t.kernel.permuted == 0) blocks::prepare(t.horizontal, t.kernel);
}

// Runs the horizontal pass on one row, or on kRowsPerCall if a kernel permutes bytes; the next rows are `advance` bytes
// later.
void run_horizontal(const std::uint8_t* const* rows, std::size_t count, [[maybe_unused]] std::ptrdiff_t advance,
                    const ResizeTables& t, std::uint8_t* const* outs) {
  if (t.horizontal.picks()) {
    for (std::size_t i = 0; i < count; ++i) picks::run(rows[i], t.kernel, outs[i]);
    return;
  }
#if HWY_TARGET == HWY_AVX3_DL
  if (t.kernel.permuted == 64) return Permuted<64>::run(rows, count, advance, t, outs);
  if (t.kernel.permuted == 32) return Permuted<32>::run(rows, count, advance, t, outs);
#endif
  for (std::size_t i = 0; i < count; ++i) blocks::run(rows[i], t, outs[i]);
}

void run_vertical(const ResizeTables& t, int y, std::size_t bytes, std::uint8_t* out) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if (wide_vectors_pay()) return vertical_pass<64>(t, y, bytes, out);
#endif
  vertical_pass<blocks::kBytes>(t, y, bytes, out);
}

#endif

// Between the passes there is a ring of the rows that one output row needs, plus those computed together with the last
// of them: line i is in entry i % ring.
std::size_t ring_of(const ResizeTables& t) { return static_cast<std::size_t>(t.vertical.taps()) + kRowsPerCall - 1; }
// Bytes of a row that the vertical pass reads and writes.
std::size_t vertical_bytes(const ResizeTables& t) {
  const AxisFilter& horizontal = t.horizontal;
  return static_cast<std::size_t>(t.vertical_first ? horizontal.input() : horizontal.output()) * kChannels;
}
std::size_t pitch_of(const ResizeTables& t) { return vertical_bytes(t) + kOverrun; }
std::uint8_t* between(ResizeTables& t, int line) {
  return t.between.data() + static_cast<std::size_t>(line) % ring_of(t) * pitch_of(t);
}

void begin(ResizeTables& t, std::uint8_t* out) {
  t.between.reserve_discard(pitch_of(t) * ring_of(t));
  if (t.vertical_first) t.line.reserve_discard(vertical_bytes(t) + resize_slack(t.horizontal));
  t.rows.resize(static_cast<std::size_t>(t.vertical.taps()));
  t.out = out;
  t.lines = 0;
  t.made = 0;
  t.kernel.permuted = 0;
  if (!t.horizontal.identity()) prepare_horizontal(t);
}

// Resizes input lines to the width of the output, to `outs`.
void narrow_lines(const std::uint8_t* const* lines, int count, std::ptrdiff_t stride, const ResizeTables& t,
                  std::uint8_t* const* outs) {
  const auto n = static_cast<std::size_t>(count);
  if (!t.horizontal.identity()) return run_horizontal(lines, n, count * stride, t, outs);
  for (std::size_t i = 0; i < n; ++i) {
    std::memcpy(outs[i], lines[i], static_cast<std::size_t>(t.horizontal.output()) * kChannels);
  }
}

// Computes the output rows whose input lines have all arrived.
void make_rows(ResizeTables& t) {
  const AxisFilter& vertical = t.vertical;
  const int last_line = vertical.input() - 1;
  const std::size_t out_bytes = static_cast<std::size_t>(t.horizontal.output()) * kChannels;
  for (; t.made < vertical.output(); ++t.made, t.out += out_bytes) {
    const int first = vertical.first(t.made);
    if (std::min(first + vertical.taps() - 1, last_line) >= t.lines) return;
    for (int k = 0; k < vertical.taps(); ++k) {
      t.rows[static_cast<std::size_t>(k)] = between(t, std::min(first + k, last_line));
    }
    if (t.vertical_first) {
      std::uint8_t* const line = t.line.data();
      run_vertical(t, t.made, vertical_bytes(t), line);
      narrow_lines(&line, 1, 0, t, &t.out);
    } else {
      run_vertical(t, t.made, out_bytes, t.out);
    }
  }
}

// Prefetches a row; the hardware does not, because rows before it are skipped.
void fetch(const std::uint8_t* row, const ResizeTables& t) {
  constexpr int kLine = 64;
  for (int i = 0; i < t.horizontal.input() * kChannels; i += kLine) __builtin_prefetch(row + i);
}

// push() for a vertical filter that picks lines: each line is written once or several times, or skipped.
void push_picked(const std::uint8_t* lines, std::ptrdiff_t stride, int count, ResizeTables& t) {
  const AxisFilter& vertical = t.vertical;
  const std::size_t out_bytes = static_cast<std::size_t>(t.horizontal.output()) * kChannels;
  for (; count > 0; --count, lines += stride, ++t.lines) {
    if (t.made == vertical.output() || vertical.first(t.made) != t.lines) continue;
    std::uint8_t* const made = t.out;
    int more = 1;
    while (t.made + more < vertical.output() && vertical.first(t.made + more) == t.lines) ++more;
    t.made += more;
    const int to_next = t.made < vertical.output() ? vertical.first(t.made) - t.lines : 0;
    if (to_next > 1 && to_next < count) fetch(lines + to_next * stride, t);
    narrow_lines(&lines, 1, stride, t, &made);
    for (t.out += out_bytes; --more > 0; t.out += out_bytes) std::memcpy(t.out, made, out_bytes);
  }
}

void push(const std::uint8_t* lines, std::ptrdiff_t stride, int count, ResizeTables& t) {
  const AxisFilter& vertical = t.vertical;
  if (vertical.picks()) return push_picked(lines, stride, count, t);
  while (count > 0) {
    // n = 1: a line that no output row needs, which is skipped.
    int n = t.made < vertical.output() && t.lines >= vertical.first(t.made) ? 0 : 1;
    if (n == 0 && t.vertical_first) {
      n = 1;
      std::memcpy(between(t, t.lines), lines, vertical_bytes(t));
    } else if (n == 0) {
      n = t.kernel.permuted != 0 && count > 1 ? static_cast<int>(kRowsPerCall) : 1;
      const std::uint8_t* from[kRowsPerCall];
      std::uint8_t* to[kRowsPerCall];
      for (int i = 0; i < n; ++i) {
        from[i] = lines + i * stride;
        to[i] = between(t, t.lines + i);
      }
      narrow_lines(from, n, stride, t, to);
    }
    lines += n * stride;
    count -= n;
    t.lines += n;
    make_rows(t);
  }
}

}  // namespace

void begin_resize_on_target(ResizeTables& tables, std::uint8_t* out) { begin(tables, out); }
void push_rows_on_target(const std::uint8_t* rows, std::ptrdiff_t stride, int count, ResizeTables& tables) {
  push(rows, stride, count, tables);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(begin_resize_on_target);
HWY_EXPORT(push_rows_on_target);

void begin_resize(ResizeTables& tables, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(begin_resize_on_target)(tables, out);
}

void push_rows(const std::uint8_t* rows, std::ptrdiff_t stride, int count, ResizeTables& tables) {
  HWY_DYNAMIC_DISPATCH(push_rows_on_target)(rows, stride, count, tables);
}

}  // namespace unstarve
#endif
