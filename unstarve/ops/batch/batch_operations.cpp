#include <fmt/format.h>

#include <array>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/ops/batch/batch_operation.h"

namespace unstarve {
namespace {

constexpr std::array kBatchOperations = {
    BatchOperationInfo{"one_hot", "labels as rows of probabilities, without other changes", make_one_hot},
    BatchOperationInfo{"label_smoothing", "distributes a part of every label over all classes: epsilon 0.1",
                       make_label_smoothing},
    BatchOperationInfo{"mixup", "blends each sample with the one before it: alpha 0.2, probability 1", make_mixup},
    BatchOperationInfo{"cutmix", "replaces a box of each sample by that of the one before it: alpha 1, probability 1",
                       make_cutmix},
};

}  // namespace

std::span<const BatchOperationInfo> batch_operations() { return kBatchOperations; }

std::unique_ptr<BatchOperation> make_batch_operation(const OpSpec& spec) {
  std::string known;
  for (const BatchOperationInfo& info : kBatchOperations) {
    if (info.name == spec.name) return info.make(spec.params);
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  throw Error(ErrorKind::kArgument, fmt::format("unknown batch operation '{}'; known: {}", spec.name, known));
}

}  // namespace unstarve
