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
// Where the device takes part in decoding, some of the places of the uint8 batch hold files. They are decoded behind the
// batch (device_decoder.h), and all operations of these samples are the device's: their draws too are the host's, but
// not to the bit the pixels that they begin with.
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
#include "unstarve/ops/gpu/batch_recorder.h"
#include "unstarve/ops/gpu/batch_runner.h"
#include "unstarve/ops/gpu/output.h"
#include "unstarve/ops/operation.h"
#include "unstarve/pipeline/device_decoder.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// The number of the first operation for the device; that of all operations where only normalising is left. Throws where
// no operation gives all samples one size, for schedules, batch operations and padding, and where an epoch is another
// thing than every sample once: a sample's draws are then not its epoch's.
[[nodiscard]] std::size_t first_on_device(const PipelineSpec& spec);

class DeviceOperations {
 public:
  // `in`: of the batches that the host sends. The output is the spec's but for its type. `device` must outlive it.
  // With a decoder Error(kArgument) for operations before first_on_device() that a device cannot do either.
  DeviceOperations(const PipelineSpec& spec, Size in, gpu::OutputType type, Device& device,
                   std::unique_ptr<DeviceDecoder> decoder = {});

  [[nodiscard]] Size output_size() const { return output_.size; }
  // A line for each operation of the device, as a plan's explain() has them for the host.
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
  [[nodiscard]] SourceImage place(std::size_t sample) const;

  std::uint64_t seed_;
  Size in_;
  std::vector<std::string> names_;
  std::size_t first_;
  std::unique_ptr<DeviceDecoder> decoder_;  // null: the host decodes all
  std::vector<std::unique_ptr<Operation>> operations_;
  gpu::Output output_;
  std::unique_ptr<BatchRecorder> recorder_;
  BatchRunner runner_;
};

}  // namespace unstarve
