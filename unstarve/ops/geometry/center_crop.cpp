// The centre of the image, zero-padded where the image is smaller: torchvision's CenterCrop.

#include <algorithm>
#include <cmath>

#include "unstarve/ops/base/border.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"

namespace unstarve {
namespace {

// Offset of the window along one axis, negative when it reaches beyond. torchvision pads a smaller image by
// (size - side) / 2 before it and crops by round((side - size) / 2), halves to even, otherwise.
int offset(int side, int size) {
  return side < size ? -((size - side) / 2) : static_cast<int>(std::nearbyint((side - size) / 2.0));
}

class CenterCrop final : public Operation {
 public:
  explicit CenterCrop(Size size) : size_(size) {}

  Rect select(Size input, Random&) const override {
    const int x = std::max(0, offset(input.width, size_.width)), y = std::max(0, offset(input.height, size_.height));
    return {x, y, std::min(size_.width, input.width), std::min(size_.height, input.height)};
  }
  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size) const override { return size_; }
  bool fixed_output() const override { return true; }
  void apply(Frame& frame, Random&, Scratch& scratch) const override {
    // select() has left at most `size_` on each axis.
    if (frame.size() == size_) return;
    crop_with_border(frame,
                     {offset(frame.width, size_.width), offset(frame.height, size_.height), size_.width, size_.height},
                     Border::kConstant, {}, scratch);
  }

 private:
  Size size_;
};

}  // namespace

std::unique_ptr<Operation> make_center_crop(const OpParams& params) {
  const Parameters p("center_crop", params, {"size"});
  return std::make_unique<CenterCrop>(p.size("size"));
}

}  // namespace unstarve
