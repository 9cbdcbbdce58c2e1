// A window of a given size at a random place of the image with a border of zeros: torchvision's RandomCrop with
// padding, the usual augmentation of CIFAR. Nothing moves: the window only reaches beyond the image. Without a border
// only the window is read.

#include <algorithm>

#include "unstarve/ops/operation_list.h"
#include "unstarve/ops/parameters.h"

namespace unstarve {
namespace {

class PadCrop final : public Operation {
 public:
  PadCrop(Size size, int padding) : size_(size), padding_(padding) {}

  // With a border everything is read, so that the place can be drawn in apply().
  Rect select(Size input, Random& random) const override {
    if (!lies_inside(input)) return {0, 0, input.width, input.height};
    const int y = place(input.height, size_.height, random);
    const int x = place(input.width, size_.width, random);
    return {x, y, size_.width, size_.height};
  }
  [[nodiscard]] bool random() const override { return true; }
  Size output_size(Size) const override { return size_; }
  bool fixed_output() const override { return true; }
  void apply(Frame& frame, Random& random, Scratch&) const override {
    if (lies_inside(frame.size())) return;  // select() drew it
    const int y = place(frame.height, size_.height, random);
    const int x = place(frame.width, size_.width, random);
    frame.crop({x, y, size_.width, size_.height});
  }

 private:
  [[nodiscard]] bool lies_inside(Size input) const {
    return padding_ == 0 && input.width >= size_.width && input.height >= size_.height;
  }
  // Uniform over the places where the window lies within image and border; the middle when there is none.
  int place(int side, int size, Random& random) const {
    const int room = side + 2 * padding_ - size;
    if (room < 0) return (side - size) / 2;
    return static_cast<int>(random.below(static_cast<std::uint32_t>(room) + 1)) - padding_;
  }

  Size size_;
  int padding_;
};

}  // namespace

std::unique_ptr<Operation> make_pad_crop(const OpParams& params) {
  const Parameters p("pad_crop", params, {"size", "padding"});
  return std::make_unique<PadCrop>(p.size("size"), p.integer("padding", 4, 0, 10'000));
}

}  // namespace unstarve
