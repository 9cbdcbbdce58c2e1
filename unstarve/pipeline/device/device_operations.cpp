#include "unstarve/pipeline/device/device_operations.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/replace_means.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/pipeline/plan/first_on_device.h"

namespace unstarve {
namespace {

[[noreturn]] void reject_on_device(const std::string& node) {
  throw argument_error("{}; or leave the operations on the host", node);
}

using Operations = std::vector<std::unique_ptr<Operation>>;

Operations operations_at(const std::vector<OpSpec>& specs, std::uint32_t epoch) {
  Operations operations;
  for (const OpSpec& spec : specs) operations.push_back(make_operation(at_epoch(spec, epoch)));
  return operations;
}

// Epoch 0 and the epochs in which operations change.
std::vector<std::uint32_t> epochs_of(const std::vector<OpSpec>& specs) {
  std::vector<std::uint32_t> epochs = changing_epochs(specs);
  epochs.insert(epochs.begin(), 0);
  return epochs;
}

// The output size for an image of `size`. Precondition: it does not depend on the sample.
Size size_after(const Operation& operation, Size size) {
  Random any(0, 0, 0, 0);
  return operation.output_size(operation.select(size, any).size());
}

// The output size of the first `count` operations. Precondition: one of them has a fixed output size.
Size size_after_first(const Operations& operations, std::size_t count) {
  const auto fixed = [](const auto& operation) { return operation->fixed_output(); };
  const auto begin = operations.begin(), end = begin + static_cast<std::ptrdiff_t>(count);
  auto next = std::find_if(begin, end, fixed);
  constexpr Size kAny{1000, 1000};
  Size size = (*next)->output_size(kAny);
  while (++next != end) size = size_after(**next, size);
  return size;
}

std::int64_t image_bytes(Size size) { return std::int64_t{size.width} * size.height * kChannels; }

}  // namespace

DeviceOperations::DeviceOperations(const PipelineSpec& spec, ElementType type, Device& device,
                                   std::unique_ptr<DeviceDecoder> decoder)
    : specs_(spec.operations),
      seed_(spec.order.seed),
      first_(first_on_device(spec)),
      decoder_(std::move(decoder)),
      output_(gpu::make_output(spec.output)),
      runner_(device) {
  for (std::size_t i = 0; decoder_ != nullptr && i < first_; ++i)
    if (!make_operation(at_epoch(specs_[i], 0))->runs_on_gpu())
      reject_on_device(fmt::format(
          "operations[{}]: operation {} has no GPU kernel, which decoding on a device requires; decode on the host", i,
          specs_[i].name));
  output_.type = type;
  replace_means(specs_, spec.output.normalisation);
  for (const std::uint32_t epoch : epochs_of(specs_)) {
    const Operations operations = operations_at(specs_, epoch);
    stages_.push_back({epoch, size_after_first(operations, first_), size_after_first(operations, operations.size())});
  }
  enter(stages_.front());
}

const DeviceOperations::Stage& DeviceOperations::stage(std::uint32_t epoch) const {
  const auto next = std::upper_bound(stages_.begin(), stages_.end(), epoch,
                                     [](std::uint32_t number, const Stage& stage) { return number < stage.from; });
  return *std::prev(next);
}

Size DeviceOperations::input_size(std::uint32_t epoch) const { return stage(epoch).in; }

Size DeviceOperations::output_size(std::uint32_t epoch) const { return stage(epoch).out; }

Size DeviceOperations::largest_output() const {
  Size largest;
  for (const Stage& stage : stages_)
    largest = {std::max(largest.width, stage.out.width), std::max(largest.height, stage.out.height)};
  return largest;
}

void DeviceOperations::enter(const Stage& stage) {
  if (recorder_ != nullptr && entered_ == stage.from) return;
  entered_ = stage.from;
  in_ = stage.in;
  output_.size = stage.out;
  recorder_.reset();
  operations_ = operations_at(specs_, stage.from);
  recorder_ = std::make_unique<BatchRecorder>(specs_, operations_, stage.out, decoder_ != nullptr ? 0 : first_);
}

std::string DeviceOperations::explain() const {
  const Operations operations = operations_at(specs_, 0);
  Size size = stages_.front().in;
  std::string lines = fmt::format("bus         {}x{} uint8; then one kernel per batch, with the host's draws\n",
                                  size.width, size.height);
  for (std::size_t i = first_; i < operations.size(); ++i) {
    const Size made = size_after(*operations[i], size);
    lines += fmt::format("device      {}: {}x{} -> {}x{}{}\n", specs_[i].name, size.width, size.height, made.width,
                         made.height, operations[i]->random() ? ", random" : "");
    size = made;
  }
  if (stages_.size() > 1)
    lines += fmt::format("device      same schedule as on the host: {} changes, the last in epoch {}\n",
                         stages_.size() - 1, stages_.back().from);
  return decoder_ != nullptr ? decoder_->explain() + lines : lines;
}

void DeviceOperations::run(const DeviceBatch& batch, std::uint32_t epoch, void* output, Stream& stream) {
  enter(stage(epoch));
  std::span<const SourceImage> decoded;
  if (!batch.files.empty()) decoded = decoder_->decode(batch, static_cast<std::size_t>(image_bytes(in_)), stream);
  recorder_->clear();
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    if (batch.files.empty() || batch.files[i][0] == 0) {
      recorder_->add(pixels_of(i), seed_, epoch, batch.ids[i], first_);
      continue;
    }
    try {
      recorder_->add(decoded[i], seed_, epoch, batch.ids[i], 0);
    } catch (const Error& error) {
      throw Error(error.kind(), decoder_->location(batch.ids[i]) + ": " + error.what());
    }
  }
  output_.pixels = output;
  runner_.run(recorder_->recording(), batch.source, output_, stream);
}

SourceImage DeviceOperations::pixels_of(std::size_t sample) const {
  return SourceImage::interleaved(static_cast<std::int64_t>(sample) * image_bytes(in_), in_);
}

}  // namespace unstarve
