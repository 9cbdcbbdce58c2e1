#include "unstarve/pipeline/device_operations.h"

#include <string>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/ops/schedule.h"

namespace unstarve {
namespace {

[[noreturn]] void refuse(const std::string& node) {
  throw Error(ErrorKind::kArgument, node + "; or leave the operations on the host");
}

// What comes of an image of `size`, where that is the same for every sample.
Size size_after(const Operation& operation, Size size) {
  Random any(0, 0, 0, 0);
  return operation.output_size(operation.select(size, any).size());
}

}  // namespace

std::size_t first_on_device(const PipelineSpec& spec) {
  if (!spec.batch_operations.empty())
    refuse(
        fmt::format("batch_operations[0]: {} blends batches on the host, where operations run on a device they are "
                    "made behind it; expected none",
                    spec.batch_operations[0].name));
  if (spec.batch.pad.to != PadTo::kNothing)
    refuse("batch.pad: samples of several sizes, expected none where operations run on a device");
  const bool every_sample_once = spec.mix.empty() && spec.order.repeat == 1 && spec.order.epoch == 0 &&
                                 !spec.order.balance && spec.order.class_weights.empty();
  if (!every_sample_once)
    refuse(
        "order: a mixture, repeat, epoch, balance or class_weights, expected every sample once in an epoch where "
        "operations run on a device");
  for (std::size_t i = 0; i < spec.operations.size(); ++i)
    if (follows_schedule(spec.operations[i]))
      refuse(
          fmt::format("operations[{}]: {} follows a schedule, expected values that stay where operations run on a "
                      "device",
                      i, spec.operations[i].name));
  std::size_t first = 0;
  bool fixed = false;
  for (std::size_t i = 0; i < spec.operations.size(); ++i) {
    if (!fixed || !why_not_on_gpu(spec.operations[i]).empty()) first = i + 1;
    fixed = fixed || make_operation(spec.operations[i])->fixed_output();
  }
  if (!fixed)
    refuse(
        "operations: none gives all samples one size, expected random_resized_crop, center_crop or such a one before "
        "the operations of a device");
  return first;
}

DeviceOperations::DeviceOperations(const PipelineSpec& spec, Size in, gpu::OutputType type, Device& device)
    : seed_(spec.order.seed),
      in_(in),
      first_(first_on_device(spec)),
      output_(gpu::make_output(spec.output)),
      runner_(device) {
  for (const OpSpec& operation : spec.operations) {
    names_.push_back(operation.name);
    operations_.push_back(make_operation(operation));
  }
  output_.type = type;
  output_.size = in;
  for (std::size_t i = first_; i < operations_.size(); ++i) output_.size = size_after(*operations_[i], output_.size);
  recorder_ = std::make_unique<BatchRecorder>(spec.operations, operations_, output_.size, first_);
}

std::string DeviceOperations::explain() const {
  std::string lines = fmt::format("bus         {}x{} uint8; behind it one kernel per batch, by the host's draws\n",
                                  in_.width, in_.height);
  Size size = in_;
  for (std::size_t i = first_; i < operations_.size(); ++i) {
    const Size made = size_after(*operations_[i], size);
    lines += fmt::format("device      {}: {}x{} -> {}x{}{}\n", names_[i], size.width, size.height, made.width,
                         made.height, operations_[i]->random() ? ", random" : "");
    size = made;
  }
  return lines;
}

void DeviceOperations::run(std::span<const std::uint64_t> ids, std::uint32_t epoch, const std::uint8_t* source,
                           void* output, Stream& stream) {
  recorder_->clear();
  const std::int64_t bytes = std::int64_t{in_.width} * in_.height * kChannels;
  for (std::size_t i = 0; i < ids.size(); ++i)
    recorder_->add(SourceImage::interleaved(static_cast<std::int64_t>(i) * bytes, in_), seed_, epoch, ids[i]);
  output_.pixels = output;
  runner_.run(recorder_->recording(), source, output_, stream);
}

}  // namespace unstarve
