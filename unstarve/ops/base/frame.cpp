#include "unstarve/ops/base/frame.h"

#include "unstarve/ops/base/point_chain.h"

namespace unstarve {

Scratch::Scratch() : points_(std::make_unique<PointChain>()) {}
Scratch::~Scratch() = default;
Scratch::Scratch(Scratch&&) noexcept = default;
Scratch& Scratch::operator=(Scratch&&) noexcept = default;

Image& Scratch::other_than(const Frame& frame) {
  const Image& first = images_[0];
  const bool borrowed =
      first.data() != nullptr && frame.pixels.data >= first.data() && frame.pixels.data < first.data() + first.bytes();
  return images_[borrowed ? 1 : 0];
}

std::uint64_t Scratch::other_bytes() const {
  std::uint64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.memory->bytes_held();
  return bytes;
}

}  // namespace unstarve
