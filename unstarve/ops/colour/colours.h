#pragma once
// The colour changes themselves, with given values. The operations of the same names draw the values; color_jitter and
// the policies of random augmentation also draw which change to apply.
//
// The work is deferred (point_chain.h): `frame` then points into the scratch. Values are clipped to 0..255.
// Threads: one at a time per scratch. Failure: none.

#include <array>
#include <cstdint>

#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/base/point_chain.h"

namespace unstarve {

// factor * pixel, truncated: Pillow's ImageEnhance.Brightness. `factor` 0 .. kMaxBlend.
void adjust_brightness(Frame& frame, double factor, Scratch& scratch);
// mean + factor * (pixel - mean) with the mean luma of the window, truncated: ImageEnhance.Contrast.
void adjust_contrast(Frame& frame, double factor, Scratch& scratch);
// luma + factor * (pixel - luma), truncated: ImageEnhance.Color.
void adjust_saturation(Frame& frame, double factor, Scratch& scratch);
// Shifts the hue by `shift` of the colour circle, -0.5 .. 0.5: torchvision's adjust_hue of tensors.
void adjust_hue(Frame& frame, double shift, Scratch& scratch);
// The luma in all channels.
void make_grey(Frame& frame, Scratch& scratch);
// Keeps the highest `bits` bits of every value, 0 .. 8.
void posterize(Frame& frame, int bits, Scratch& scratch);
// 255 - value where the value is at least `threshold`, 0 .. 256.
void solarize(Frame& frame, int threshold, Scratch& scratch);
// 255 - value.
void invert(Frame& frame, Scratch& scratch);
// Stretches each channel so that its least value becomes 0 and its largest 255: Pillow's ImageOps.autocontrast.
void auto_contrast(Frame& frame, Scratch& scratch);
// Maps each channel so that its values become about equally frequent: Pillow's ImageOps.equalize.
void equalize(Frame& frame, Scratch& scratch);
// Adds to each channel, rounded to the nearest integer.
void add_colour(Frame& frame, std::array<double, kChannels> more, Scratch& scratch);
// Channel c becomes channel order[c]. Precondition: each channel occurs once in `order`.
void permute_channels(Frame& frame, const std::array<std::uint8_t, kChannels>& order, Scratch& scratch);

}  // namespace unstarve
