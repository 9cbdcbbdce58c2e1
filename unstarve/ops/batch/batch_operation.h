#pragma once
// An operation on a complete batch: labels as rows of probabilities, and mixing of samples.
//
// With any batch operation, a batch has `targets`: float32, samples x classes, initially the one-hot labels. Labels are
// not changed.
//
// Threads: const after construction; any number of threads. Failure: Error(kArgument) from the factory.
// Source of the formulas: label smoothing, Szegedy et al., CVPR 2016; mixup, Zhang et al., ICLR 2018; cutmix, Yun et
// al., ICCV 2019; both pair a sample with the one before it, as torchvision's v2.MixUp and v2.CutMix do.
// To add one: a file in this folder with class and factory, a row in batch_operation_table.inl.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "unstarve/core/random.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/store/store.h"

namespace unstarve {

// A complete batch in its slot.
struct BatchPixels {
  std::uint8_t* data = nullptr;
  std::size_t samples = 0;
  Size size;
  ElementType type = ElementType::kFloat32;
  Layout layout = Layout::kNchw;
  // samples x classes, each row adding up to 1.
  std::span<float> targets;
  std::size_t classes = 0;

  [[nodiscard]] std::size_t sample_elements() const {
    return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) * kChannels;
  }
};

class BatchOperation {
 public:
  virtual ~BatchOperation() = default;
  virtual void apply(const BatchPixels& batch, Random& random) const = 0;
};

struct BatchOperationInfo {
  std::string_view name;
  std::string_view help;  // one line with its parameters and their defaults
  std::unique_ptr<BatchOperation> (*make)(const OpParams& params);
};

[[nodiscard]] std::span<const BatchOperationInfo> batch_operations();
// Throws Error(kArgument) for an unknown name (the message lists the known ones), an unknown or malformed parameter.
[[nodiscard]] std::unique_ptr<BatchOperation> make_batch_operation(const OpSpec& spec);

// Writes rows of zeros with a one at each label. Preconditions: 0 <= label < classes,
// targets.size() == labels.size() * classes.
void write_one_hot(std::span<const std::int64_t> labels, std::size_t classes, std::span<float> targets);

}  // namespace unstarve
