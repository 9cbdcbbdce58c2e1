// One-hot labels and their smoothing.

#include <algorithm>

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/batch/batch_operation.h"

namespace unstarve {
namespace {

// Does nothing: any batch operation makes the batch have targets.
class OneHot final : public BatchOperation {
 public:
  void apply(const BatchPixels&, Random&) const override {}
};

// y (1 - epsilon) + epsilon / classes, as in torch's CrossEntropyLoss.
class LabelSmoothing final : public BatchOperation {
 public:
  explicit LabelSmoothing(double epsilon) : epsilon_(static_cast<float>(epsilon)) {}
  void apply(const BatchPixels& batch, Random&) const override {
    const float floor = epsilon_ / static_cast<float>(batch.classes);
    for (float& value : batch.targets) value = value * (1 - epsilon_) + floor;
  }

 private:
  float epsilon_;
};

}  // namespace

void write_one_hot(std::span<const std::int64_t> labels, std::size_t classes, std::span<float> targets) {
  std::fill(targets.begin(), targets.end(), 0.0f);
  for (std::size_t i = 0; i < labels.size(); ++i) targets[i * classes + static_cast<std::size_t>(labels[i])] = 1;
}

std::unique_ptr<BatchOperation> make_one_hot(const OpParams& params) {
  const Parameters p("one_hot", params, {});
  return std::make_unique<OneHot>();
}

std::unique_ptr<BatchOperation> make_label_smoothing(const OpParams& params) {
  const Parameters p("label_smoothing", params, {"epsilon"});
  return std::make_unique<LabelSmoothing>(p.number("epsilon", 0.1, 0.0, 1.0));
}

}  // namespace unstarve
