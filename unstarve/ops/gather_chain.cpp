#include "unstarve/ops/gather_chain.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/base/border.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/paint.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/schedule.h"

namespace unstarve {
namespace {

constexpr std::string_view kPadCrop = "pad_crop";
constexpr std::array<std::string_view, 3> kGathered{"horizontal_flip", "alternating_flip", kPadCrop};

[[noreturn]] void throw_not_gathered() {
  throw internal_error("gathering pixels: found an operation that changes them");
}

}  // namespace

// Notes the border of a crop beyond the image; the frame then reaches beyond its pixels, as with a border of one
// colour.
class GatherChain::BorderRecorder final : public Recorder {
 public:
  void begin() { border_ = Border::kConstant; }
  [[nodiscard]] Border border() const { return border_; }

  void extend(Frame& frame, Rect window, Border border) override {
    border_ = border;
    frame.crop(window);
  }
  void make_pixels(Frame&) override { throw_not_gathered(); }
  void resize(Frame&, const AxisFilter&, const AxisFilter&) override { throw_not_gathered(); }
  void warp(Frame&, const Mapping&, const Warping&) override { throw_not_gathered(); }
  void sharpen(Frame&, std::int32_t) override { throw_not_gathered(); }
  void blur(Frame&, std::span<const std::uint32_t>) override { throw_not_gathered(); }
  void cover(Frame&, Rect, const Rgb&, std::uint64_t) override { throw_not_gathered(); }
  void adjust_contrast(Frame&, std::int32_t) override { throw_not_gathered(); }
  void equalize(Frame&) override { throw_not_gathered(); }
  void auto_contrast(Frame&) override { throw_not_gathered(); }
  void save(Frame&) override { throw_not_gathered(); }
  Frame saved() override { throw_not_gathered(); }
  void add_weighted(Frame&, std::uint32_t, bool) override { throw_not_gathered(); }
  void take_sums(Frame&) override { throw_not_gathered(); }

 private:
  Border border_ = Border::kConstant;
};

std::string GatherChain::why_not(std::span<const OpSpec> operations, std::size_t first) {
  int crops = 0;
  for (std::size_t i = first; i < operations.size(); ++i) {
    const OpSpec& spec = operations[i];
    if (std::find(kGathered.begin(), kGathered.end(), spec.name) == kGathered.end())
      return fmt::format("operations[{}]: found {}; expected one of {} from the first random operation on", i,
                         spec.name, fmt::join(kGathered, ", "));
    if (follows_schedule(spec))
      return fmt::format("operations[{}] {}: found a value that follows a schedule; expected none", i, spec.name);
    if (spec.name == kPadCrop && ++crops > 1)
      return fmt::format("operations[{}]: found a second pad_crop; expected one", i);
  }
  return {};
}

GatherChain::GatherChain(std::span<const OpSpec> operations, std::size_t first, Size image, std::uint64_t seed)
    : first_(first), image_(image), output_(image), seed_(seed), recorder_(std::make_unique<BorderRecorder>()) {
  scratch_.record_with(recorder_.get());
  for (const OpSpec& spec : operations.subspan(first)) {
    operations_.push_back(make_operation(spec));
    output_ = operations_.back()->output_size(output_);
    if (spec.name == kPadCrop)
      colour_ = read_fill(Parameters(spec.name, spec.params, {"size", "padding", "padding_mode", "fill"}));
  }
}

GatherChain::~GatherChain() = default;

void GatherChain::map(std::uint32_t draw, std::uint64_t id, std::span<std::int32_t> rows,
                      std::span<std::int32_t> columns) {
  recorder_->begin();
  Frame frame;
  frame.pixels.width = frame.width = image_.width;
  frame.pixels.height = frame.height = image_.height;
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    Random random(seed_, draw, id, static_cast<std::uint32_t>(first_ + i));
    frame.crop(operations_[i]->select(frame.size(), random));
    operations_[i]->apply(frame, random, scratch_);
  }
  const auto index = [&](int at, int side) {
    if (recorder_->border() == Border::kConstant) return at >= 0 && at < side ? at : side;
    return border_index(recorder_->border(), at, side);
  };
  for (int y = 0; y < output_.height; ++y) rows[static_cast<std::size_t>(y)] = index(frame.top + y, image_.height);
  for (int x = 0; x < output_.width; ++x) {
    const int at = frame.mirrored ? output_.width - 1 - x : x;
    columns[static_cast<std::size_t>(x)] = index(frame.left + at, image_.width);
  }
}

std::size_t first_random_operation(std::span<const OpSpec> operations) {
  const auto found = std::find_if(operations.begin(), operations.end(), [](const OpSpec& spec) {
    return follows_schedule(spec) || make_operation(spec)->random();
  });
  return static_cast<std::size_t>(found - operations.begin());
}

}  // namespace unstarve
