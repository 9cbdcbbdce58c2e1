// The whole image to a short side of a given length (aspect ratio kept), or to a given height and width: torchvision's
// Resize.

#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/ops/operation_list.h"
#include "unstarve/ops/parameters.h"
#include "unstarve/ops/resize.h"

namespace unstarve {
namespace {

class Resize final : public Operation {
 public:
  Resize(int short_side, std::optional<Size> exact, Resampling resampling)
      : short_side_(short_side), exact_(exact), resampling_(resampling) {}

  Size output_size(Size in) const override {
    if (exact_) return *exact_;
    // The long side is rounded towards zero, as torchvision does.
    const auto long_side = [&](int in_long, int in_short) {
      const std::int64_t side = std::int64_t{short_side_} * in_long / in_short;
      if (side * short_side_ > kMaxPixels) {
        throw Error(
            ErrorKind::kInput,
            fmt::format("operation resize: an image of {}x{} would become {}x{} (long side by short side), over "
                        "the limit of {} pixels",
                        in.width, in.height, side, short_side_, kMaxPixels));
      }
      return static_cast<int>(side);
    };
    return in.width <= in.height ? Size{short_side_, long_side(in.height, in.width)}
                                 : Size{long_side(in.width, in.height), short_side_};
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
  std::optional<Size> exact_;
  Resampling resampling_;
};

}  // namespace

std::unique_ptr<Operation> make_resize(const OpParams& params) {
  const Parameters p("resize", params, {"size", "interpolation", "antialias"});
  const Size size = p.size("size");
  return std::make_unique<Resize>(size.width, p.has_two("size") ? std::optional(size) : std::nullopt,
                                  read_resampling(p));
}

}  // namespace unstarve
