#pragma once
// What a plan wants of an image's decoding (codecs/decode_plan.h), and what it comes to, in words.
//
// Threads: pure but for the draws and the scratch that they are given; a plan is immutable.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/codecs/decode_plan.h"
#include "unstarve/core/random.h"
#include "unstarve/ops/resize/resize_part.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

// What the first operations ask of the decoder, and what is done with its pixels.
struct FirstSteps {
  DecodeHint hint;
  // Where the first operation makes only what the second one reads: of which resize. The pixels are then
  // read_by() it, and the second operation is next.
  std::optional<ResizePart> part;
};

// The generators of the operations of one sample; `second` only where the plan has a second one.
struct FirstDraws {
  FirstDraws(std::uint64_t seed, std::uint32_t draw, std::uint64_t id)
      : first(seed, draw, id, 0), second(seed, draw, id, 1) {}
  Random first, second;
};

// For an image of this kind, by the first ones of `operations` (the plan's, of some epoch). Takes from `draws` what
// selecting takes; the operations go on with them. `scratch` keeps the weights of a resize. Precondition: a pass of the
// plan lets the first operation select.
[[nodiscard]] FirstSteps first_steps(const Plan& plan, const std::vector<std::unique_ptr<Operation>>& operations,
                                     const ImageHeader& header, FirstDraws& draws, Scratch& scratch);

// One decision about decoding, and why.
struct DecodeNote {
  std::string name;   // "path", "scale", "part", "index"
  std::string value;  // "own JPEG decoder", "1/2", "120x80 at (16, 24) of 250x188", "yes"
  std::string reason;
};

// Of the first image that can be read, as in epoch 0. None where samples are stored as pixels.
[[nodiscard]] std::vector<DecodeNote> decode_notes(const Plan& plan);

}  // namespace unstarve
