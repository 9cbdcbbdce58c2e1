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

DeviceOperations::DeviceOperations(const PipelineSpec& spec, Size in, gpu::OutputType type, Device& device,
                                   std::unique_ptr<DeviceDecoder> decoder)
    : seed_(spec.order.seed),
      in_(in),
      first_(first_on_device(spec)),
      decoder_(std::move(decoder)),
      output_(gpu::make_output(spec.output)),
      runner_(device) {
  for (std::size_t i = 0; decoder_ != nullptr && i < first_; ++i)
    if (const std::string reason = why_not_on_gpu(spec.operations[i]); !reason.empty())
      refuse(fmt::format("operations[{}]: {}, expected one where a device decodes; decode on the host", i, reason));
  for (const OpSpec& operation : spec.operations) {
    names_.push_back(operation.name);
    operations_.push_back(make_operation(operation));
  }
  output_.type = type;
  output_.size = in;
  for (std::size_t i = first_; i < operations_.size(); ++i) output_.size = size_after(*operations_[i], output_.size);
  recorder_ =
      std::make_unique<BatchRecorder>(spec.operations, operations_, output_.size, decoder_ != nullptr ? 0 : first_);
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
  return decoder_ != nullptr ? decoder_->explain() + lines : lines;
}

void DeviceOperations::run(std::span<const std::uint64_t> ids, std::uint32_t epoch, const std::uint8_t* source,
                           void* output, Stream& stream) {
  recorder_->clear();
  for (std::size_t i = 0; i < ids.size(); ++i) recorder_->add(place(i), seed_, epoch, ids[i], first_);
  output_.pixels = output;
  runner_.run(recorder_->recording(), source, output_, stream);
}

void DeviceOperations::run(std::span<const std::uint64_t> ids, std::uint32_t epoch, std::span<const FileExtent> files,
                           const std::uint8_t* host, std::uint8_t* source, void* output, Stream& stream) {
  const std::size_t bytes = static_cast<std::size_t>(in_.width) * static_cast<std::size_t>(in_.height) * kChannels;
  const std::span<const SourceImage> decoded = decoder_->decode(ids, files, bytes, host, source, stream);
  recorder_->clear();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (files[i][0] == 0) {
      recorder_->add(place(i), seed_, epoch, ids[i], first_);
      continue;
    }
    try {
      recorder_->add(decoded[i], seed_, epoch, ids[i], 0);
    } catch (const Error& error) {
      throw Error(error.kind(), decoder_->location(ids[i]) + ": " + error.what());
    }
  }
  output_.pixels = output;
  runner_.run(recorder_->recording(), source, output_, stream);
}

SourceImage DeviceOperations::place(std::size_t sample) const {
  const std::int64_t bytes = std::int64_t{in_.width} * in_.height * kChannels;
  return SourceImage::interleaved(static_cast<std::int64_t>(sample) * bytes, in_);
}

}  // namespace unstarve
