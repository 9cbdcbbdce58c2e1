#pragma once
// The operations of a pipeline, split between the host that loads and the device that trains.
//
//   host:   read ── decode ── operations before `first` ── uint8 batch ── bus ──▶
//   device: operations from `first` on ── normalise, cast, layout ── batch
//
// The device's part begins where all samples have the same size. A random crop before it stays on the host, whose
// decoder skips the pixels outside of the crop. Every operation keeps its number in the chain, so its random draws and
// the batches are bit-identical to those of the host alone.
//
// Operations may follow a schedule (ops/schedule.h). Operations and sizes of input and output are then those of the
// batch's epoch.
//
// If the device also decodes, some samples of the uint8 batch are files. Their images are decoded to the memory after
// the batch (device_decoder.h), and the device runs all operations of these samples. The random draws equal those of
// the host; the decoded pixels differ slightly.
//
// Threads: one at a time.
// Failure: Error(kArgument), beginning with the node, for operations and settings that the device does not support, see
//          first_on_device(). run() throws as BatchRunner.

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
  // The output has the settings of the spec, except for `type`. `device` must outlive this object. With a decoder,
  // throws Error(kArgument) for operations before first_on_device() without a GPU kernel.
  DeviceOperations(const PipelineSpec& spec, ElementType type, Device& device,
                   std::unique_ptr<DeviceDecoder> decoder = {});

  // Image sizes of the batches that the host sends in an epoch, and of the resulting batches.
  [[nodiscard]] Size input_size(std::uint32_t epoch) const;
  [[nodiscard]] Size output_size(std::uint32_t epoch) const;
  // Largest width and largest height of any epoch's output.
  [[nodiscard]] Size largest_output() const;
  // Lines for a plan's explain(): one per operation on the device, for epoch 0.
  [[nodiscard]] std::string explain() const;
  // Queues a batch of an epoch. `output`: device memory. With files, throws as DeviceDecoder::decode(); the batch is
  // then lost.
  void run(const DeviceBatch& batch, std::uint32_t epoch, void* output, Stream& stream);

 private:
  // Image sizes from an epoch on, until the next stage.
  struct Stage {
    std::uint32_t from = 0;
    Size in, out;
  };

  [[nodiscard]] const Stage& stage(std::uint32_t epoch) const;
  // Creates the operations of a stage and the recorder for them.
  void enter(const Stage& stage);
  [[nodiscard]] SourceImage pixels_of(std::size_t sample) const;

  std::vector<OpSpec> specs_;  // with their schedules
  std::uint64_t seed_;
  std::size_t first_;
  std::vector<Stage> stages_;
  std::unique_ptr<DeviceDecoder> decoder_;  // null: the host decodes all files
  gpu::Output output_;
  // State of the current stage.
  Size in_;
  std::uint32_t entered_ = 0;  // its first epoch
  std::vector<std::unique_ptr<Operation>> operations_;
  std::unique_ptr<BatchRecorder> recorder_;
  BatchRunner runner_;
};

}  // namespace unstarve
