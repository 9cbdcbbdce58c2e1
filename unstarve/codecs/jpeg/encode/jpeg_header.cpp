#include "unstarve/codecs/jpeg/encode/jpeg_header.h"

#include <initializer_list>
#include <numeric>

#include "unstarve/codecs/jpeg/layout/zigzag.h"

namespace unstarve {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::uint8_t high(int value) { return static_cast<std::uint8_t>(value >> 8); }
std::uint8_t low(int value) { return static_cast<std::uint8_t>(value & 255); }

// `bytes`: size of the segment's contents.
void begin_segment(std::uint8_t marker, int bytes, Bytes& out) {
  out.insert(out.end(), {0xFF, marker, high(bytes + 2), low(bytes + 2)});
}

void append_segment(std::uint8_t marker, std::initializer_list<std::uint8_t> contents, Bytes& out) {
  begin_segment(marker, static_cast<int>(contents.size()), out);
  out.insert(out.end(), contents);
}

void append_quantisation(std::uint8_t number, const QuantisationTable& table, Bytes& out) {
  begin_segment(0xDB, 1 + 64, out);
  out.push_back(number);
  for (const std::uint8_t natural : kZigzag) out.push_back(table[natural]);
}

void append_codes(std::uint8_t class_and_number, const HuffmanCodes& codes, Bytes& out) {
  const int symbols = std::accumulate(codes.counts.begin(), codes.counts.end(), 0);
  begin_segment(0xC4, 1 + 16 + symbols, out);
  out.push_back(class_and_number);
  out.insert(out.end(), codes.counts.begin() + 1, codes.counts.end());
  out.insert(out.end(), codes.symbols.begin(), codes.symbols.begin() + symbols);
}

}  // namespace

void append_jpeg_header(const JpegFrame& frame, Bytes& out) {
  out.insert(out.end(), {0xFF, 0xD8});  // SOI
  // APP0: version 1.1, no unit, square pixels, no thumbnail.
  append_segment(0xE0, {'J', 'F', 'I', 'F', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0}, out);
  append_quantisation(0, frame.luminance, out);
  append_quantisation(1, frame.chrominance, out);
  const auto sampling = static_cast<std::uint8_t>(frame.horizontal << 4 | frame.vertical);
  const auto [width, height] = frame.size;
  // SOF0: 8 bits, three components, each with its number, sampling factors and quantisation table.
  append_segment(
      0xC0, {8, high(height), low(height), high(width), low(width), 3, 1, sampling, 0, 2, 0x11, 1, 3, 0x11, 1}, out);
  append_codes(0x00, kDcLuminanceCodes, out);
  append_codes(0x10, kAcLuminanceCodes, out);
  append_codes(0x01, kDcChrominanceCodes, out);
  append_codes(0x11, kAcChrominanceCodes, out);
  // SOS: three components, each with its tables; all coefficients in one scan.
  append_segment(0xDA, {3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0}, out);
}

}  // namespace unstarve
