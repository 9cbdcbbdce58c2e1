#include "unstarve/ops/gpu/batch_recorder.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

// The operations whose every access to pixels goes by a recorder where there is one.
constexpr std::array<std::string_view, 31> kRecorded = {"random_resized_crop",
                                                        "resize",
                                                        "center_crop",
                                                        "pad_crop",
                                                        "horizontal_flip",
                                                        "vertical_flip",
                                                        "brightness",
                                                        "contrast",
                                                        "saturation",
                                                        "hue",
                                                        "color_jitter",
                                                        "grayscale",
                                                        "posterize",
                                                        "solarize",
                                                        "invert",
                                                        "auto_contrast",
                                                        "equalize",
                                                        "lighting",
                                                        "erasing",
                                                        "cutout",
                                                        "rotation",
                                                        "affine",
                                                        "perspective",
                                                        "sharpness",
                                                        "gaussian_blur",
                                                        "aug_mix",
                                                        "rand_augment",
                                                        "trivial_augment",
                                                        "auto_augment_imagenet",
                                                        "auto_augment_cifar10",
                                                        "auto_augment_svhn"};

}  // namespace

std::string why_not_on_gpu(const OpSpec& operation) {
  if (std::find(kRecorded.begin(), kRecorded.end(), operation.name) != kRecorded.end()) return {};
  return fmt::format("operation {} has no kernel for GPUs", operation.name);
}

BatchRecorder::BatchRecorder(std::span<const OpSpec> specs, std::span<const std::unique_ptr<Operation>> operations,
                             Size output, std::size_t first)
    : operations_(operations), output_(output), first_(first) {
  for (std::size_t i = first; i < specs.size(); ++i) {
    if (const std::string reason = why_not_on_gpu(specs[i]); !reason.empty()) {
      throw Error(ErrorKind::kArgument,
                  fmt::format("operations[{}]: {}; run it and the ones before it on the host", i, reason));
    }
  }
  scratch_.record_with(&recorder_);
}

void BatchRecorder::add(const SourceImage& image, std::uint64_t seed, std::uint32_t draw, std::uint64_t id,
                        std::size_t first) {
  Frame frame = recorder_.begin(image);
  for (std::size_t i = first; i < operations_.size(); ++i) {
    Random random(seed, draw, id, static_cast<std::uint32_t>(i));
    frame.crop(operations_[i]->select(frame.size(), random));
    operations_[i]->apply(frame, random, scratch_);
  }
  if (frame.size() != output_) {
    throw Error(ErrorKind::kInput, fmt::format("{}x{} pixels come out of the operations, but the batch needs {}x{}",
                                               frame.width, frame.height, output_.width, output_.height));
  }
  recorder_.finish(frame);
}

}  // namespace unstarve
