#pragma once
// Splits a batch's files between device and host decoding so that both finish at about the same time.
//
// Threads: pure functions; equal files and rates give equal splits. The two decoders' pixels differ slightly
//          (nvjpeg_decoder.h), so batches are reproducible only with fixed rates.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace unstarve {

// Measured decoding time in seconds: of the host with all its threads, or of the device.
struct DecodeRate {
  double s_per_byte = 0;   // per byte of the file (Huffman decoding)
  double s_per_pixel = 0;  // per output pixel
  double s_per_batch = 0;  // fixed cost
};

struct DecodeFile {
  std::size_t bytes = 0;
  std::int64_t host_pixels = 0;    // those that the host would decode, for example of a crop
  std::int64_t device_pixels = 0;  // of the whole image
  bool device_can = false;         // see why_not_nvjpeg()
};

struct DecodeSplit {
  std::vector<std::size_t> on_device;  // file indices, ascending
  double host_s = 0, device_s = 0;     // expected for the batch
  double host_alone_s = 0;             // if the host decoded all files
};

// Gives the device the files at which it is fastest relative to the host, as many as minimise the time until both have
// finished. The result is within the largest single file's time of the optimum. Throws Error(kArgument) for a rate that
// is negative or not finite.
[[nodiscard]] DecodeSplit split_decode(std::span<const DecodeFile> files, const DecodeRate& host,
                                       const DecodeRate& device);

// One line: "61 of 256 files on the device (14.2 of 29.8 MB): host 11.3 ms, device 11.1 ms; the host alone 21.0 ms".
[[nodiscard]] std::string explain(const DecodeSplit& split, std::span<const DecodeFile> files);

}  // namespace unstarve
