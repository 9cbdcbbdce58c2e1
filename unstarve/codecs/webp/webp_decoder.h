#pragma once
// WebP bytes to RGB rows by libwebp: lossy and lossless, with and without alpha.
//
// Alpha is dropped, not composited: the colour that is stored shows, as with Pillow's convert("RGB"). Of an animation
// the first frame is taken, on a canvas that is black where the frame does not reach, as Pillow does. Colour profiles
// are not applied. The EXIF chunk's orientation is told by open(); its caller turns the pixels.
//
// A part of an image is decoded down to its last row. libwebp crops at even coordinates and upsamples colours at the
// crop's border as at an image's border; a part of a lossy image is therefore decoded with a margin that is dropped, so
// that it equals that part of the whole image.
// Ownership: keeps scratch for the margin. libwebp has no place for a caller's memory: it allocates per image, for a
//            lossless one 4 bytes a pixel. A header may claim any size: where a lossy image has too few bytes for the
//            rows asked for, it is refused before memory is taken. Lossless data have no such bound: an image of one
//            colour takes no bits at all (38 bytes for 16383 x 16383), so that kMaxPixels alone holds there.
// Threads:   one at a time. Failure: Error(kInput), Error(kMemory). Lossy data have no checksum: bytes changed within
//            them may decode to other pixels. What lies below the part asked for is not read, but a file shorter than
//            its header says is refused by open().

#include <cstdint>
#include <span>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/codecs/webp/webp_container.h"

namespace unstarve {

class WebpDecoder {
 public:
  // Reads the headers. `bytes` must stay until decode() is done.
  ImageHeader open(std::span<const std::uint8_t> bytes);
  // `rect`: not empty, inside the image as stored. Once per open().
  void decode(Rect rect, Image& out);

 private:
  // A part of the frame that `image` holds, to rows `stride` bytes apart.
  void decode_frame(std::span<const std::uint8_t> image, Rect part, std::uint8_t* target, std::size_t stride);

  WebpFile file_;  // its image is empty when none is open
  Image window_;   // a part with its margin
};

}  // namespace unstarve
