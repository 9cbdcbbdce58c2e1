#pragma once
// Batches of JPEG files to pixels in a GPU's memory, by nvJPEG.
//
// Pixels:    nvJPEG's, which are not libjpeg-turbo's to the bit (another inverse transform and chroma upsampling); so
//            decoding there is something that users ask for. Upright files only: EXIF orientation is not applied.
// Ownership: owns nvJPEG's handle and state; borrows the library. Memory inside grows to the largest batch.
// Threads:   one at a time. The calling thread and `cpu_threads` of nvJPEG's decode Huffman codes where the backend
//            leaves that to the host. The CUDA device is the calling thread's current one.
// Failure:   the constructor throws Error(kMissing) where nvJPEG finds no device or no hardware decoder. A file that
//            nvJPEG does not take is an outcome, not an error: the host's decoder takes it, or says what is wrong.
//            Error(kMemory), Error(kInternal) when nvJPEG itself fails.
// It has been compiled and run against functions that stand in for nvJPEG's; no device has run it yet.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/codecs/nvjpeg/nvjpeg_library.h"
#include "unstarve/core/image.h"

namespace unstarve {

enum class NvjpegBackend {
  kHybrid,     // Huffman codes on the host, the rest on the device
  kGpuHybrid,  // both on the device, in batches of more than 50 baseline files
  kHardware,   // by the JPEG engines that some devices have (A100, H100 and later)
};

// "hybrid", "gpu_hybrid", "hardware"
[[nodiscard]] const char* to_string(NvjpegBackend backend) noexcept;

// Why a file cannot go to nvJPEG, told from its header; empty: it may.
[[nodiscard]] std::string why_not_nvjpeg(const ImageHeader& header, NvjpegBackend backend = NvjpegBackend::kHybrid);

struct NvjpegJob {
  std::span<const std::uint8_t> file;  // stays until decode() has returned
  Size size;                           // as its header says
  std::uint8_t* to = nullptr;          // device memory: interleaved RGB rows without gaps
};

class NvjpegDecoder {
 public:
  NvjpegDecoder(const NvjpegLibrary& library, NvjpegBackend backend, int cpu_threads);
  ~NvjpegDecoder();
  NvjpegDecoder(const NvjpegDecoder&) = delete;
  NvjpegDecoder& operator=(const NvjpegDecoder&) = delete;

  // Queues all files on `cuda_stream` (a cudaStream_t). For each file, why nvJPEG refused it; empty: its pixels will be
  // there when the stream has come so far. Where one file makes a whole batch fail, the files are decoded one by one.
  // The answer is valid until the next call.
  [[nodiscard]] std::span<const std::string> decode(std::span<const NvjpegJob> jobs, void* cuda_stream);

  // Batches so far that were decoded one by one because of a file among them.
  [[nodiscard]] std::int64_t batches_taken_apart() const { return taken_apart_; }

 private:
  [[nodiscard]] std::string refusal(const NvjpegJob& job);
  void decode_one_by_one(std::span<const NvjpegJob> jobs, void* cuda_stream);
  void check(nvjpeg::Status status, const char* what) const;

  const nvjpeg::Functions& f_;
  int backend_, cpu_threads_;  // nvjpegBackend_t
  void* handle_ = nullptr;
  void* state_ = nullptr;
  void* header_ = nullptr;  // nvjpegJpegStream_t
  int initialized_for_ = 0;
  std::int64_t taken_apart_ = 0;
  std::vector<std::string> refusals_;
  std::vector<std::size_t> taken_;
  std::vector<const unsigned char*> data_;
  std::vector<std::size_t> lengths_;
  std::vector<nvjpeg::Image> images_;
};

}  // namespace unstarve
