#pragma once
// Test images, and JPEG files of every shape that decoders meet: samplings, colour spaces, progressive, restarts, EXIF,
// and what the standard allows and few encoders write: a scan to a component, tables of any number, 16-bit quantisers.
// Only tests use this; its implementation is compiled into the test program alone. Threads: pure functions.

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/core/image.h"

namespace unstarve {

// Gradients, edges and noise, different for each seed: neighbouring pixels differ, so a shift by one shows.
[[nodiscard]] Image sample_image(Size size, std::uint32_t seed);

enum class SampleColour { kYcc, kRgb, kGrey, kCmyk, kYcck };

struct JpegSample {
  std::string name = "4:2:0";
  int horizontal = 2;  // sampling factors of the first component (of the fourth too); the others have 1 x 1
  int vertical = 2;
  SampleColour colour = SampleColour::kYcc;
  bool progressive = false;
  bool arithmetic = false;
  int restart_interval = 0;  // MCUs
  int quality = 85;
  bool optimised = false;   // Huffman tables of its own, whose codes are as short as they can be
  bool interleaved = true;  // or a scan to each component, one after the other
  // Numbers of the luma's tables, Huffman and quantisation; chroma's are the next. From 2 on SOF1 is written, not SOF0.
  int first_table = 0;
  bool wide_quantisers = false;  // not clamped to 255, and in 16 bits at every quality; SOF1
};

// 4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1, 4:1:0, grey, RGB, CMYK, YCCK, progressive, with restarts, arithmetic-coded, not
// interleaved, with tables 2 and 3, with 16-bit quantisers.
[[nodiscard]] std::vector<JpegSample> all_jpeg_samples();
[[nodiscard]] std::vector<std::uint8_t> make_jpeg(const Image& image, const JpegSample& sample);

// The same file with an EXIF segment that holds this orientation (any number) behind its start.
[[nodiscard]] std::vector<std::uint8_t> with_orientation(std::vector<std::uint8_t> jpeg, int orientation,
                                                         bool big_endian);
// The same file with this number in the place of its SOF marker's: 0xC1 for extended sequential coding.
[[nodiscard]] std::vector<std::uint8_t> with_frame(std::vector<std::uint8_t> jpeg, std::uint8_t marker);
// The same file, whose quantisers were 8-bit, with 16-bit ones of `factor` times their value, modulo 65,536.
[[nodiscard]] std::vector<std::uint8_t> with_quantisers_times(const std::vector<std::uint8_t>& jpeg, unsigned factor);
// Where each scan's tables and header begin (as offsets of the marker behind the scan before), one per scan.
[[nodiscard]] std::vector<std::size_t> scan_starts(const std::vector<std::uint8_t>& jpeg);

// The pixels of `image` in `rect`.
[[nodiscard]] Image crop_of(const Image& image, Rect rect);
[[nodiscard]] bool same_pixels(const Image& a, const Image& b);

}  // namespace unstarve
