#pragma once
// The filters themselves, with given values: each pixel is computed from its neighbours. The operations of the same
// names draw the values.
//
// Threads: one at a time per scratch. Failure: none. Integer arithmetic: the same bits on every machine.

#include "unstarve/ops/base/frame.h"

namespace unstarve {

// smooth + factor * (pixel - smooth), truncated, where smooth is the mean of the pixel (5 times) and its
// eight neighbours; the outermost pixels are unchanged: Pillow's ImageEnhance.Sharpness. `factor` 0 .. kMaxBlend.
void adjust_sharpness(Frame& frame, double factor, Scratch& scratch);

inline constexpr int kMaxBlurRadius = 64;
// The mean of the pixels within `radius` rows and columns, weighted by a normal distribution of `sigma` > 0 pixels. At
// the edges the image is mirrored without repeating the edge: torchvision's gaussian_blur of kernel size
// 2 * radius + 1. `radius` 0 .. kMaxBlurRadius.
void gaussian_blur(Frame& frame, double sigma, int radius, Scratch& scratch);

}  // namespace unstarve
