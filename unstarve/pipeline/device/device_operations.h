#pragma once
// A pipeline's operations, split between the host that loads and the device that trains.
//
//   host:   read ── decode ── operations before `first` ── uint8 batch ── bus ──▶
//   device: operations from `first` on ── normalise, cast, layout ── batch
//
// The device's part begins where all samples have one size: the random crop that a decoder need not decode around stays
// on the host. Every operation keeps its number in the chain, so that its draws, and the batches, are bit for bit those
// of the host alone.
//
// Operations may follow a schedule (ops/schedule.h): they, and with them the sizes of what comes and goes, are then
// those of a batch's epoch.
//
// Where the device takes part in decoding, some of the places of the uint8 batch hold files. They are decoded behind
// the batch (device_decoder.h), and all operations of these samples are the device's: their draws too are the host's,
// but not to the bit the pixels that they begin with.
//
// Threads: one at a time. Failure: Error(kArgument) naming the node, for what the device cannot do or know: see
// first_on_device(). run() throws as BatchRunner.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/device/device.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/gpu/batch_recorder.h"
#include "unstarve/ops/gpu/batch_runner.h"
#include "unstarve/ops/gpu/output.h"
#include "unstarve/pipeline/device/device_decoder.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

class DeviceOperations {
 public:
  // The output is the spec's but for its type. `device` must outlive it.
  // With a decoder Error(kArgument) for operations before first_on_device() that a device cannot do either.
  DeviceOperations(const PipelineSpec& spec, ElementType type, Device& device,
                   std::unique_ptr<DeviceDecoder> decoder = {});

  // Of the batches that the host sends in an epoch, and of those that come of them.
  [[nodiscard]] Size input_size(std::uint32_t epoch) const;
  [[nodiscard]] Size output_size(std::uint32_t epoch) const;
  // Room for any epoch's output.
  [[nodiscard]] Size largest_output() const;
  // A line for each operation of the device, as a plan's explain() has them for the host; as they are in epoch 0.
  [[nodiscard]] std::string explain() const;
  // Queues a batch. `source`: uint8, ids.size() x height x width x 3, of the device, as `output`.
  void run(std::span<const std::uint64_t> ids, std::uint32_t epoch, const std::uint8_t* source, void* output,
           Stream& stream);
  // The same of a batch with files among its samples. `host`: the batch's memory on the host, until this has returned.
  // `source` has room for decoded_bytes(files) behind the batch. Throws as DeviceDecoder::decode(); the batch is then
  // lost. Precondition: a decoder.
  void run(std::span<const std::uint64_t> ids, std::uint32_t epoch, std::span<const FileExtent> files,
           const std::uint8_t* host, std::uint8_t* source, void* output, Stream& stream);

 private:
  // What holds from an epoch on, until the next stage.
  struct Stage {
    std::uint32_t from = 0;
    Size in, out;
  };

  [[nodiscard]] const Stage& stage(std::uint32_t epoch) const;
  // Makes the operations of a stage those that are recorded.
  void enter(const Stage& stage);
  [[nodiscard]] SourceImage place(std::size_t sample) const;

  std::vector<OpSpec> specs_;  // with their schedules
  std::uint64_t seed_;
  std::size_t first_;
  std::vector<Stage> stages_;
  std::unique_ptr<DeviceDecoder> decoder_;  // null: the host decodes all
  gpu::Output output_;
  // Of the stage at hand.
  Size in_;
  std::uint32_t entered_ = 0;  // its first epoch
  std::vector<std::unique_ptr<Operation>> operations_;
  std::unique_ptr<BatchRecorder> recorder_;
  BatchRunner runner_;
};

}  // namespace unstarve
