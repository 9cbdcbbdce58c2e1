#include <array>
#include <string>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/batch/batch_operation.h"

namespace unstarve {

#define BATCH_OPERATION(name, help) std::unique_ptr<BatchOperation> make_##name(const OpParams& params);
#include "unstarve/ops/batch/batch_operation_table.inl"
#undef BATCH_OPERATION

namespace {

constexpr std::array kBatchOperations = {
#define BATCH_OPERATION(name, help) BatchOperationInfo{#name, help, make_##name},
#include "unstarve/ops/batch/batch_operation_table.inl"
#undef BATCH_OPERATION
};

}  // namespace

std::span<const BatchOperationInfo> batch_operations() { return kBatchOperations; }

std::unique_ptr<BatchOperation> make_batch_operation(const OpSpec& spec) {
  std::string known;
  for (const BatchOperationInfo& info : kBatchOperations) {
    if (info.name == spec.name) return info.make(spec.params);
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  throw argument_error("unknown batch operation '{}'; known: {}", spec.name, known);
}

}  // namespace unstarve
