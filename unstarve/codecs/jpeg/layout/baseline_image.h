#pragma once
// A baseline JPEG file as plain data: the facts that our own decoder needs.
//
// It supports 8-bit sequential Huffman coding (SOF0, SOF1) in one scan; greyscale, or YCbCr with one sample of each
// chroma component per pixel (4:4:4), or per two pixels in x (4:2:2), y (4:4:0) or both (4:2:0). That covers nearly all
// photographs on the web. libjpeg-turbo decodes all others: progressive, arithmetic, 12-bit, CMYK, RGB, 4:1:1, several
// scans, and parameters that only forged files have.
//
// Threads: plain data. The entropy-coded bytes are borrowed from the file.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/core/image.h"

namespace unstarve {

// A Huffman table as the file defines it (ITU-T T.81, annex C).
struct HuffmanCodes {
  std::array<std::uint8_t, 17> counts{};    // [n]: the number of codes with n bits, 1..16; [0] is 0
  std::array<std::uint8_t, 256> symbols{};  // in the order of their codes
  friend bool operator==(const HuffmanCodes&, const HuffmanCodes&) = default;
};

struct BaselineComponent {
  int dc_table = 0;  // index into BaselineImage::dc
  int ac_table = 0;
  std::array<std::int16_t, 64> quantisation{};  // in natural order; the low 16 bits, as in libjpeg-turbo
};

struct BaselineLayout {
  Size size;           // as stored
  int components = 3;  // 1 or 3
  // Sampling factors of the first component; the others have 1 x 1. Greyscale: always 1 x 1, because the blocks of a
  // scan with one component are stored row by row.
  int horizontal = 1;
  int vertical = 1;
};

struct BaselineImage : BaselineLayout {
  int restart_interval = 0;  // MCUs; 0: none
  std::array<BaselineComponent, 3> component{};
  std::array<HuffmanCodes, 4> dc{};
  std::array<HuffmanCodes, 4> ac{};
  std::span<const std::uint8_t> scan;  // from the first entropy-coded byte to the end of the file
};

}  // namespace unstarve
