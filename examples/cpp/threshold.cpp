#include "threshold.h"

#include <cstdint>
#include <memory>

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/operations.h"

namespace {

using namespace unstarve;

// Values of at least `at` become 255, all others 0.
class Threshold final : public Operation {
 public:
  explicit Threshold(double at) : at_(at) {}

  Size output_size(Size selected) const override { return selected; }
  bool writes_pixels() const override { return true; }
  void apply(Frame& frame, Random&, Scratch& scratch) const override {
    Image& image = make_pixels(frame, scratch);
    for (std::size_t i = 0; i < image.bytes(); ++i)
      image.data()[i] = static_cast<std::uint8_t>(image.data()[i] >= at_ ? 255 : 0);
  }

 private:
  double at_;
};

std::unique_ptr<Operation> make_threshold(const OpParams& given) {
  const Parameters parameters("threshold", given, {"at"});
  return std::make_unique<Threshold>(parameters.number("at", 128, 0, 255));
}

}  // namespace

void add_threshold() { add_operation({"threshold", "values of at least `at` become 255: at 128", make_threshold}); }
