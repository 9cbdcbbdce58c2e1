#pragma once
// Splits the files of a run between device and host by the measured decoding times of both.
//
// The recent files are split so that both decoders finish at about the same time (decode_split.h). A file goes to the
// device if the device's advantage is at least that of the last file of the split. Until both rates are measured, a
// fixed share of the files goes there.
//
// Threads: one at a time. Cost: constant per file; a split of the recent files at every 128th.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/codecs/nvjpeg/decode_split.h"
#include "unstarve/pipeline/device/decode_rate_fit.h"

namespace unstarve {

class RateSplit {
 public:
  RateSplit();

  // Number of host threads, all of which decode.
  void set_host_threads(int threads);
  // Adds a file of the run to the recent files, also one that the device does not support.
  void add(const DecodeFile& file);
  // Whether the device decodes a file that it supports. `drawn` and `tied`: uniform random numbers.
  [[nodiscard]] bool to_device(const DecodeFile& file, double drawn, double tied) const;
  // Record decoding times: of one file in one host thread, and of a batch's files on the device.
  void host_took(double bytes, double pixels, double seconds) { host_.add(bytes, pixels, seconds); }
  void device_took(double bytes, double pixels, double seconds) { device_.add(bytes, pixels, seconds); }

  [[nodiscard]] std::string explain() const;

 private:
  void split();

  int host_threads_ = 1;
  DecodeRateFit host_, device_;
  std::vector<DecodeFile> recent_;  // a ring
  std::size_t next_recent_ = 0, since_split_ = 0;
  // The file with the smallest device advantage that the last split gave to the device.
  struct Border {
    DecodeRate host, device;          // rates of the split
    double host_s = 0, device_s = 0;  // decoding time of the file
    double tied_share = 0;            // share of the files with the same advantage that go to the device
    bool any = false;                 // whether any file goes to the device
  };
  std::optional<Border> border_;
  std::string last_split_;
};

}  // namespace unstarve
