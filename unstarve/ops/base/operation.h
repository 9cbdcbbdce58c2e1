#pragma once
// One image operation of a chain: fixed parameters, applied to one sample at a time.
//
// An operation has two steps, so that a decoder can skip pixels that are not needed:
//   select() draws random numbers and returns the part of the input that the operation reads;
//   apply()  gets exactly that part as a frame and turns it into the output, drawing further numbers.
// It is exact to call select() with the size from the header, decode only that part and call apply(): the pixels are
// those of decoding the whole image.
//
// Threads: const after construction; any number of threads. Failure: Error(kArgument) from the factory; Error(kInput)
// from output_size() and apply() for a sample that the operation would enlarge beyond the decoder's pixel limit.
//
// To add one to the library: see HACKING.md. A program adds its own by add_operation() (ops/operations.h).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/random.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/base/op_value.h"
#include "unstarve/ops/base/resampling.h"

namespace unstarve {

class Operation {
 public:
  virtual ~Operation() = default;

  // The part of an input of this size that apply() reads; all of it by default.
  [[nodiscard]] virtual Rect select(Size input, Random& random) const {
    (void)random;
    return {0, 0, input.width, input.height};
  }
  // Size of the output for a selected part of this size.
  [[nodiscard]] virtual Size output_size(Size selected) const = 0;
  // True if output_size() is the same for every input, so that images of different sizes fit into one batch.
  [[nodiscard]] virtual bool fixed_output() const { return false; }
  // True if the output depends on random numbers; only the output of earlier operations can be cached across epochs.
  [[nodiscard]] virtual bool random() const { return false; }
  // True if apply() resamples, so that decoding at a reduced scale of at least output_size() is a sensible
  // approximation.
  [[nodiscard]] virtual bool resamples() const { return false; }
  // True if apply() writes an image; false if it edits only the window or the frame's colour chain.
  [[nodiscard]] virtual bool writes_pixels() const { return resamples(); }
  // An upper bound of the bytes of `scratch` for an input of this size, without the two images that operations
  // alternate between. Used for memory limits (memory_plan.h).
  [[nodiscard]] virtual std::uint64_t scratch_bytes(Size input) const {
    (void)input;
    return 0;
  }
  // True if apply() passes all work on pixels to scratch.recorder(), if the scratch has one. Such operations run on
  // GPUs.
  [[nodiscard]] virtual bool runs_on_gpu() const { return false; }
  // How apply() resizes a selected part of this size if it does nothing else and draws nothing. It can then run on rows
  // as they are decoded (resize_rows.h).
  [[nodiscard]] virtual std::optional<ResizeTo> only_resizes(Size selected) const {
    (void)selected;
    return std::nullopt;
  }
  // Turns the selected part into the output: edits the frame, or points it to an image of `scratch`.
  virtual void apply(Frame& frame, Random& random, Scratch& scratch) const = 0;
};

}  // namespace unstarve
