// A window of a given size at a random position of the padded image: torchvision's RandomCrop with padding, common for
// CIFAR. Padding by one colour moves no pixel: the window reaches beyond the image. Without padding only the window is
// read.

#include <algorithm>

#include "unstarve/ops/base/border.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/paint.h"
#include "unstarve/ops/base/parameters.h"

namespace unstarve {
namespace {

struct Padding {
  int left, top, right, bottom;
};

class PadCrop final : public Operation {
 public:
  PadCrop(Size size, const Padding& padding, Border border, const Rgb& fill)
      : size_(size), padding_(padding), border_(border), fill_(fill) {}

  // With padding all of the input is read, and apply() draws the position.
  Rect select(Size input, Random& random) const override {
    if (!is_inside(input)) return {0, 0, input.width, input.height};
    return draw(input, random);
  }
  [[nodiscard]] bool random() const override { return true; }
  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size) const override { return size_; }
  bool fixed_output() const override { return true; }
  [[nodiscard]] bool writes_pixels() const override { return border_ != Border::kConstant; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const override {
    if (is_inside(frame.size())) return;  // select() has cropped
    crop_with_border(frame, draw(frame.size(), random), border_, fill_, scratch);
  }

 private:
  [[nodiscard]] bool is_inside(Size input) const {
    const bool none = padding_.left == 0 && padding_.top == 0 && padding_.right == 0 && padding_.bottom == 0;
    return none && input.width >= size_.width && input.height >= size_.height;
  }
  Rect draw(Size input, Random& random) const {
    const int y = position(input.height, size_.height, padding_.top, padding_.bottom, random);
    const int x = position(input.width, size_.width, padding_.left, padding_.right, random);
    return {x, y, size_.width, size_.height};
  }
  // Uniform over the positions at which the window fits into the padded side; the centre if it does not fit.
  static int position(int side, int size, int before, int after, Random& random) {
    const int room = side + before + after - size;
    if (room < 0) return (side + after - before - size) / 2;
    return static_cast<int>(random.below(static_cast<std::uint32_t>(room) + 1)) - before;
  }

  Size size_;
  Padding padding_;
  Border border_;
  Rgb fill_;
};

// In torchvision's order.
Padding read_padding(const Parameters& parameters) {
  const std::vector<int> given = parameters.integers("padding", {{4}, 0, 10'000, {1, 2, 4}, {}}).numbers;
  const std::size_t count = given.size();
  return {given[0], given[1 % count], given[2 % count], given[3 % count]};
}

}  // namespace

std::unique_ptr<Operation> make_pad_crop(const OpParams& params) {
  const Parameters p("pad_crop", params, {"size", "padding", "padding_mode", "fill"});
  const Size size = p.size("size");
  const Padding padding = read_padding(p);
  // In the order of Border.
  const auto border = static_cast<Border>(p.choice("padding_mode", 0, {"constant", "edge", "reflect", "symmetric"}));
  return std::make_unique<PadCrop>(size, padding, border, read_fill(p));
}

}  // namespace unstarve
