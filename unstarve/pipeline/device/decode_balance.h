#pragma once
// Which files of a run a device decodes, and which the host.
//
//   by a share:  a file goes to the device where a number drawn of (seed, epoch, sample) says so: the same ones for any
//                number of threads and ranks, before and after a resume.
//   by rates:    where the device is so much better at it than the host as the split of the files seen lately says
//                (decode_split.h), by what decoding took either of them. Which files these are depends on time, and
//                with them the pixels, by what the two decoders differ.
//
// Either way only a file that nvJPEG may take, that lies in its sample's place in a batch, and whose image is at most
// kMostDecoded times that place: so that neither the batches nor the images decoded behind them outgrow what is known
// before.
//
// Threads: any. Cost: a short critical section per file.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/codecs/nvjpeg/decode_split.h"
#include "unstarve/codecs/nvjpeg/nvjpeg_decoder.h"
#include "unstarve/pipeline/device/decode_rate_fit.h"
#include "unstarve/pipeline/plan/sample_extent.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// The pixels of a file for the device have at most so many times the bytes of a sample's place.
inline constexpr std::size_t kMostDecoded = 8;

class DecodeBalance {
 public:
  // `share`: 0 to 1 of the files that can go to the device; none: by rates. Throws Error(kArgument) for another one.
  DecodeBalance(NvjpegBackend backend, std::uint64_t seed, std::optional<double> share);

  [[nodiscard]] NvjpegBackend backend() const { return backend_; }
  // Of the host, all of which decode.
  void set_host_threads(int threads);
  // Whether the device gets sample `id`, whose image would come from a file of `header`; `host_pixels`: what the host
  // would decode of it; `sample_bytes`: of a sample in a batch.
  [[nodiscard]] bool to_device(std::uint32_t epoch, std::uint64_t id, const ImageHeader& header, std::size_t bytes,
                               std::int64_t host_pixels, std::size_t sample_bytes);
  // What decoding took: one thread of the host for a file, the device for the files of a batch.
  void host_took(std::size_t bytes, std::int64_t pixels, double seconds);
  void device_took(std::span<const FileExtent> files, double seconds);
  // nvJPEG refused a file, and the host decoded it after all.
  void count_refused(const std::string& file, const std::string& reason);

  // Lines as a plan's explain() has them: how files are chosen, and what has become of those that were seen.
  [[nodiscard]] std::string explain() const;

 private:
  [[nodiscard]] bool by_rates(const DecodeFile& file, double drawn, double tied) const;
  void note(const DecodeFile& file);
  void split();

  const NvjpegBackend backend_;
  const std::uint64_t seed_;
  const std::optional<double> share_;

  mutable std::mutex mutex_;
  int host_threads_ = 1;
  DecodeRateFit host_, device_;
  std::vector<DecodeFile> recent_;  // a ring
  std::size_t next_recent_ = 0, since_split_ = 0;
  // The least good file for the device of the last split: its seconds on either, by the rates of then.
  struct Border {
    DecodeRate host, device;
    double host_s = 0, device_s = 0;
    double tied_share = 0;  // of the files that are exactly as good: how many went
    bool any = false;       // went at all
  };
  std::optional<Border> border_;
  std::string last_split_;
  std::uint64_t seen_ = 0, given_ = 0, refused_ = 0;
  std::map<std::string, std::uint64_t> left_out_;  // by reason
  std::string last_refused_;
};

// What the spec's device says: null where the host decodes all.
[[nodiscard]] std::shared_ptr<DecodeBalance> make_decode_balance(const PipelineSpec& spec);

}  // namespace unstarve
