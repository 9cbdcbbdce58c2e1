#pragma once
// Decodes the files among a batch's samples to pixels in a device's memory: with nvJPEG, or on the host if it refuses.
//
//   source memory:  sample ── sample ── sample ── ... ┆ image ── image ── ...
//                   pixels    a file    pixels        ┆ of the second sample, ...
//
// The images follow the batch as the loader sent it, whole and interleaved, in the order of their samples.
//
// Ownership: owns the library and the decoder; shares the balance, and reports decoding times to it; `device` must
//            outlive it.
// Threads:   one at a time. Failure: the constructor throws Error(kMissing) without nvJPEG or a device of its own,
//            Error(kArgument) where the two are of different memory; decode() Error(kInput) with a file's location and
//            the host decoder's reason, where neither of the two can decode it.
// Not tested on a device, only with a library that decodes in the host's memory.

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
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// Bytes of the images that come of them.
[[nodiscard]] std::size_t decoded_bytes(std::span<const FileExtent> files);

// nvJPEG as `device`'s driver can run it; `wheels` and failure as NvjpegLibrary::open_any().
[[nodiscard]] NvjpegLibrary open_nvjpeg(const Device& device, const std::vector<std::string>& wheels = {});

class DeviceDecoder {
 public:
  struct Options {
    NvjpegLibrary library;
    int cpu_threads = 1;                     // of nvJPEG's, where it leaves Huffman codes to the host
    std::shared_ptr<DecodeBalance> balance;  // that the loader chose the files by
    std::shared_ptr<const Dataset> dataset;  // names files
  };
  DeviceDecoder(Options options, Device& device);

  // Queues a batch of places of `place` bytes. `host`: its memory on the host, until this has returned; `source`: the
  // device's copy, with room for decoded_bytes(files) behind. For each sample the image that was made of its file; of a
  // sample of pixels nothing that means something. Valid until the next call.
  [[nodiscard]] std::span<const SourceImage> decode(std::span<const std::uint64_t> ids,
                                                    std::span<const FileExtent> files, std::size_t place,
                                                    const std::uint8_t* host, std::uint8_t* source, Stream& stream);

  [[nodiscard]] std::string location(std::uint64_t id) const { return options_.dataset->location(id); }
  [[nodiscard]] std::string explain() const;

 private:
  void decode_on_host(const NvjpegJob& job, std::uint64_t id, const std::string& refusal, Stream& stream);
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
  std::deque<Queued> queued_;  // whose times are not known yet
};

}  // namespace unstarve
