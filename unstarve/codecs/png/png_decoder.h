#pragma once
// PNG bytes to RGB rows by libpng: all colour types, bit depths and interlacing.
//
// Palettes and grey are expanded, 16-bit samples keep their high byte. Alpha (a channel or a tRNS chunk) is dropped,
// not composited over a background: the colour that is stored shows, as with Pillow's convert("RGB"). Gamma, colour
// profiles and an eXIf chunk's orientation are not applied: pixels come out as they are stored.
//
// A part of an image is decoded down to its last row (all of it when interlaced), keeping its columns.
// Ownership: keeps libpng's memory; after the largest image it allocates nothing.
// Threads:   one at a time. Failure: Error(kInput), Error(kMemory). Checksums of what is read are verified; what lies
//            below the part asked for is not read. libpng's warnings (about ancillary chunks) are not failures.

#include <cstdint>
#include <memory>
#include <span>

#include "unstarve/codecs/common/image_header.h"

namespace unstarve {

struct PngSession;

class PngDecoder {
 public:
  PngDecoder();
  ~PngDecoder();
  PngDecoder(PngDecoder&&) noexcept;
  PngDecoder& operator=(PngDecoder&&) noexcept;

  // Reads IHDR. `bytes` must stay until decode() is done.
  ImageHeader open(std::span<const std::uint8_t> bytes);
  // `rect`: not empty, inside the image. Once per open().
  void decode(Rect rect, Image& out);

 private:
  std::unique_ptr<PngSession> session_;
};

}  // namespace unstarve
