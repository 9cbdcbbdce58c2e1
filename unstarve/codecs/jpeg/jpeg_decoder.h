#pragma once
// JPEG bytes to RGB rows as stored (before EXIF orientation): baseline files by our own decoder, all others by
// libjpeg-turbo.
//
//   header by libjpeg ──▶ baseline file? ──yes──▶ BaselineDecoder ──ok──▶ pixels
//                                  no └─────▶ libjpeg-turbo ◀──damaged?──┘
//
// The two decoders differ only in speed. Files that our own decoder finds damaged go to libjpeg-turbo, which reports
// the damage or decodes the file.
//
// Pixels are those of libjpeg-turbo's accurate integer IDCT with smooth ("fancy") chroma upsampling, as in Pillow and
// torchvision. CMYK and YCCK become RGB by round(C * K / 255) on the inverted values that Adobe writes. Pillow and
// torchvision assume inverted values too, with or without Adobe's marker.
//
// A part of an image costs less than the whole: blocks outside of it are only entropy-decoded, and decoding stops after
// its last row. Its pixels equal those of the whole image; layout/baseline_plan.h and crop_columns() in
// libjpeg/libjpeg_decoder.cpp explain the margin that this requires.
//
// Rejected: everything that libjpeg reports as an error, and warnings that mean invented pixels: premature end of the
//   file or of a data segment, a bad Huffman or arithmetic code, a restart marker out of order, an inconsistent
//   progression. Also two-component files, and progressive files of more than 500 scans.
// Accepted: bytes between segments, an unknown JFIF version or Adobe transform, odd scan parameters in sequential
//   files: datasets contain such files, and their pixels are complete. A progressive file that lacks its last
//   refinements but ends properly is smoothed as libjpeg does.
// Only bytes that are read can be rejected: damage below the requested part is not detected. A part that includes the
// last row is read up to the end-of-image marker.
//
// Ownership: owns one decompressor and its memory; after the largest image it allocates nothing.
// Threads:   one at a time. Failure: Error(kInput), Error(kMemory); the decoder stays usable.

#include <cstdint>
#include <memory>
#include <span>

#include "unstarve/codecs/common/decode_request.h"
#include "unstarve/codecs/common/image_header.h"
#include "unstarve/codecs/common/row_sink.h"
#include "unstarve/core/image.h"

namespace unstarve {

struct JpegRequest {
  int reduction = 1;                      // 1, 2, 4 or 8
  Rect rect;                              // pixels of the reduced stored image, not empty, inside of it
  std::span<const std::uint8_t> index{};  // of this file (index/scan_index.h), or empty
  bool make_index = false;                // build an index, which reads the whole scan
};

class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(JpegDecoder&&) noexcept;
  JpegDecoder& operator=(JpegDecoder&&) noexcept;

  // The header's size is the stored one. `bytes` must stay valid until decode() has returned.
  ImageHeader open(std::span<const std::uint8_t> bytes);

  // Once per open(). `out` is resized.
  void decode(const JpegRequest& request, Image& out);
  // Like decode(), but files decoded by our own decoder go to `rows` (returns true). Otherwise the image goes to `out`,
  // and rows that `rows` received are void.
  [[nodiscard]] bool decode(const JpegRequest& request, RowSink& rows, Image& out);
  // About the last decode(): the use of its index, and the index built; empty if none was requested or none can be
  // built (not baseline, damaged).
  [[nodiscard]] IndexUse index_use() const noexcept;
  [[nodiscard]] std::span<const std::uint8_t> made_index() const noexcept;

  // For comparisons: whether baseline files go to our own decoder (the default), and whether the last image did.
  void use_own_decoder(bool use) noexcept;
  [[nodiscard]] bool used_own_decoder() const noexcept;
  // For tests and fuzzing, before the first open(): see ScanReader::use_pairs().
  void use_pairs(bool use) noexcept;
  // The number of MCUs that our own decoder read of the last image it decoded.
  [[nodiscard]] std::uint64_t mcus_read() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace unstarve
