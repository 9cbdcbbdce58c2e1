#pragma once
// The program that a GPU runs for a batch, as plain data: for each sample a few commands over a stack of layers, run by
// one team of threads (run_program.h). program_recorder.h writes the program, packet.h packs it for the copy.
//
//   source pixels ── Layer ── Layer ── ... ── kStore ──▶ the sample's slot in the batch
//                      └─ kMakePixels ──▶ a slot of the team's scratch memory ── Layer ── ...
//
// A layer describes how each of its pixels is computed from the layer below or from pixels in memory; nothing is
// computed before a command needs it. So crops, flips, borders, colours, covered rectangles and one operation that
// reads several pixels (a resize, a warp, a filter) are one pass from the source to the batch. A second operation that
// reads several pixels needs a kMakePixels in between. A blend keeps the image that its versions are made from in
// separate memory and adds each version to sums. Nothing here owns memory or depends on CUDA.

#include <array>
#include <cstdint>

#include "unstarve/core/image.h"
#include "unstarve/ops/base/border.h"
#include "unstarve/ops/base/host_device.h"
#include "unstarve/ops/geometry/warp.h"

namespace unstarve::gpu {

// A rectangle of the image below, mirrored if a step is -1, with `border` beyond the edges.
struct View {
  std::int32_t x = 0, y = 0;                              // position below of the view's pixel (0, 0)
  std::int32_t step_x = 1, step_y = 1;                    // 1 or -1
  std::int32_t left = 0, top = 0, right = 0, bottom = 0;  // existing columns and rows below: [left, right) ...
  std::array<std::uint8_t, kChannels> fill{};             // for kConstant
  Border border = Border::kConstant;
};

enum class PointKind : std::int32_t { kTable, kMeasured, kBlendGrey, kHue, kPermute };
struct PointStep {
  PointKind kind = PointKind::kTable;
  std::int32_t value = 0;  // kTable: index in the batch; kMeasured: index in the sample; else as PointChain::Step
};

// Pixels in memory: kSource starts at the first byte of the sample, the others at a part of the team's memory.
enum class From : std::int32_t { kLayer, kSource, kSlot, kSaved };
struct Input {
  From from = From::kSource;
  std::int32_t slot = 0;  // kSlot: 0 or 1
  std::int64_t row_stride = 0, pixel_stride = 0, channel_stride = 0;
};

enum class LayerKind : std::int32_t {
  kView,      // `view` of the input, its colours changed by the points
  kCover,     // one colour or noise in a rectangle, the input elsewhere
  kResize,    // `view` resized by the tables of two axes; the next three also read `view`
  kWarp,      // by a mapping
  kSharpen,   // a pixel and its eight neighbours
  kBlurDown,  // vertical sums of the wide memory that kBlurAcross has written
};

// One axis of a resize: the tables of an AxisFilter.
struct Axis {
  std::int32_t first_start = 0;   // index in the batch's starts: the first input sample of each output sample
  std::int32_t first_weight = 0;  // index in the batch's weights: `taps` for each output sample
  std::int32_t taps = 0;
  std::int32_t fraction_bits = 0;
};

struct Layer {
  LayerKind kind = LayerKind::kView;
  Input input;  // kLayer: the layer before it
  Size size;    // of the output
  View view;
  Size view_size;                            // kResize: size of the view; otherwise `size`
  std::int32_t first_point = 0, points = 0;  // kView
  Rect rect;                                 // kCover
  std::uint64_t noise = 0;                   // kCover: key of the noise; 0: the colour `fill`
  std::int32_t value = 0;                    // kSharpen: the weight in 1/65536
  Axis across, down;                         // kResize
  Mapping mapping;                           // kWarp
  Interpolation interpolation = Interpolation::kNearest;
  std::array<std::uint8_t, kChannels> fill{};
  std::int32_t radius = 0, first_blur_weight = 0;  // kBlurDown
};

enum class CommandKind : std::int32_t {
  kMakePixels,    // a layer's pixels into a slot
  kBlurAcross,    // a kBlurDown layer's `view`, blurred along x, into the wide memory in 1/256
  kContrast,      // writes a table of the sample: blends a layer's pixels with its mean luma
  kEqualize,      // writes a table that makes a layer's values about equally frequent
  kAutoContrast,  // writes a table that stretches a layer's values to 0..255
  kSave,          // a layer's pixels into the saved image
  kAddWeighted,   // adds a layer's values times `weight` to the sums; `to` 0: starts the sums
  kTakeSums,      // the sums in 1/65536 into a slot; the layer has their size
  kStore,         // a layer's pixels into the sample's slot in the batch
};
struct Command {
  CommandKind kind = CommandKind::kStore;
  std::int32_t layer = 0;
  std::int32_t to = 0;      // the slot, or the index of the sample's table
  std::int32_t weight = 0;  // kContrast, kAddWeighted: of the pixel, in 1/65536
};

struct SampleProgram {
  std::int64_t source = 0;  // offset of the sample's first pixel in the batch's source memory, in bytes
  std::int32_t first_command = 0, commands = 0;
};

using Table = std::array<std::array<std::uint8_t, 256>, kChannels>;

// A team's memory: two slots, the wide memory, the sample's tables, the saved image, the sums of a blend.
struct ScratchLayout {
  std::int64_t slot_bytes = 0, wide_bytes = 0;  // multiples of 64
  std::int64_t tables = 0;
  std::int64_t saved_bytes = 0, sum_bytes = 0;  // multiples of 64
  [[nodiscard]] constexpr UNSTARVE_HD std::int64_t saved() const {
    return 2 * slot_bytes + wide_bytes + tables * static_cast<std::int64_t>(sizeof(Table));
  }
  [[nodiscard]] constexpr UNSTARVE_HD std::int64_t bytes() const { return saved() + saved_bytes + sum_bytes; }
};

// The program of a batch, borrowed from a packet. The indices in the structures above refer to these arrays.
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

// What a program runs on, in addition to its output.
struct BatchMemory {
  const std::uint8_t* source = nullptr;  // the batch's source pixels
  std::uint8_t* scratch = nullptr;       // program.scratch.bytes() for each team
};

}  // namespace unstarve::gpu
