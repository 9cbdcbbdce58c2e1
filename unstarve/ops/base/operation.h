#pragma once
// One image operation of a chain: a parameter set that is fixed for the run, applied to one sample at a time.
//
// An operation is split in two so that a decoder can be told what it need not decode:
//   select() draws the operation's random numbers and answers which part of its input it reads;
//   apply()  gets exactly that part as a frame and turns it into the output, drawing on from the same generator.
// Running select() on the header's size, decoding only that part and applying is exact: the pixels are the same as with
// the whole image.
//
// Threads: const after construction; any number of threads. Failure: Error(kArgument) from the factory; Error(kInput)
// from output_size() and apply() for a sample that the operation would enlarge beyond the decoder's pixel limit.
//
// To add one to the library: a file in the folder of its family with the class and make_NAME(), a row in
// ops/operation_table.inl, a test against Pillow or torchvision. A program adds its own by add_operation()
// (ops/operations.h).

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

  // The part of an input of this size that apply() will read; the whole of it unless overridden.
  [[nodiscard]] virtual Rect select(Size input, Random& random) const {
    (void)random;
    return {0, 0, input.width, input.height};
  }
  // Size that comes out for a selected part of this size.
  [[nodiscard]] virtual Size output_size(Size selected) const = 0;
  // True when output_size() is the same for every input: a batch needs it of the chain's last resizing operation.
  [[nodiscard]] virtual bool fixed_output() const { return false; }
  // True when the output depends on the generator: what comes before may be kept from epoch to epoch, this may not.
  [[nodiscard]] virtual bool random() const { return false; }
  // True when apply() resamples, so that decoding at a reduction that is still at least output_size() is a sensible
  // approximation.
  [[nodiscard]] virtual bool resamples() const { return false; }
  // True when apply() makes an image of its own; false when it edits the window, or the colours that are put off.
  [[nodiscard]] virtual bool writes_pixels() const { return resamples(); }
  // Bytes that apply() takes of `scratch` for an input of this size, at most, beside the two images that operations
  // alternate between: what a memory limit sets aside for it (pipeline/memory_plan.h).
  [[nodiscard]] virtual std::uint64_t scratch_bytes(Size input) const {
    (void)input;
    return 0;
  }
  // True when apply() leaves all work on pixels to scratch.recorder() where there is one: the operation can then run on
  // a GPU.
  [[nodiscard]] virtual bool runs_on_gpu() const { return false; }
  // How apply() resizes a selected part of this size, where it does nothing else and draws nothing: then it may be done
  // on rows as they are decoded (resize_rows.h).
  [[nodiscard]] virtual std::optional<ResizeTo> only_resizes(Size selected) const {
    (void)selected;
    return std::nullopt;
  }
  // Turns the selected part into the output, in place: edits the window, or points it to an image of `scratch`.
  virtual void apply(Frame& frame, Random& random, Scratch& scratch) const = 0;
};

}  // namespace unstarve
