#pragma once
// For tests: images, and JPEG files of every kind: samplings, colour spaces, progressive, restarts, EXIF, and features
// that the standard allows but few encoders use: one scan per component, tables of any number, 16-bit quantisers.
// The implementation is compiled only into the test program. Threads: pure functions.

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/core/image.h"

namespace unstarve {

// Gradients, edges and noise, different for each seed. Neighbouring pixels differ, so that a shift by one is detected.
[[nodiscard]] Image sample_image(Size size, std::uint32_t seed);

enum class SampleColour { kYcc, kRgb, kGrey, kCmyk, kYcck };

struct JpegSample {
  std::string name = "4:2:0";
  int horizontal = 2;  // sampling factors of the first (and fourth) component; the others have 1 x 1
  int vertical = 2;
  SampleColour colour = SampleColour::kYcc;
  bool progressive = false;
  bool arithmetic = false;
  int restart_interval = 0;  // MCUs
  int quality = 85;
  bool optimised = false;   // Huffman tables optimised for the image
  bool interleaved = true;  // false: one scan per component
  // Number of luma's Huffman and quantisation tables; chroma's is the next. From 2 on, the file has SOF1, not SOF0.
  int first_table = 0;
  bool wide_quantisers = false;  // not clamped to 255, and 16-bit at every quality; SOF1
};

// 4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1, 4:1:0, grey, RGB, CMYK, YCCK, progressive, with restarts, arithmetic-coded, not
// interleaved, with tables 2 and 3, with 16-bit quantisers.
[[nodiscard]] std::vector<JpegSample> all_jpeg_samples();
[[nodiscard]] std::vector<std::uint8_t> make_jpeg(const Image& image, const JpegSample& sample);

// The same file with an EXIF segment with this orientation (any number) after its start.
[[nodiscard]] std::vector<std::uint8_t> with_orientation(std::vector<std::uint8_t> jpeg, int orientation,
                                                         bool big_endian);
// The same file with another SOF marker: 0xC1 for extended sequential coding.
[[nodiscard]] std::vector<std::uint8_t> with_frame(std::vector<std::uint8_t> jpeg, std::uint8_t marker);
// The same file with its 8-bit quantisers replaced by 16-bit ones: `factor` times their value, modulo 65,536.
[[nodiscard]] std::vector<std::uint8_t> with_quantisers_times(const std::vector<std::uint8_t>& jpeg, unsigned factor);
// The offset of each scan's tables and header: that of the first marker after the previous scan.
[[nodiscard]] std::vector<std::size_t> scan_starts(const std::vector<std::uint8_t>& jpeg);

// The pixels of `image` in `rect`.
[[nodiscard]] Image crop_of(const Image& image, Rect rect);
[[nodiscard]] bool same_pixels(const Image& a, const Image& b);

}  // namespace unstarve
