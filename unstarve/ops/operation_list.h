#pragma once
// The factories of all operations, one per file of this folder and those in it; operations.cpp puts them into the
// table.

#include <memory>

#include "unstarve/ops/base/operation.h"

namespace unstarve {

[[nodiscard]] std::unique_ptr<Operation> make_random_resized_crop(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_resize(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_center_crop(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_pad_crop(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_horizontal_flip(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_vertical_flip(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_brightness(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_contrast(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_saturation(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_hue(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_color_jitter(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_grayscale(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_posterize(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_solarize(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_invert(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_auto_contrast(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_equalize(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_lighting(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_erasing(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_cutout(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_rotation(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_affine(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_perspective(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_sharpness(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_gaussian_blur(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_rand_augment(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_trivial_augment(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_aug_mix(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_auto_augment_imagenet(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_auto_augment_cifar10(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_auto_augment_svhn(const OpParams& params);

}  // namespace unstarve
