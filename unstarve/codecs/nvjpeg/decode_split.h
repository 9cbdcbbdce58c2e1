#pragma once
// Which files of a batch a device decodes and which the host, so that both are done at about the same time.
//
// Threads: pure functions: the same files and rates give the same split. Pixels of the two decoders differ a little
// (nvjpeg_decoder.h), so batches are reproducible only where the rates are fixed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace unstarve {

// Seconds that decoding takes, as measured: of the host with all its threads, of the device.
struct DecodeRate {
  double s_per_byte = 0;   // of the file: Huffman codes
  double s_per_pixel = 0;  // that comes out
  double s_per_batch = 0;  // whatever is in it
};

struct DecodeFile {
  std::size_t bytes = 0;
  std::int64_t host_pixels = 0;    // that the host would decode: of a crop, where it decodes no more
  std::int64_t device_pixels = 0;  // of the whole image
  bool device_can = false;         // see why_not_nvjpeg()
};

struct DecodeSplit {
  std::vector<std::size_t> on_device;  // which files, ascending
  double host_s = 0, device_s = 0;     // expected for the batch
  double host_alone_s = 0;             // if the host decoded all
};

// Those that the device is best at, compared with the host, as many as make the later of the two the earliest. At most
// the largest single file's time away from the best split there is. Throws Error(kArgument) for a rate that is negative
// or no number.
[[nodiscard]] DecodeSplit split_decode(std::span<const DecodeFile> files, const DecodeRate& host,
                                       const DecodeRate& device);

// One line: "61 of 256 files on the device (14.2 of 29.8 MB): host 11.3 ms, device 11.1 ms; the host alone 21.0 ms".
[[nodiscard]] std::string explain(const DecodeSplit& split, std::span<const DecodeFile> files);

}  // namespace unstarve
