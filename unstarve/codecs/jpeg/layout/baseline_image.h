#pragma once
// What the baseline decoder needs to know of a JPEG file, as plain data, and whether the file is one of its kind.
//
// Its kind: 8-bit sequential Huffman coding (SOF0, SOF1) in one scan; greyscale, or YCbCr whose two chroma components
// are stored once per pixel (4:4:4), or once per two in x (4:2:2), y (4:4:0) or both (4:2:0). That is nearly every
// photograph on the web. Everything else is libjpeg-turbo's: progressive, arithmetic, 12-bit, CMYK, RGB, 4:1:1, several
// scans, and values that only a made-up file would have.
//
// Threads: plain data and pure functions. The entropy-coded bytes are borrowed from the file.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/image.h"

struct jpeg_decompress_struct;

namespace unstarve {

// A Huffman table as the file defines it (ITU-T T.81, annex C).
struct HuffmanCodes {
  std::array<std::uint8_t, 17> counts{};    // [n]: how many codes have n bits, 1..16; [0] is 0
  std::array<std::uint8_t, 256> symbols{};  // in the order of their codes
  friend bool operator==(const HuffmanCodes&, const HuffmanCodes&) = default;
};

struct BaselineComponent {
  int dc_table = 0;  // which of BaselineImage::dc
  int ac_table = 0;
  std::array<std::int16_t, 64> quantisation{};  // in natural order; the low 16 bits, as libjpeg-turbo multiplies
};

struct BaselineLayout {
  Size size;           // as stored
  int components = 3;  // 1 or 3
  // Sampling factors of the first component; the others have 1 x 1. Greyscale: 1 x 1, whatever the file says, since
  // the blocks of a scan with one component follow each other row by row.
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

// After jpeg_read_header(), as the next one: whether the file is of the baseline decoder's kind, or why not.
[[nodiscard]] JpegKind jpeg_kind(const jpeg_decompress_struct& cinfo);

// Fills `image` and returns true when the file is of that kind and has the tables that it names.
// `bytes` is the file, on which cinfo's source stands behind the scan's header.
[[nodiscard]] bool read_baseline(const jpeg_decompress_struct& cinfo, std::span<const std::uint8_t> bytes,
                                 BaselineImage& image);

}  // namespace unstarve
