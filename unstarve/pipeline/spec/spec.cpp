#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {
namespace {

// Sides up to this are thumbnails (CIFAR: 32): a random resized crop would remove too much of the image.
constexpr int kThumbnailSide = 40;

}  // namespace

std::vector<OpSpec> training_operations(int size, Size largest, Augmentation augmentation) {
  const double side = size;
  const bool alternating = augmentation == Augmentation::kAlternating;
  const OpSpec flip =
      alternating ? OpSpec{"alternating_flip", {}} : OpSpec{"horizontal_flip", {{"probability", {0.5}}}};
  if (size > kThumbnailSide || largest.width > size || largest.height > size)
    return {{"random_resized_crop", {{"size", {side}}}}, flip};
  OpSpec crop{"pad_crop", {{"size", {side}}, {"padding", {4}}}};
  if (alternating) crop.params = {{"size", {side}}, {"padding", {2}}, {"padding_mode", "reflect"}};
  return {crop, flip};
}

std::vector<OpSpec> evaluation_operations(int size) {
  const double side = size;
  if (size <= kThumbnailSide) return {{"resize", {{"size", {side}}}}, {"center_crop", {{"size", {side}}}}};
  // 256 for 224, as in the reference evaluation of torchvision.
  const double resize = size * 8 / 7;
  return {{"resize", {{"size", {resize}}}}, {"center_crop", {{"size", {side}}}}};
}

}  // namespace unstarve
