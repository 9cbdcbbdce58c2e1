#include "unstarve/pipeline/functions/operation_chain.h"

#include <algorithm>

#include "unstarve/codecs/decode_plan.h"
#include "unstarve/core/format_error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/replace_means.h"

namespace unstarve {
namespace {

void check_region(const Rect& region, Size image) {
  if (region.width > 0 && region.height > 0 && is_within(region, image)) return;
  throw argument_error(
      "region: found (top {}, left {}, height {}, width {}) in an image of height {} and width {}; expected a part of "
      "the image",
      region.y, region.x, region.height, region.width, image.height, image.width);
}

void check_pixels(Size size) {
  if (size.width > 0 && size.height > 0 && size.width <= kMaxSide && size.height <= kMaxSide &&
      std::int64_t{size.width} * size.height <= kMaxPixels)
    return;
  throw argument_error("found an image of height {} and width {}; expected sides of 1 to {} and at most {} pixels",
                       size.height, size.width, kMaxSide, kMaxPixels);
}

}  // namespace

OperationChain::OperationChain(std::vector<OpSpec> operations, const Normalisation& normalisation) {
  replace_means(operations, normalisation);
  for (const OpSpec& operation : operations) operations_.push_back(make_operation(operation));
}

bool OperationChain::random() const {
  return std::any_of(operations_.begin(), operations_.end(), [](const auto& operation) { return operation->random(); });
}

Random OperationChain::random_of(const SampleDraws& draws, std::size_t op) const {
  return Random(draws.seed, draws.epoch, draws.sample, draws.first + static_cast<std::uint32_t>(op));
}

void OperationChain::apply_from(std::size_t op, Frame& frame, const SampleDraws& draws, Scratch& scratch) const {
  for (; op < operations_.size(); ++op) {
    Random random = random_of(draws, op);
    frame.crop(operations_[op]->select(frame.size(), random));
    operations_[op]->apply(frame, random, scratch);
  }
}

Frame OperationChain::apply(std::span<const std::uint8_t> encoded, const DecodeOptions& how, const SampleDraws& draws,
                            ImageWorkspace& workspace) const {
  const ImageHeader header = workspace.decoder.open(encoded, how.max_pixels);
  const Rect whole{0, 0, header.size.width, header.size.height};
  const Rect given = how.region.value_or(whole);
  check_region(given, header.size);
  if (operations_.empty()) return decode_part(header, {given, {}, how.reduce}, workspace);
  Random random = random_of(draws, 0);
  Rect selected = operations_[0]->select(given.size(), random);
  // Only the given region is visible to the operation: what it selects beyond the region is fill, not other pixels.
  const bool cut = given != whole && !is_within(selected, given.size());
  const Rect part = cut ? given : Rect{given.x + selected.x, given.y + selected.y, selected.width, selected.height};
  const std::optional<ResizeTo> to = cut ? std::nullopt : operations_[0]->only_resizes(selected.size());
  Frame frame = decode_part(header, {part, to, how.reduce}, workspace);
  if (cut) frame.crop(selected);
  if (!to) operations_[0]->apply(frame, random, workspace.scratch);
  apply_from(1, frame, draws, workspace.scratch);
  return frame;
}

Frame OperationChain::apply(const PixelView& pixels, const SampleDraws& draws, ImageWorkspace& workspace) const {
  check_pixels(pixels.size());
  Frame frame(pixels);
  apply_from(0, frame, draws, workspace.scratch);
  return frame;
}

}  // namespace unstarve
