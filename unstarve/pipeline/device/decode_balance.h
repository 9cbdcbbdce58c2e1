#pragma once
// Chooses which files of a run the device decodes; the host decodes the others.
//
//   by share:  a random number keyed by (seed, epoch, sample) selects the files for the device. The selection is the
//              same for any number of threads and ranks, and after a resume.
//   by rates:  the files are split by the measured decoding times of host and device (rate_split.h). The selection
//              depends on timing, and so do the pixels, because the two decoders differ slightly.
//
// The device gets only files that nvJPEG supports, that are no larger than a sample of the batch, and whose image has
// at most kMostDecoded times the bytes of a sample. This bounds the sizes of batches and of decoded images.
//
// Threads: any. Cost: a short critical section per file.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "unstarve/codecs/nvjpeg/nvjpeg_decoder.h"
#include "unstarve/pipeline/device/rate_split.h"
#include "unstarve/pipeline/plan/sample_extent.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// The maximum size of an image that the device decodes, relative to the bytes of a sample in the batch.
inline constexpr std::size_t kMostDecoded = 8;

class DecodeBalance {
 public:
  // `share`: share of the supported files, 0 to 1; none: by rates. Throws Error(kArgument) for other values.
  DecodeBalance(NvjpegBackend backend, std::uint64_t seed, std::optional<double> share);

  [[nodiscard]] NvjpegBackend backend() const { return backend_; }
  // Number of host threads, all of which decode.
  void set_host_threads(int threads);
  // A file that the host or the device could decode.
  struct File {
    const ImageHeader& header;
    std::size_t bytes;
    std::int64_t host_pixels;  // that the host would decode, for example of a crop
    std::size_t sample_bytes;  // size of a sample in the batch
  };
  // Whether the device decodes sample `id`.
  [[nodiscard]] bool to_device(std::uint32_t epoch, std::uint64_t id, const File& offered);
  // Record decoding times: of one file in one host thread, and of the files of a batch on the device.
  void host_took(std::size_t bytes, std::int64_t pixels, double seconds);
  void device_took(std::span<const FileExtent> files, double seconds);
  // Counts a file that nvJPEG rejected and the host decoded instead.
  void count_rejected(const std::string& file, const std::string& reason);

  // Lines for a plan's explain(): how files are chosen, and where the files so far were decoded.
  [[nodiscard]] std::string explain() const;

 private:
  const NvjpegBackend backend_;
  const std::uint64_t seed_;
  const std::optional<double> share_;

  mutable std::mutex mutex_;
  RateSplit rates_;
  std::uint64_t seen_ = 0, given_ = 0, rejected_ = 0;
  std::map<std::string, std::uint64_t> left_out_;  // by reason
  std::string last_rejected_;
};

// The balance of `spec.device`; null if the host decodes all files.
[[nodiscard]] std::shared_ptr<DecodeBalance> make_decode_balance(const PipelineSpec& spec);

}  // namespace unstarve
