#pragma once
// PNG bytes to RGB rows by libpng: all colour types, bit depths and interlacing.
//
// Palettes and grey are expanded; 16-bit samples keep their high byte. Alpha (a channel or a tRNS chunk) is dropped,
// not composited: the stored colour is used, as with Pillow's convert("RGB"). Gamma, colour profiles and an eXIf
// chunk's orientation are not applied.
//
// For a part of an image, all rows down to the part's last one are decoded (the whole image if interlaced).
// Ownership: owns libpng's memory; after the largest image it allocates nothing.
// Threads:   one at a time. Failure: Error(kInput), Error(kMemory). Checksums of the bytes read are verified; bytes
//            below the requested part are not read. libpng's warnings (about ancillary chunks) are ignored.

#include <cstdint>
#include <memory>
#include <span>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/core/image.h"

namespace unstarve {

struct PngSession;

class PngDecoder {
 public:
  PngDecoder();
  ~PngDecoder();
  PngDecoder(PngDecoder&&) noexcept;
  PngDecoder& operator=(PngDecoder&&) noexcept;

  // Reads IHDR. `bytes` must stay valid until decode() has returned.
  ImageHeader open(std::span<const std::uint8_t> bytes);
  // `rect`: not empty, inside the image. Once per open().
  void decode(Rect rect, Image& out);

 private:
  std::unique_ptr<PngSession> session_;
};

}  // namespace unstarve
