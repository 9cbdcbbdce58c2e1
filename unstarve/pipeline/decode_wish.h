#pragma once
// What a plan wants of an image's decoding (codecs/decode_plan.h), and what it comes to, in words.
//
// Threads: pure functions; a plan is immutable.

#include <string>
#include <vector>

#include "unstarve/codecs/decode_plan.h"
#include "unstarve/core/random.h"
#include "unstarve/pipeline/plan.h"

namespace unstarve {

// For an image of this size (upright) whose first operation is `first`. Takes from `random` what selecting takes; the
// operation goes on with it. Precondition: crop_into_decode or scale_into_decode.
[[nodiscard]] DecodeWish decode_wish(const Plan& plan, const Operation& first, Size image, Random& random);

// One decision about decoding, and why.
struct DecodeNote {
  std::string name;   // "path", "scale", "part", "index"
  std::string value;  // "own JPEG decoder", "1/2", "120x80 at (16, 24) of 250x188", "yes"
  std::string reason;
};

// Of the first image that can be read, as in epoch 0. None where samples are stored as pixels.
[[nodiscard]] std::vector<DecodeNote> decode_notes(const Plan& plan);

}  // namespace unstarve
