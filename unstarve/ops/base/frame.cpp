#include "unstarve/ops/base/frame.h"

#include "unstarve/ops/base/point_chain.h"
#include "unstarve/ops/filter/blur_rows.h"
#include "unstarve/ops/policy/mix_images.h"
#include "unstarve/ops/resize/resize_tables.h"

namespace unstarve {

Scratch::Scratch()
    : tables_(std::make_unique<ResizeTables>()),
      points_(std::make_unique<PointChain>()),
      blur_rows_(std::make_unique<BlurRows>()),
      mix_images_(std::make_unique<MixImages>()) {}
Scratch::~Scratch() = default;
Scratch::Scratch(Scratch&&) noexcept = default;
Scratch& Scratch::operator=(Scratch&&) noexcept = default;

Image& Scratch::other_than(const Frame& frame) {
  const Image& first = images_[0];
  const bool borrowed =
      first.data() != nullptr && frame.pixels.data >= first.data() && frame.pixels.data < first.data() + first.bytes();
  return images_[borrowed ? 1 : 0];
}

std::uint64_t Scratch::other_bytes() const { return tables_->held() + blur_rows_->held() + mix_images_->held(); }

}  // namespace unstarve
