#pragma once
// The strength of augmentation: weaker random changes of images, for training that begins with them.
//
//   strength 1   the operation as specified
//   strength 0   the least change that the operation can make
//
// What scales with the strength s, from a value v of the operation:
//
//   scale of random_resized_crop                          (1 - s) high + s v: the smallest crop grows
//   ratio of random_resized_crop                          v^s
//   padding of pad_crop                                   s v, rounded
//   factor of brightness, contrast, saturation, sharpness;
//   scale of affine                                       1 + s (v - 1)
//   shift of hue, amounts of color_jitter, std of lighting, degrees of rotation and affine, translations and shears of
//   affine, distortion of perspective                     s v
//   magnitude of rand_augment, severity of aug_mix        s v, rounded; a severity is at least 1
//   probability of grayscale, posterize, solarize, invert, auto_contrast, equalize, random_channel_permutation,
//   erasing, cutout, gaussian_blur, mixup, cutmix         s v
//
// Nothing else changes: flips, resizing, trivial_augment, auto_augment_*, one_of, label smoothing, and operations that
// a program added.
//
// Threads: pure.

#include "unstarve/ops/base/op_value.h"

namespace unstarve {

// The operation at a strength from 0 to 1. Parameters that scale and have their defaults are written out, so that the
// results for all strengths have the same parameters. Precondition: `spec` is valid and follows no schedule.
[[nodiscard]] OpSpec at_strength(const OpSpec& spec, double strength);

}  // namespace unstarve
