#include "unstarve/ops/gpu/program_recorder.h"

#include <algorithm>
#include <utility>

#include "unstarve/ops/base/point_chain.h"

namespace unstarve {
namespace {

// The fictitious address of the pixels below, far from 0; rows have no gaps, so that the distance from it gives column
// and row.
const std::uint8_t* const kFictitious = reinterpret_cast<const std::uint8_t*>(std::uintptr_t{1} << 44);

Frame frame_of(Size size) {
  return Frame(PixelView{kFictitious, size.width, size.height, std::ptrdiff_t{size.width} * kChannels, kChannels, 1});
}

template <class T>
std::int32_t count_of(const std::vector<T>& all) {
  return static_cast<std::int32_t>(all.size());
}

std::int64_t rounded_up(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

std::int64_t pixels_of(Size size) { return std::int64_t{size.width} * size.height; }

}  // namespace

void ProgramRecorder::clear() {
  recording_.samples.clear();
  recording_.scratch = {};
  recording_.single_pass = true;
  finished_ = {};
  discard_unfinished();
}

void ProgramRecorder::discard_unfinished() {
  recording_.commands.resize(finished_.commands);
  recording_.layers.resize(finished_.layers);
  recording_.points.resize(finished_.points);
  recording_.tables.resize(finished_.tables);
  recording_.starts.resize(finished_.starts);
  recording_.blur_weights.resize(finished_.blur_weights);
  recording_.weights.resize(finished_.weights);
  pending_points_.clear();
  measured_ = 0;
}

Frame ProgramRecorder::begin(const SourceImage& image) {
  discard_unfinished();
  source_ = image.offset;
  first_command_ = count_of(recording_.commands);
  input_ = {gpu::From::kSource, 0, image.row_stride, image.pixel_stride, image.channel_stride};
  input_size_ = image.size;
  reads_several_ = false;
  return frame_of(image.size);
}

void ProgramRecorder::finish(Frame& frame) {
  add_view(frame);
  Recording& all = recording_;
  all.commands.push_back({gpu::CommandKind::kStore, count_of(all.layers) - 1, 0, 0});
  const std::int32_t commands = count_of(all.commands) - first_command_;
  all.samples.push_back({source_, first_command_, commands});
  all.single_pass = all.single_pass && commands == 1;
  all.scratch.tables = std::max<std::int64_t>(all.scratch.tables, measured_);
  finished_ = {all.commands.size(), all.layers.size(),       all.points.size(), all.tables.size(),
               all.starts.size(),   all.blur_weights.size(), all.weights.size()};
}

void ProgramRecorder::make_pixels(Frame& frame) {
  if (!shows_all(frame)) add_view(frame);
}

void ProgramRecorder::resize(Frame& frame, const AxisFilter& across, const AxisFilter& down) {
  // As on the host, the image is resized first and mirrored afterwards.
  const bool mirrored = std::exchange(frame.mirrored, false);
  make_readable(frame);
  gpu::Layer& layer =
      recording_.layers[static_cast<std::size_t>(add_layer(gpu::LayerKind::kResize, {across.output(), down.output()}))];
  layer.view = view_of(frame);
  layer.view_size = frame.size();
  layer.across = add_axis(across);
  layer.down = add_axis(down);
  read_from_layer(frame, layer.size, true);
  frame.mirrored = mirrored;
}

void ProgramRecorder::warp(Frame& frame, const Mapping& mapping, const Warping& warping) {
  make_readable(frame);
  gpu::Layer& layer = recording_.layers[static_cast<std::size_t>(add_layer(gpu::LayerKind::kWarp, frame.size()))];
  layer.view = view_of(frame);
  layer.mapping = mapping;
  layer.interpolation = warping.interpolation;
  layer.fill = warping.fill;
  read_from_layer(frame, layer.size, true);
}

void ProgramRecorder::sharpen(Frame& frame, std::int32_t weight) {
  make_readable(frame);
  gpu::Layer& layer = recording_.layers[static_cast<std::size_t>(add_layer(gpu::LayerKind::kSharpen, frame.size()))];
  layer.view = view_of(frame);
  layer.value = weight;
  read_from_layer(frame, layer.size, true);
}

void ProgramRecorder::blur(Frame& frame, std::span<const std::uint32_t> weights) {
  make_readable(frame);
  const Size size = frame.size();
  const std::int32_t index = add_layer(gpu::LayerKind::kBlurDown, size);
  gpu::Layer& layer = recording_.layers[static_cast<std::size_t>(index)];
  layer.view = view_of(frame);
  layer.radius = static_cast<std::int32_t>(weights.size()) - 1;
  layer.first_blur_weight = count_of(recording_.blur_weights);
  recording_.blur_weights.insert(recording_.blur_weights.end(), weights.begin(), weights.end());
  recording_.commands.push_back({gpu::CommandKind::kBlurAcross, index, 0, 0});
  recording_.scratch.wide_bytes = std::max(recording_.scratch.wide_bytes, rounded_up(pixels_of(size) * kChannels * 2));
  read_from_layer(frame, size, true);
}

void ProgramRecorder::cover(Frame& frame, Rect rect, const Rgb& colour, std::uint64_t noise) {
  make_pixels(frame);
  gpu::Layer& layer = recording_.layers[static_cast<std::size_t>(add_layer(gpu::LayerKind::kCover, frame.size()))];
  layer.rect = rect;
  layer.fill = colour;
  layer.noise = noise;
  read_from_layer(frame, layer.size, reads_several_);
}

void ProgramRecorder::extend(Frame& frame, Rect window, Border border) {
  if (!frame.inside()) make_pixels(frame);
  frame.crop(window);
  add_view(frame, border);
}

void ProgramRecorder::adjust_contrast(Frame& frame, std::int32_t weight) {
  measure(frame, gpu::CommandKind::kContrast, weight);
}
void ProgramRecorder::equalize(Frame& frame) { measure(frame, gpu::CommandKind::kEqualize, 0); }
void ProgramRecorder::auto_contrast(Frame& frame) { measure(frame, gpu::CommandKind::kAutoContrast, 0); }

void ProgramRecorder::measure(Frame& frame, gpu::CommandKind kind, std::int32_t weight) {
  // Pixels are read twice: compute them once if that costs more than reading them.
  if (reads_several_) make_readable(frame);
  add_view(frame);
  recording_.commands.push_back({kind, count_of(recording_.layers) - 1, measured_, weight});
  pending_points_.push_back({gpu::PointKind::kMeasured, measured_++});
}

gpu::View ProgramRecorder::view_of(const Frame& frame) const {
  const PixelView& pixels = frame.pixels;
  // Position of the frame's first pixel in the image below.
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{input_size_.width} * kChannels;
  const std::ptrdiff_t distance = pixels.data - kFictitious;
  const auto row = static_cast<std::int32_t>(distance / row_bytes);
  const auto column = static_cast<std::int32_t>(distance % row_bytes / kChannels);
  const int down = pixels.row_stride < 0 ? -1 : 1;
  gpu::View view;
  view.step_x = frame.mirrored ? -1 : 1;
  view.step_y = down;
  view.x = column + frame.left + (frame.mirrored ? frame.width - 1 : 0);
  view.y = row + down * frame.top;
  view.left = column;
  view.right = column + pixels.width;
  view.top = down > 0 ? row : row - pixels.height + 1;
  view.bottom = view.top + pixels.height;
  view.fill = frame.fill;
  return view;
}

bool ProgramRecorder::shows_all(const Frame& frame) const {
  const gpu::View view = view_of(frame);
  return pending_points_.empty() && frame.points == nullptr && frame.size() == input_size_ && view.x == 0 &&
         view.y == 0 && view.step_x == 1 && view.step_y == 1 && frame.pixels.size() == input_size_;
}

std::int32_t ProgramRecorder::add_layer(gpu::LayerKind kind, Size size) {
  gpu::Layer layer;
  layer.kind = kind;
  layer.input = input_;
  layer.size = size;
  recording_.layers.push_back(layer);
  return count_of(recording_.layers) - 1;
}

void ProgramRecorder::add_points(const Frame& frame, gpu::Layer& layer) {
  layer.first_point = count_of(recording_.points);
  recording_.points.insert(recording_.points.end(), pending_points_.begin(), pending_points_.end());
  pending_points_.clear();
  if (frame.points != nullptr) {
    const auto steps = frame.points->steps();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      switch (steps[i].kind) {
        case PointChain::Kind::kTable:
          recording_.points.push_back({gpu::PointKind::kTable, count_of(recording_.tables)});
          recording_.tables.push_back(frame.points->table(i).of);
          break;
        case PointChain::Kind::kBlendGrey:
          recording_.points.push_back({gpu::PointKind::kBlendGrey, steps[i].weight});
          break;
        case PointChain::Kind::kHue: recording_.points.push_back({gpu::PointKind::kHue, steps[i].weight}); break;
        case PointChain::Kind::kPermute:
          recording_.points.push_back({gpu::PointKind::kPermute, steps[i].weight});
          break;
      }
    }
  }
  layer.points = count_of(recording_.points) - layer.first_point;
}

void ProgramRecorder::add_view(Frame& frame, Border border) {
  const gpu::View view = view_of(frame);
  gpu::Layer& layer = recording_.layers[static_cast<std::size_t>(add_layer(gpu::LayerKind::kView, frame.size()))];
  layer.view = view;
  layer.view.border = border;
  add_points(frame, layer);
  read_from_layer(frame, layer.size, reads_several_);
}

void ProgramRecorder::make_readable(Frame& frame) {
  const bool colours = !pending_points_.empty() || frame.points != nullptr;
  if (!colours && input_.from != gpu::From::kLayer) return;
  if (!shows_all(frame)) add_view(frame);
  make_slot();
  // The frame showed all pixels of the layer; these are now in the slot.
}

void ProgramRecorder::make_slot() {
  // The layers read at most one of the slots; the other one is free.
  std::int32_t taken = 1;
  for (std::size_t i = recording_.layers.size(); i-- > 0;) {
    const gpu::Input& below = recording_.layers[i].input;
    if (below.from == gpu::From::kLayer) continue;
    if (below.from == gpu::From::kSlot) taken = below.slot;
    break;
  }
  const std::int32_t slot = 1 - taken;
  recording_.commands.push_back({gpu::CommandKind::kMakePixels, count_of(recording_.layers) - 1, slot, 0});
  read_from(gpu::From::kSlot, slot, input_size_);
}

void ProgramRecorder::read_from(gpu::From from, std::int32_t slot, Size size) {
  input_ = {from, slot, std::int64_t{size.width} * kChannels, kChannels, 1};
  input_size_ = size;
  reads_several_ = false;
  std::int64_t& most = from == gpu::From::kSlot ? recording_.scratch.slot_bytes : recording_.scratch.saved_bytes;
  most = std::max(most, rounded_up(pixels_of(size) * kChannels));
}

void ProgramRecorder::save(Frame& frame) {
  add_view(frame);
  recording_.commands.push_back({gpu::CommandKind::kSave, count_of(recording_.layers) - 1, 0, 0});
  saved_size_ = frame.size();
}

Frame ProgramRecorder::saved() {
  pending_points_.clear();
  read_from(gpu::From::kSaved, 0, saved_size_);
  return frame_of(saved_size_);
}

void ProgramRecorder::add_weighted(Frame& frame, std::uint32_t weight, bool first) {
  add_view(frame);
  recording_.commands.push_back({gpu::CommandKind::kAddWeighted, count_of(recording_.layers) - 1, first ? 0 : 1,
                                 static_cast<std::int32_t>(weight)});
}

void ProgramRecorder::take_sums(Frame& frame) {
  recording_.commands.push_back({gpu::CommandKind::kTakeSums, count_of(recording_.layers) - 1, 0, 0});
  recording_.scratch.sum_bytes =
      std::max(recording_.scratch.sum_bytes,
               rounded_up(pixels_of(saved_size_) * kChannels * std::int64_t{sizeof(std::uint32_t)}));
  read_from(gpu::From::kSlot, 0, saved_size_);
  frame = frame_of(saved_size_);
}

void ProgramRecorder::read_from_layer(Frame& frame, Size size, bool reads_several) {
  input_ = {gpu::From::kLayer, 0, 0, 0, 0};
  input_size_ = size;
  reads_several_ = reads_several;
  frame = frame_of(size);
}

gpu::Axis ProgramRecorder::add_axis(const AxisFilter& filter) {
  gpu::Axis axis{count_of(recording_.starts), count_of(recording_.weights), filter.taps(), filter.fraction_bits()};
  for (int i = 0; i < filter.output(); ++i) {
    recording_.starts.push_back(filter.first(i));
    recording_.weights.insert(recording_.weights.end(), filter.weights(i), filter.weights(i) + filter.taps());
  }
  return axis;
}

}  // namespace unstarve
