#pragma once
// Records operations as a batch's program (program.h), for a GPU to run.
//
// Use:       begin() a sample, run its operations with the frame, finish(); again for each sample; clear() for the next
//            batch. BatchRecorder (batch_recorder.h) does so for a chain.
// Ownership: owns the recording, which grows to the largest batch and then allocates nothing.
// Threads:   one at a time. Failure: a sample that is not finished before the next begin() leaves nothing.
// Cost:      host time for the draws and, per resized sample, the tables of its two axes (some microseconds).

#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/geometry/warp.h"
#include "unstarve/ops/gpu/program.h"
#include "unstarve/ops/resize/axis_filter.h"

namespace unstarve {

// An 8-bit RGB image in a batch's source memory: a PixelView with an offset instead of an address.
struct SourceImage {
  std::int64_t offset = 0;  // in bytes
  Size size;
  std::int64_t row_stride = 0, pixel_stride = kChannels, channel_stride = 1;

  // Interleaved, without gaps.
  [[nodiscard]] static SourceImage interleaved(std::int64_t offset, Size size) {
    return {offset, size, std::int64_t{size.width} * kChannels, kChannels, 1};
  }
};

// The program of a batch (program.h) as growing arrays.
struct Recording {
  std::vector<gpu::SampleProgram> samples;
  std::vector<gpu::Command> commands;
  std::vector<gpu::Layer> layers;
  std::vector<gpu::PointStep> points;
  std::vector<gpu::Table> tables;
  std::vector<std::int32_t> starts;
  std::vector<std::uint32_t> blur_weights;
  std::vector<std::int16_t> weights;
  gpu::ScratchLayout scratch;
  // Every sample is one pass from source to batch: no scratch memory, and any thread may compute any pixel.
  bool single_pass = true;
};

class ProgramRecorder final : public Recorder {
 public:
  void clear();
  [[nodiscard]] Frame begin(const SourceImage& image);
  // Ends the sample: `frame` is its output.
  void finish(Frame& frame);
  [[nodiscard]] const Recording& recording() const { return recording_; }

  void make_pixels(Frame& frame) override;
  void resize(Frame& frame, const AxisFilter& across, const AxisFilter& down) override;
  void warp(Frame& frame, const Mapping& mapping, const Warping& warping) override;
  void sharpen(Frame& frame, std::int32_t weight) override;
  void blur(Frame& frame, std::span<const std::uint32_t> weights) override;
  void extend(Frame& frame, Rect window, Border border) override;
  void cover(Frame& frame, Rect rect, const Rgb& colour, std::uint64_t noise) override;
  void adjust_contrast(Frame& frame, std::int32_t weight) override;
  void equalize(Frame& frame) override;
  void auto_contrast(Frame& frame) override;
  void save(Frame& frame) override;
  [[nodiscard]] Frame saved() override;
  void add_weighted(Frame& frame, std::uint32_t weight, bool first) override;
  void take_sums(Frame& frame) override;

 private:
  void discard_unfinished();
  [[nodiscard]] gpu::View view_of(const Frame& frame) const;
  [[nodiscard]] bool shows_all(const Frame& frame) const;
  std::int32_t add_layer(gpu::LayerKind kind, Size size);
  void add_points(const Frame& frame, gpu::Layer& layer);
  // Adds a layer for the frame's window and colours.
  void add_view(Frame& frame, Border border = Border::kConstant);
  // Ensures that the frame shows a window of pixels in memory.
  void make_readable(Frame& frame);
  void make_slot();
  // The next layer reads the image in this part of the team's memory, rows without gaps.
  void read_from(gpu::From from, std::int32_t slot, Size size);
  // The next layer reads the last one, of size `size`. `reads_several`: a pixel of that one reads several below.
  void read_from_layer(Frame& frame, Size size, bool reads_several);
  void measure(Frame& frame, gpu::CommandKind kind, std::int32_t weight);
  [[nodiscard]] gpu::Axis add_axis(const AxisFilter& filter);

  Recording recording_;
  struct Mark {
    std::size_t commands = 0, layers = 0, points = 0, tables = 0, starts = 0, blur_weights = 0, weights = 0;
  } finished_;        // lengths of the arrays after the last finish()
  gpu::Input input_;  // what the next layer reads
  Size input_size_, saved_size_;
  bool reads_several_ = false;  // a layer since the last pixels in memory reads several pixels per pixel
  std::int64_t source_ = 0;
  std::int32_t first_command_ = 0;
  std::int32_t measured_ = 0;
  std::vector<gpu::PointStep> pending_points_;  // colour steps that precede those of the frame's chain
};

}  // namespace unstarve
