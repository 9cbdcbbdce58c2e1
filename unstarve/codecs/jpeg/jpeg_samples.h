#pragma once
// Test images, and JPEG files of every shape that decoders meet: samplings, colour spaces, progressive, restarts, EXIF.
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
  bool optimised = false;  // Huffman tables of its own, whose codes are as short as they can be
};

// 4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1, 4:1:0, grey, RGB, CMYK, YCCK, progressive, with restarts, arithmetic-coded.
[[nodiscard]] std::vector<JpegSample> all_jpeg_samples();
[[nodiscard]] std::vector<std::uint8_t> make_jpeg(const Image& image, const JpegSample& sample);

// The same file with an EXIF segment that holds this orientation (any number) behind its start.
[[nodiscard]] std::vector<std::uint8_t> with_orientation(std::vector<std::uint8_t> jpeg, int orientation,
                                                         bool big_endian);
// Where each scan's tables and header begin (as offsets of the marker behind the scan before), one per scan.
[[nodiscard]] std::vector<std::size_t> scan_starts(const std::vector<std::uint8_t>& jpeg);

// The pixels of `image` in `rect`.
[[nodiscard]] Image crop_of(const Image& image, Rect rect);
[[nodiscard]] bool same_pixels(const Image& a, const Image& b);

}  // namespace unstarve
