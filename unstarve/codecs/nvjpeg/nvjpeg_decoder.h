#pragma once
// Decodes batches of JPEG files to pixels in GPU memory by nvJPEG.
//
// Pixels:    nvJPEG's, which differ slightly from libjpeg-turbo's (another inverse transform and chroma upsampling), so
//            users must request device decoding. Upright files only: EXIF orientation is not applied.
// Ownership: owns nvJPEG's handles; borrows the library. Its memory grows to the largest batch.
// Threads:   one at a time. If the backend decodes Huffman codes on the host, the calling thread and `cpu_threads`
//            threads of nvJPEG do so. Uses the calling thread's current CUDA device.
// Failure:   the constructor throws Error(kMissing) if nvJPEG finds no device or no hardware decoder. A file that
//            nvJPEG rejects is an outcome, not an error: the host's decoder decodes it or reports the problem.
//            Error(kMemory), Error(kInternal) if nvJPEG itself fails.
// Tests: with replacements of nvJPEG's functions, and on an H100 (docs/benchmarks.md).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/codecs/nvjpeg/nvjpeg_batch.h"
#include "unstarve/codecs/nvjpeg/nvjpeg_handles.h"

namespace unstarve {

enum class NvjpegBackend {
  kHybrid,     // Huffman codes on the host, the rest on the device
  kGpuHybrid,  // both on the device, in batches of more than 50 baseline files
  kHardware,   // on the JPEG engines of some devices (A100, H100 and later)
};

// "hybrid", "gpu_hybrid", "hardware"
[[nodiscard]] const char* to_string(NvjpegBackend backend) noexcept;

// Why nvJPEG cannot decode a file, according to its header; empty if it can.
[[nodiscard]] std::string why_not_nvjpeg(const ImageHeader& header, NvjpegBackend backend = NvjpegBackend::kHybrid);

class NvjpegDecoder {
 public:
  NvjpegDecoder(const NvjpegLibrary& library, NvjpegBackend backend, int cpu_threads);

  // Queues all files on `cuda_stream` (a cudaStream_t). Returns for each file why nvJPEG rejected it, or an empty
  // string if its pixels will be available when the stream reaches this point. If one file makes the whole batch fail,
  // the files are decoded one by one. The result is valid until the next call.
  // With kHardware, earlier work of the stream must not use the destinations: the JPEG engines do not wait for it.
  [[nodiscard]] std::span<const std::string> decode(std::span<const NvjpegJob> jobs, void* cuda_stream);

 private:
  [[nodiscard]] std::string rejection(const NvjpegJob& job);
  void decode_one_by_one(std::span<const NvjpegJob> jobs, void* cuda_stream);

  const nvjpeg::Functions& f_;
  const NvjpegBackend backend_;
  const int cpu_threads_;
  NvjpegHandles handles_;
  int initialized_for_ = 0;  // files of a batch
  std::vector<std::string> rejections_;
  NvjpegBatch batch_;  // the accepted jobs
};

}  // namespace unstarve
