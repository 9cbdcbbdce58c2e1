#pragma once
// Applies operations to one image at a time, for a caller who has no pipeline: the functions of the Python package.
//
//   encoded image ── decode the part that the first operation reads ──▶ frame ── operations ──▶ frame
//   pixels ─────────────────────────────────────────────────────────────▶
//
// With the draws of a sample, the frame has the pixels that a pipeline of these operations makes of that sample.
//
// Ownership: frames borrow from the workspace and from the pixels, until the next call with the workspace.
// Threads:   const after construction; any number of threads, each with its own workspace.
// Failure:   Error(kArgument) from the constructor, for a region outside of the image, and for pixels beyond the
//            decoder's limits; Error(kInput) for a damaged image.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "unstarve/ops/base/op_value.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/store/store_format.h"
#include "unstarve/pipeline/functions/decode_part.h"

namespace unstarve {

// Names the random numbers of a sample (core/random.h). `first`: index in its pipeline of the chain's first operation.
struct SampleDraws {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint64_t sample = 0;
  std::uint32_t first = 0;
};

// How an encoded image is decoded. `region`: only this part of the upright image. `reduce`: see decode_part.h.
struct DecodeOptions {
  std::optional<Rect> region;
  bool reduce = false;
  std::int64_t max_pixels = kMaxPixels;
};

class OperationChain {
 public:
  // `normalisation` replaces the word "mean" in parameters (ops/replace_means.h).
  OperationChain(std::vector<OpSpec> operations, const Normalisation& normalisation);

  // True if the output depends on the draws.
  [[nodiscard]] bool random() const;
  [[nodiscard]] Frame apply(std::span<const std::uint8_t> encoded, const DecodeOptions& how, const SampleDraws& draws,
                            ImageWorkspace& workspace) const;
  [[nodiscard]] Frame apply(const PixelView& pixels, const SampleDraws& draws, ImageWorkspace& workspace) const;

 private:
  [[nodiscard]] Random random_of(const SampleDraws& draws, std::size_t op) const;
  // Applies the operations from `op` on.
  void apply_from(std::size_t op, Frame& frame, const SampleDraws& draws, Scratch& scratch) const;

  std::vector<std::unique_ptr<Operation>> operations_;
};

}  // namespace unstarve
