#pragma once
// WebP bytes to RGB rows by libwebp: lossy and lossless, with and without alpha.
//
// Alpha is dropped, not composited: the stored colour is used, as with Pillow's convert("RGB"). Of an animation, the
// first frame is decoded; the canvas outside of the frame is black, as in Pillow. Colour profiles are not applied.
// open() returns the EXIF chunk's orientation; its caller turns the pixels.
//
// For a part of an image, all rows down to the part's last one are decoded. libwebp crops at even coordinates and
// upsamples chroma at the crop's border as at an image's border. A part of a lossy image is therefore decoded with a
// margin, which is dropped, so that it equals the part of the whole image.
// Ownership: owns scratch memory for the margin. libwebp cannot use a caller's memory: it allocates per image, for
//            lossless images 4 bytes per pixel. A lossy image with too few bytes for the requested rows is rejected
//            before memory is allocated. For lossless data only kMaxPixels applies: an image of one colour needs no
//            bits at all (38 bytes for 16383 x 16383).
// Threads:   one at a time. Failure: Error(kInput), Error(kMemory). Lossy data has no checksum: changed bytes may
//            decode to other pixels. Data below the requested part is not read, but open() rejects a file that is
//            shorter than its header declares.

#include <cstdint>
#include <span>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/codecs/webp/webp_container.h"

namespace unstarve {

class WebpDecoder {
 public:
  // Reads the headers. `bytes` must stay valid until decode() has returned.
  ImageHeader open(std::span<const std::uint8_t> bytes);
  // `rect`: not empty, inside the image as stored. Once per open().
  void decode(Rect rect, Image& out);

 private:
  // Decodes a part of the frame in `image` to rows `stride` bytes apart.
  void decode_frame(std::span<const std::uint8_t> image, Rect part, std::uint8_t* target, std::size_t stride);

  WebpFile file_;  // its image is empty if no file is open
  Image window_;   // a part with its margin
};

}  // namespace unstarve
