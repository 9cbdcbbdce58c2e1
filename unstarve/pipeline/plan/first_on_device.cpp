#include "unstarve/pipeline/plan/first_on_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/schedule.h"

namespace unstarve {
namespace {

[[noreturn]] void reject_operation(const std::string& node) {
  throw argument_error("{}. Or run the operations on the host.", node);
}

}  // namespace

std::size_t first_on_device(const PipelineSpec& spec) {
  if (!spec.batch_operations.empty())
    reject_operation(fmt::format(
        "batch_operations[0]: {} works on batches on the host, before the operations on a device; expected no "
        "batch operations",
        spec.batch_operations[0].name));
  if (spec.batch.pad.to != PadTo::kNothing)
    reject_operation("batch.pad: samples of several sizes; expected one size where operations run on a device");
  const bool every_sample_once = spec.mix.empty() && spec.order.repeat == 1 && spec.order.epoch == 0 &&
                                 !spec.order.balance && spec.order.class_weights.empty();
  if (!every_sample_once)
    reject_operation(
        "order: a mixture, repeat, epoch, balance or class_weights; expected every sample once per epoch where "
        "operations run on a device");
  std::size_t first = 0;
  std::vector<std::uint32_t> epochs = changing_epochs(spec.operations);
  epochs.insert(epochs.begin(), 0);
  for (const std::uint32_t epoch : epochs) {
    bool fixed = false;
    for (std::size_t i = 0; i < spec.operations.size(); ++i) {
      const auto operation = make_operation(at_epoch(spec.operations[i], epoch));
      if (!fixed || !operation->runs_on_gpu()) first = std::max(first, i + 1);
      fixed = fixed || operation->fixed_output();
    }
    if (!fixed)
      reject_operation(fmt::format(
          "operations: no operation has a fixed output size{}; expected one, such as random_resized_crop or "
          "center_crop, before the operations on a device",
          epoch == 0 ? "" : fmt::format(" in epoch {}", epoch)));
  }
  return first;
}

}  // namespace unstarve
