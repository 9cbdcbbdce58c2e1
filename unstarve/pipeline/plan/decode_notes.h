#pragma once
// Describes how the plan decodes the first image.
//
// Threads: pure.

#include <string>
#include <vector>

namespace unstarve {

struct Plan;

// One decision about decoding, and its reason.
struct DecodeNote {
  std::string name;   // "path", "scale", "part", "scan index"
  std::string value;  // "own JPEG decoder", "1/2", "120x80 at (16, 24) of 250x188", "yes"
  std::string reason;
};

// For the first readable image in epoch 0. Empty if samples are stored as pixels.
[[nodiscard]] std::vector<DecodeNote> decode_notes(const Plan& plan);

}  // namespace unstarve
