#pragma once
// Decodes the files among a batch's samples to pixels in device memory: with nvJPEG, or on the host if nvJPEG rejects a
// file.
//
//   source memory:  sample ── sample ── sample ── ... ┆ image ── image ── ...
//                   pixels    a file    pixels        ┆ of the second sample, ...
//
// The decoded images are stored after the batch that the loader sent: whole, interleaved, in the order of the samples.
//
// Ownership: owns the library and the decoder; shares the balance, and reports decoding times to it; `device` must
//            outlive it.
// Threads:   one at a time.
// Failure:   the constructor throws Error(kMissing) if nvJPEG or its device is missing, and Error(kArgument) if library
//            and device use different memory. decode() throws Error(kInput) with the file's location and the host
//            decoder's reason if neither decoder can decode a file.
// Tests: with a library that decodes in the host's memory, and on an H100 (docs/benchmarks.md).

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/nvjpeg/nvjpeg_decoder.h"
#include "unstarve/codecs/nvjpeg/nvjpeg_library.h"
#include "unstarve/device/device.h"
#include "unstarve/ops/gpu/program_recorder.h"
#include "unstarve/pipeline/device/decode_balance.h"
#include "unstarve/pipeline/plan/sample_extent.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// A batch on its way through a device: what the host sends. Borrows all of its memory.
struct DeviceBatch {
  std::span<const std::uint64_t> ids;
  // Device memory: uint8, ids.size() x height x width x 3, followed by room for decoded_bytes(files).
  std::uint8_t* source;
  // One entry per sample if a decoder decodes some of them on the device, otherwise empty.
  std::span<const FileExtent> files{};
  const std::uint8_t* host = nullptr;  // with files: the batch in host memory, read until the call returns
};

// Bytes of the decoded images of `files`.
[[nodiscard]] std::size_t decoded_bytes(std::span<const FileExtent> files);

// Opens an nvJPEG that the driver of `device` supports. `wheels` and failure as NvjpegLibrary::open_any().
[[nodiscard]] NvjpegLibrary open_nvjpeg(const Device& device, const std::vector<std::string>& wheels = {});

class DeviceDecoder {
 public:
  struct Options {
    NvjpegLibrary library;
    int cpu_threads = 1;                     // used by nvJPEG if its backend decodes Huffman codes on the host
    std::shared_ptr<DecodeBalance> balance;  // chose the files in the loader
    std::shared_ptr<const Dataset> dataset;  // for the locations of files
  };
  DeviceDecoder(Options options, Device& device);

  // Queues decoding of the files of a batch; with the backend kHardware, waits for the work queued before. Returns the
  // decoded image of each sample that is a file; the entries of other samples are meaningless. Valid until the next
  // call. `sample_bytes`: size of a sample in the batch.
  [[nodiscard]] std::span<const SourceImage> decode(const DeviceBatch& batch, std::size_t sample_bytes, Stream& stream);

  [[nodiscard]] std::string location(std::uint64_t id) const { return options_.dataset->location(id); }
  [[nodiscard]] std::string explain() const;

 private:
  void decode_on_host(const NvjpegJob& job, std::uint64_t id, const std::string& rejection, Stream& stream);
  void take_times();

  Options options_;
  Device& device_;
  std::unique_ptr<NvjpegDecoder> nvjpeg_;
  Decoder host_;
  Image decoded_;
  std::vector<SourceImage> images_;
  std::vector<NvjpegJob> jobs_;
  std::vector<std::size_t> samples_;  // of the jobs
  struct Queued {
    std::unique_ptr<Event> begun, done;
    std::vector<FileExtent> files;
  };
  std::deque<Queued> queued_;  // batches whose decoding times are not known yet
};

}  // namespace unstarve
