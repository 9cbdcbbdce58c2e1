// Mixes each sample and its target with the one before it: blended (mixup) or by a box (cutmix), one draw per batch.

#include <algorithm>
#include <cmath>
#include <vector>

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/ops/batch/mixing.h"

namespace unstarve {
namespace {

class Mixup final : public BatchOperation {
 public:
  Mixup(double alpha, double probability) : alpha_(alpha), probability_(probability) {}

  void apply(const BatchPixels& batch, Random& random) const override {
    if (random.uniform() >= probability_ || batch.samples < 2) return;
    const auto weight = static_cast<float>(draw_beta(alpha_, random));
    const std::size_t elements = batch.sample_elements(), bytes = elements * element_bytes(batch.type);
    // From the last to the first, so that the sample before is still unchanged. The first one takes the saved last one.
    const std::size_t last = batch.samples - 1;
    const std::vector<std::uint8_t> saved(batch.data + last * bytes, batch.data + batch.samples * bytes);
    for (std::size_t i = last; i > 0; --i)
      blend(batch.type, batch.data + (i - 1) * bytes, weight, elements, batch.data + i * bytes);
    blend(batch.type, saved.data(), weight, elements, batch.data);
    mix_targets(batch, weight);
  }

  static void mix_targets(const BatchPixels& batch, float weight) {
    const std::size_t classes = batch.classes, last = batch.samples - 1;
    float* const targets = batch.targets.data();
    const std::vector<float> saved(targets + last * classes, targets + batch.samples * classes);
    for (std::size_t i = last; i > 0; --i)
      for (std::size_t c = 0; c < classes; ++c)
        targets[i * classes + c] = weight * targets[i * classes + c] + (1 - weight) * targets[(i - 1) * classes + c];
    for (std::size_t c = 0; c < classes; ++c) targets[c] = weight * targets[c] + (1 - weight) * saved[c];
  }

 private:
  double alpha_;
  double probability_;
};

// A box around a uniform centre with an area of 1 - weight of the image, clipped at the edges. The clipped area is the
// weight of the targets.
class Cutmix final : public BatchOperation {
 public:
  Cutmix(double alpha, double probability) : alpha_(alpha), probability_(probability) {}

  void apply(const BatchPixels& batch, Random& random) const override {
    if (random.uniform() >= probability_ || batch.samples < 2) return;
    const double weight = draw_beta(alpha_, random);
    const int width = batch.size.width, height = batch.size.height;
    const int x = static_cast<int>(random.below(static_cast<std::uint32_t>(width)));
    const int y = static_cast<int>(random.below(static_cast<std::uint32_t>(height)));
    const double half = 0.5 * std::sqrt(1 - weight);
    const int half_width = static_cast<int>(half * width), half_height = static_cast<int>(half * height);
    const Rect box{std::max(x - half_width, 0), std::max(y - half_height, 0), 0, 0};
    const int right = std::min(x + half_width, width), bottom = std::min(y + half_height, height);
    paste(batch, {box.x, box.y, right - box.x, bottom - box.y});
    const double cut = static_cast<double>(right - box.x) * (bottom - box.y) / (static_cast<double>(width) * height);
    Mixup::mix_targets(batch, static_cast<float>(1 - cut));
  }

 private:
  static void paste(const BatchPixels& batch, Rect box) {
    const std::size_t element = element_bytes(batch.type), bytes = batch.sample_elements() * element;
    const bool planar = batch.layout == Layout::kNchw;
    const std::size_t pixel = planar ? element : element * kChannels;
    const std::size_t row = static_cast<std::size_t>(batch.size.width) * pixel;
    const std::size_t rows = static_cast<std::size_t>(batch.size.height);
    const auto copy = [&](const std::uint8_t* from, std::uint8_t* to) {
      for (std::size_t plane = 0; plane < (planar ? std::size_t{kChannels} : 1); ++plane) {
        for (int line = box.y; line < box.y + box.height; ++line) {
          const std::size_t at =
              (plane * rows + static_cast<std::size_t>(line)) * row + static_cast<std::size_t>(box.x) * pixel;
          std::copy_n(from + at, static_cast<std::size_t>(box.width) * pixel, to + at);
        }
      }
    };
    const std::size_t last = batch.samples - 1;
    const std::vector<std::uint8_t> saved(batch.data + last * bytes, batch.data + batch.samples * bytes);
    for (std::size_t i = last; i > 0; --i) copy(batch.data + (i - 1) * bytes, batch.data + i * bytes);
    copy(saved.data(), batch.data);
  }

  double alpha_;
  double probability_;
};

template <class Op>
std::unique_ptr<BatchOperation> make(const char* name, const OpParams& params, double alpha) {
  const Parameters p(name, params, {"alpha", "probability"});
  return std::make_unique<Op>(p.number("alpha", alpha, 1e-3, 1e3), p.number("probability", 1, 0, 1));
}

}  // namespace

std::unique_ptr<BatchOperation> make_mixup(const OpParams& params) { return make<Mixup>("mixup", params, 0.2); }
std::unique_ptr<BatchOperation> make_cutmix(const OpParams& params) { return make<Cutmix>("cutmix", params, 1); }

}  // namespace unstarve
