#pragma once
// The interface by which operations record their work on pixels, so that a GPU performs it later.
//
// An operation whose scratch has a recorder runs as on the host: it draws the same random numbers and edits the same
// Frame, but calls the recorder instead of reading or writing pixels. Each function changes `frame` as the host's
// function of the same name does. The address of the frame's pixels is never read; only offsets from it are used.
//
// Threads: one at a time. Implemented by gpu/program_recorder.h.

#include <cstdint>
#include <span>

#include "unstarve/ops/base/border.h"
#include "unstarve/ops/base/frame.h"

namespace unstarve {

class AxisFilter;
struct Mapping;
struct Warping;

class Recorder {
 public:
  virtual ~Recorder() = default;

  virtual void make_pixels(Frame& frame) = 0;
  virtual void resize(Frame& frame, const AxisFilter& across, const AxisFilter& down) = 0;
  virtual void warp(Frame& frame, const Mapping& mapping, const Warping& warping) = 0;
  virtual void sharpen(Frame& frame, std::int32_t weight) = 0;  // adjust_sharpness(), in 1/65536
  // weights[i]: of the pixels at distance i, in 1/65536.
  virtual void blur(Frame& frame, std::span<const std::uint32_t> weights) = 0;
  virtual void extend(Frame& frame, Rect window, Border border) = 0;  // crop_with_border()
  // `noise`: the key of the noise; 0: cover with `colour`.
  virtual void cover(Frame& frame, Rect rect, const Rgb& colour, std::uint64_t noise) = 0;
  virtual void adjust_contrast(Frame& frame, std::int32_t weight) = 0;
  virtual void equalize(Frame& frame) = 0;
  virtual void auto_contrast(Frame& frame) = 0;

  // A blend of several versions of one image: save() stores the image, saved() returns a frame of it to be changed,
  // add_weighted() adds a changed version by its weight in 1/65536 (all weights add up to one), take_sums() makes
  // `frame` the blend. Blends do not nest.
  virtual void save(Frame& frame) = 0;
  [[nodiscard]] virtual Frame saved() = 0;
  virtual void add_weighted(Frame& frame, std::uint32_t weight, bool first) = 0;
  virtual void take_sums(Frame& frame) = 0;

 protected:
  Recorder() = default;
  Recorder(const Recorder&) = default;
  Recorder& operator=(const Recorder&) = default;
};

}  // namespace unstarve
