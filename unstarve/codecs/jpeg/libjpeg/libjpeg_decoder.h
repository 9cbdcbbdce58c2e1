#pragma once
// JPEG decoding by libjpeg-turbo: the headers of all files, the pixels of those that our own decoder does not decode,
// and the reference that our own decoder is bit-equal to.
//
// Pixels and rejected files: see jpeg_decoder.h, one folder up.
// Ownership: owns one decompressor and its memory; after the largest image it allocates nothing.
// Threads:   one at a time. Failure: Error(kInput), Error(kMemory); the decoder stays usable.

#include <cstdint>
#include <memory>
#include <span>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/codecs/jpeg/layout/baseline_image.h"
#include "unstarve/core/image.h"

namespace unstarve {

struct LibjpegSession;  // libjpeg's structs

class LibjpegDecoder {
 public:
  LibjpegDecoder();
  ~LibjpegDecoder();
  LibjpegDecoder(LibjpegDecoder&&) noexcept;
  LibjpegDecoder& operator=(LibjpegDecoder&&) noexcept;

  // Reads the header; its size is the stored one. `bytes` must stay valid until decode() has returned.
  ImageHeader open(std::span<const std::uint8_t> bytes);

  // The following need an open() whose image has not been decoded.

  // Fills `image` and returns true if our own decoder supports the file.
  [[nodiscard]] bool read_baseline(BaselineImage& image) const;
  // Throws Error(kInput) if the file is too short for the rows down to the end of `rect` (least_scan.h). To be called
  // before memory is allocated for the size that the header declares.
  void check_scan_length(int reduction, const Rect& rect);
  // Decodes `rect`, pixels of the stored image reduced by `reduction`, into `out`, which is resized. Once per open().
  void decode(int reduction, const Rect& rect, Image& out);

 private:
  std::unique_ptr<LibjpegSession> session_;
};

}  // namespace unstarve
