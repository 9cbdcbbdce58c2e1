#pragma once
// What a GPU does to a batch, as plain data: for each sample a few commands over a stack of layers, run by one team of
// threads (run_program.h). program_recorder.h writes the program, packet.h copies it to the device at once.
//
//   source pixels ── Layer ── Layer ── ... ── kStore ──▶ the sample's slot in the batch
//                      └─ kMakePixels ──▶ a slot of the team's scratch memory ── Layer ── ...
//
// A layer describes how each of its pixels is computed from the layer below or from pixels in memory; nothing is
// computed before a command needs it. So crops, flips, borders, colours, covered rectangles and one operation that
// reads several pixels (a resize, a warp, a filter) are one pass from the source to the batch. A second operation that
// reads several pixels needs a kMakePixels in between. A blend keeps the image that its versions are made from in
// memory of its own and adds each version to sums. Nothing here owns memory or depends on CUDA.

#include <array>
#include <cstdint>

#include "unstarve/core/image.h"
#include "unstarve/ops/base/border.h"
#include "unstarve/ops/base/host_device.h"
#include "unstarve/ops/geometry/warp.h"

namespace unstarve::gpu {

// A rectangle of what lies below, mirrored where a step is -1, with `border` where it reaches beyond.
struct View {
  std::int32_t x = 0, y = 0;                              // below, of the view's pixel (0, 0)
  std::int32_t step_x = 1, step_y = 1;                    // 1 or -1
  std::int32_t left = 0, top = 0, right = 0, bottom = 0;  // columns and rows below that there are: [left, right) ...
  std::array<std::uint8_t, kChannels> fill{};             // kConstant
  Border border = Border::kConstant;
};

enum class PointKind : std::int32_t { kTable, kMeasured, kBlendGrey, kHue };
struct PointStep {
  PointKind kind = PointKind::kTable;
  std::int32_t value = 0;  // kTable: which of the batch's; kMeasured: which of the sample's; else as PointChain::Step
};

// Pixels in memory: kSource counts from the sample's first byte, the others from that of a part of the team's memory.
enum class From : std::int32_t { kLayer, kSource, kSlot, kKept };
struct Input {
  From from = From::kSource;
  std::int32_t slot = 0;  // kSlot: 0 or 1
  std::int64_t row_stride = 0, pixel_stride = 0, channel_stride = 0;
};

enum class LayerKind : std::int32_t {
  kView,      // what is seen through `view`, its colours by the points
  kCover,     // one colour or noise in a rectangle, what is below elsewhere
  kResize,    // by two axes' tables, of what is seen through `view`; as the next three
  kWarp,      // by a mapping
  kSharpen,   // a pixel and its eight neighbours
  kBlurDown,  // columns of sums that kBlurAcross has left in the wide memory
};

// One axis of a resize: the tables of an AxisFilter.
struct Axis {
  std::int32_t first_start = 0;   // of the batch's starts: the first input sample of each output sample
  std::int32_t first_weight = 0;  // of the batch's weights: `taps` for each output sample
  std::int32_t taps = 0;
  std::int32_t fraction_bits = 0;
};

struct Layer {
  LayerKind kind = LayerKind::kView;
  Input input;  // kLayer: the layer before it
  Size size;    // of what it makes
  View view;
  Size view_size;                            // kResize: of what is seen through the view; else it is `size`
  std::int32_t first_point = 0, points = 0;  // kView
  Rect rect;                                 // kCover
  std::uint64_t noise = 0;                   // kCover: its key; 0: none, one colour, `fill`
  std::int32_t value = 0;                    // kSharpen: the weight in 1/65536
  Axis across, down;                         // kResize
  Mapping mapping;                           // kWarp
  Interpolation how = Interpolation::kNearest;
  std::array<std::uint8_t, kChannels> fill{};
  std::int32_t radius = 0, first_blur_weight = 0;  // kBlurDown
};

enum class CommandKind : std::int32_t {
  kMakePixels,    // a layer's pixels into a slot
  kBlurAcross,    // a kBlurDown layer's `view`, blurred along x, into the wide memory in 1/256
  kContrast,      // a table of the sample's: blends a layer's pixels with its mean luma
  kEqualize,      // a table that makes a layer's values about equally frequent
  kAutoContrast,  // a table that spreads them
  kKeep,          // a layer's pixels into the kept memory
  kAddWeighted,   // a layer's values times `weight` to the sums; `to` 0: these are the first ones
  kTakeSums,      // the sums, by 1/65536, into a slot; the layer tells their size
  kStore,         // a layer's pixels to their place in the batch
};
struct Command {
  CommandKind kind = CommandKind::kStore;
  std::int32_t layer = 0;
  std::int32_t to = 0;      // the slot, or which of the sample's tables
  std::int32_t weight = 0;  // kContrast, kAddWeighted: of the pixel, in 1/65536
};

struct SampleProgram {
  std::int64_t source = 0;  // byte of the batch's source memory where the sample's first pixel lies
  std::int32_t first_command = 0, commands = 0;
};

using Table = std::array<std::array<std::uint8_t, 256>, kChannels>;

// A team's memory: two slots, the wide memory, the sample's tables, the kept pixels, the sums of a blend.
struct ScratchLayout {
  std::int64_t slot_bytes = 0, wide_bytes = 0;  // multiples of 64
  std::int64_t tables = 0;
  std::int64_t kept_bytes = 0, sum_bytes = 0;  // multiples of 64
  [[nodiscard]] constexpr UNSTARVE_HD std::int64_t kept() const {
    return 2 * slot_bytes + wide_bytes + tables * static_cast<std::int64_t>(sizeof(Table));
  }
  [[nodiscard]] constexpr UNSTARVE_HD std::int64_t bytes() const { return kept() + kept_bytes + sum_bytes; }
};

// Everything of a batch, borrowed from a packet; numbers in the structures above count from these.
struct BatchProgram {
  const SampleProgram* samples = nullptr;
  const Command* commands = nullptr;
  const Layer* layers = nullptr;
  const PointStep* points = nullptr;
  const Table* tables = nullptr;
  const std::int32_t* starts = nullptr;
  const std::uint32_t* blur_weights = nullptr;
  const std::int16_t* weights = nullptr;
  std::int64_t count = 0;  // samples
  ScratchLayout scratch;
};

}  // namespace unstarve::gpu
