#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/operation_list.h"

namespace unstarve {
namespace {

constexpr std::array kOperations = {
    OperationInfo{"random_resized_crop",
                  "a random part, resized: size (required), scale [0.08, 1] of the area, ratio [0.75, 1.3333], "
                  "interpolation bilinear (nearest, bicubic, box, area, lanczos), antialias true",
                  make_random_resized_crop},
    OperationInfo{
        "resize",
        "to a short side of `size`, or to [height, width] exactly: size (required), max_size 0 (of the long side; "
        "0: any), interpolation bilinear (nearest, bicubic, box, area, lanczos), antialias true",
        make_resize},
    OperationInfo{"center_crop", "the middle, with black around where the image is smaller: size (required)",
                  make_center_crop},
    OperationInfo{
        "pad_crop",
        "a random part of the image with a border: size (required), padding 4 (or [left and right, top and bottom], or "
        "[left, top, right, bottom]), padding_mode constant (edge, reflect, symmetric), fill 0 (three, or mean)",
        make_pad_crop},
    OperationInfo{"horizontal_flip", "mirrors left and right, at random: probability 0.5", make_horizontal_flip},
    OperationInfo{"vertical_flip", "mirrors top and bottom, at random: probability 0.5", make_vertical_flip},
    OperationInfo{"brightness", "lighter or darker: factor [0.6, 1.4], probability 1", make_brightness},
    OperationInfo{"contrast", "away from or towards the mean: factor [0.6, 1.4], probability 1", make_contrast},
    OperationInfo{"saturation", "away from or towards grey: factor [0.6, 1.4], probability 1", make_saturation},
    OperationInfo{"hue", "other colours: turn [-0.1, 0.1] of the colour circle, probability 1", make_hue},
    OperationInfo{
        "color_jitter",
        "the four above in random order: brightness 0.4, contrast 0.4, saturation 0.4, hue 0.1, probability 1",
        make_color_jitter},
    OperationInfo{"grayscale", "grey in all three channels: probability 0.1", make_grayscale},
    OperationInfo{"posterize", "fewer bits per value: bits 4, probability 0.5", make_posterize},
    OperationInfo{"solarize", "values from threshold on turned round: threshold 128, probability 0.5", make_solarize},
    OperationInfo{"invert", "the negative: probability 0.5", make_invert},
    OperationInfo{"auto_contrast", "each channel spread over all values: probability 0.5", make_auto_contrast},
    OperationInfo{"equalize", "each channel's values about equally frequent: probability 0.5", make_equalize},
    OperationInfo{"lighting", "the light's colour, along ImageNet's principal components: std 0.1, probability 1",
                  make_lighting},
    OperationInfo{"erasing",
                  "a random rectangle covered: probability 0.5, scale [0.02, 0.33] of the area, ratio [0.3, 3.3], "
                  "value mean of the normalisation (a number, three, or random)",
                  make_erasing},
    OperationInfo{"cutout",
                  "rectangles of one size at random places, cut off at the edges: size (required), holes 1, "
                  "probability 1, value mean of the normalisation (a number, three, or random)",
                  make_cutout},
    OperationInfo{"rotation",
                  "about the middle: degrees [-30, 30] counter-clockwise, probability 1, interpolation bilinear, fill "
                  "0 (three, or mean)",
                  make_rotation},
    OperationInfo{
        "affine",
        "turned, moved, scaled, sheared: degrees [-15, 15], translate_x 0.1 and translate_y 0.1 of the sides, "
        "scale [0.9, 1.1], shear_x 0 and shear_y 0 degrees, probability 1, interpolation bilinear, fill 0 (three, or "
        "mean)",
        make_affine},
    OperationInfo{"perspective",
                  "from another side: distortion 0.5, probability 0.5, interpolation bilinear, fill 0 (three, or mean)",
                  make_perspective},
    OperationInfo{"sharpness", "sharper or smoother: factor [0.6, 1.4], probability 1", make_sharpness},
    OperationInfo{"gaussian_blur", "out of focus: sigma [0.1, 2], radius 0 (three sigma), probability 0.5",
                  make_gaussian_blur},
    OperationInfo{
        "rand_augment",
        "changes drawn from fourteen, of one magnitude: changes 2, magnitude 9 of 0 to 30, num_magnitude_bins 31, "
        "interpolation nearest, fill 0 (three, or mean)",
        make_rand_augment},
    OperationInfo{"trivial_augment",
                  "one change drawn from fourteen, by a random magnitude: num_magnitude_bins 31, interpolation "
                  "nearest, fill 0 (three, or mean)",
                  make_trivial_augment},
    OperationInfo{"aug_mix",
                  "a blend with chains of changes drawn from thirteen: severity 3 of 1 to 10, mixture_width 3 chains, "
                  "chain_depth -1 (one to three), alpha 1 of the weights, all_ops true, interpolation bilinear, fill 0 "
                  "(three, or mean)",
                  make_aug_mix},
    OperationInfo{"auto_augment_imagenet",
                  "pairs of changes found for ImageNet: interpolation nearest, fill 0 (three, or mean)",
                  make_auto_augment_imagenet},
    OperationInfo{"auto_augment_cifar10",
                  "pairs of changes found for CIFAR-10: interpolation nearest, fill 0 (three, or mean)",
                  make_auto_augment_cifar10},
    OperationInfo{"auto_augment_svhn",
                  "pairs of changes found for SVHN: interpolation nearest, fill 0 (three, or mean)",
                  make_auto_augment_svhn},
};

// Those of the program.
struct Added {
  std::mutex mutex;
  std::vector<OperationInfo> list;
};

Added& added() {
  static Added added;
  return added;
}

}  // namespace

std::vector<OperationInfo> operations() {
  std::vector<OperationInfo> all(kOperations.begin(), kOperations.end());
  Added& own = added();
  const std::lock_guard lock(own.mutex);
  all.insert(all.end(), own.list.begin(), own.list.end());
  return all;
}

void add_operation(const OperationInfo& info) {
  const auto refuse = [&](const char* why) {
    throw Error(ErrorKind::kArgument, fmt::format("add operation '{}': {}", info.name, why));
  };
  if (info.name.empty() || info.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
    refuse("expected a name of lower-case letters, digits and underscores");
  if (info.make == nullptr) refuse("it has no factory, expected `make`");
  const auto taken = [&](const OperationInfo& other) { return other.name == info.name; };
  Added& own = added();
  const std::lock_guard lock(own.mutex);
  if (std::any_of(kOperations.begin(), kOperations.end(), taken) ||
      std::any_of(own.list.begin(), own.list.end(), taken))
    refuse("the name is taken, expected another one");
  own.list.push_back(info);
}

std::unique_ptr<Operation> make_operation(const OpSpec& spec) {
  std::string known;
  for (const OperationInfo& info : operations()) {
    if (info.name == spec.name) return info.make(spec.params);
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  throw Error(ErrorKind::kArgument, fmt::format("unknown operation '{}'; known: {}", spec.name, known));
}

}  // namespace unstarve
