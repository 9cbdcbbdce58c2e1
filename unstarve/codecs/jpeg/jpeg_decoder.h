#pragma once
// JPEG bytes to RGB rows as they are stored (before EXIF orientation): baseline files by our own decoder, everything
// else by libjpeg-turbo's scanline interface.
//
//   header by libjpeg ──▶ a baseline file? ──yes──▶ BaselineDecoder ──ok──▶ pixels
//                                   no └─────▶ libjpeg-turbo ◀──damaged?──┘
//
// Which of the two it was shows in nothing but time. What our own decoder takes for damaged goes to libjpeg-turbo too,
// which then tells what is wrong, or decodes it after all.
//
// Pixels are those of libjpeg-turbo's accurate integer IDCT with smooth ("fancy") chroma upsampling, which is what
// Pillow and torchvision show too. CMYK and YCCK become RGB by round(C * K / 255) on the inverted values that Adobe
// writes and that Pillow and torchvision assume whether the file has Adobe's marker or not.
//
// A part of an image costs less than the whole: blocks beside and above it are only entropy-decoded, and decoding stops
// behind its last row. Its pixels are exactly those of the whole image; decode_step() in jpeg_decoder.cpp and
// baseline_plan.h tell the margin that takes.
//
// What is refused: everything libjpeg calls an error, and those of its warnings that mean made-up pixels:
//   premature end of the file or of a data segment, a bad Huffman or arithmetic code, a restart marker out of order, an
//   inconsistent progression. Also two-component files and progressive files of more than 500 scans.
// What is accepted: bytes between segments, an unknown JFIF version or Adobe transform, odd scan parameters in
//   sequential files: data sets hold such files and their pixels are whole. A progressive file whose last refinements
//   are missing but which ends properly is smoothed as libjpeg does.
// Only what is read can be refused: a part of a file that is damaged below that part decodes well. Whatever reaches
// down to the last row is read up to the end-of-image marker.
//
// Ownership: keeps one decompressor and its memory; after the largest image it allocates nothing.
// Threads:   one at a time. Failure: Error(kInput), Error(kMemory); it can be used again afterwards.

#include <cstdint>
#include <memory>
#include <span>

#include "unstarve/codecs/decoder.h"

namespace unstarve {

struct JpegSession;  // libjpeg's structs

class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(JpegDecoder&&) noexcept;
  JpegDecoder& operator=(JpegDecoder&&) noexcept;

  // The header's size is the stored one; its orientation tells how to turn it. `bytes` must stay until decode() has
  // returned.
  ImageHeader open(std::span<const std::uint8_t> bytes);

  // `rect`: pixels of the stored image reduced by `reduction` (1, 2, 4, 8), not empty, inside of it. Once per open().
  // `index`: of this file (scan_index.h), or empty; `make_index`: whether to make one, which reads the whole scan.
  void decode(int reduction, Rect rect, Image& out, std::span<const std::uint8_t> index = {}, bool make_index = false);
  // The same, where our own decoder takes the file (true), to `rows`; else, with what those had begun void, to `out`.
  [[nodiscard]] bool decode(int reduction, Rect rect, RowSink& rows, Image& out,
                            std::span<const std::uint8_t> index = {}, bool make_index = false);
  // Of the last decode(): what became of its index, and the one it made; empty where none was asked for or the file is
  // not one that can have one (not baseline, damaged).
  [[nodiscard]] IndexUse index_use() const noexcept;
  [[nodiscard]] std::span<const std::uint8_t> made_index() const noexcept;

  // For comparisons: whether baseline files go to our own decoder (they do unless told otherwise), and whether the
  // last image did.
  void use_own_decoder(bool use) noexcept;
  [[nodiscard]] bool used_own_decoder() const noexcept;
  // For tests and fuzzing, before the first open() (ScanReader::use_pairs()).
  void use_pairs(bool use) noexcept;
  // MCUs that our own decoder read of the last image it decoded.
  [[nodiscard]] std::uint64_t mcus_read() const noexcept;

 private:
  std::unique_ptr<JpegSession> session_;
};

}  // namespace unstarve
