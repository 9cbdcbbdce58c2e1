// Resizes the image to a given short side (aspect ratio preserved, long side bounded), or to a given height and width:
// torchvision's Resize.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/format_error.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/resize/resize.h"

namespace unstarve {
namespace {

class Resize final : public Operation {
 public:
  Resize(int short_side, int max_size, std::optional<Size> exact, Resampling resampling)
      : short_side_(short_side), max_size_(max_size), exact_(exact), resampling_(resampling) {}

  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size in) const override {
    if (exact_) return *exact_;
    // Each step truncates, as torchvision does; there a short side of 0 is an error.
    std::int64_t short_side = short_side_;
    std::int64_t long_side = short_side * std::max(in.width, in.height) / std::min(in.width, in.height);
    if (max_size_ > 0 && long_side > max_size_) {
      short_side = std::max<std::int64_t>(max_size_ * short_side / long_side, 1);
      long_side = max_size_;
    }
    if (long_side * short_side > kMaxPixels) {
      throw input_error(
          "operation resize: an image of {}x{} would become {}x{} (long side by short side), over the limit of {} "
          "pixels",
          in.width, in.height, long_side, short_side, kMaxPixels);
    }
    const Size made{static_cast<int>(long_side), static_cast<int>(short_side)};
    return in.width <= in.height ? Size{made.height, made.width} : made;
  }
  bool fixed_output() const override { return exact_.has_value(); }
  bool resamples() const override { return true; }
  std::uint64_t scratch_bytes(Size input) const override {
    return resize_scratch_bytes(input, output_size(input), resampling_);
  }
  std::optional<ResizeTo> only_resizes(Size selected) const override {
    return ResizeTo{output_size(selected), resampling_};
  }
  void apply(Frame& frame, Random&, Scratch& scratch) const override {
    resize(frame, output_size(frame.size()), resampling_, scratch);
  }

 private:
  int short_side_;
  int max_size_;  // of the long side; 0: any
  std::optional<Size> exact_;
  Resampling resampling_;
};

}  // namespace

std::unique_ptr<Operation> make_resize(const OpParams& params) {
  const Parameters p("resize", params, {"size", "max_size", "interpolation", "antialias"});
  const Size size = p.size("size");
  const int max_size = p.integer("max_size", 0, 0, kMaxSize);
  const bool exact = p.has_two("size");
  const auto reject = [&](const std::string& expected) {
    throw argument_error("operation resize: parameter 'max_size' is [{}]; expected {}", max_size, expected);
  };
  if (max_size > 0 && exact) reject("none, as size is a height and a width");
  if (max_size > 0 && max_size <= size.width)
    reject(fmt::format("more than size, which is {}, or 0 for none", size.width));
  return std::make_unique<Resize>(size.width, max_size, exact ? std::optional(size) : std::nullopt, read_resampling(p));
}

}  // namespace unstarve
