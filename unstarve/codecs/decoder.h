#pragma once
// Decodes JPEG, PNG and WebP bytes to upright 8-bit RGB: the whole image or a crop, at full or reduced size.
//
// The format is detected from the content. Greyscale is replicated, CMYK/YCCK is converted (Adobe's inverted
// convention), alpha is dropped (not composited), 16-bit PNG is reduced to its high byte. The EXIF orientation of JPEG
// and WebP is applied (PNG's eXIf chunk is ignored): all coordinates of this interface are in the upright image. Of an
// animated WebP, the first frame is decoded.
//
// Exactness: a decoded crop equals the crop of the decoded whole image (at the same reduction); JPEG pixels equal
//            Pillow's. See jpeg/jpeg_decoder.h, png/png_decoder.h and webp/webp_decoder.h.
// Ownership: a Decoder reuses its codecs' state and scratch memory; after the largest image it allocates nothing
//            (except for WebP, whose library allocates).
// Threads:   one Decoder per thread.
// Failure:   Error(kInput) with the reason (truncated, not an image, a side above kMaxSide, ...); the caller adds the
//            path. A truncated or corrupt entropy-coded segment is an error, not grey pixels. Damage below the
//            requested part is not detected. After an error, the Decoder can open the next image.
//            A file that is too short for the requested rows is rejected before memory is allocated: Huffman-coded
//            JPEG, PNG, lossy WebP. Arithmetic-coded JPEG and lossless WebP can be tiny at any size.

#include <cstdint>
#include <memory>
#include <span>

#include "unstarve/codecs/common/decode_request.h"
#include "unstarve/codecs/common/image_header.h"
#include "unstarve/codecs/common/row_sink.h"
#include "unstarve/core/image.h"

namespace unstarve {

class Decoder {
 public:
  Decoder();
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  // Reads only the header. `bytes` must stay valid until decode() has returned. Rejects images of more than
  // `max_pixels`; the message names the setting decode.max_pixels only if it is lower than kMaxPixels.
  ImageHeader open(std::span<const std::uint8_t> bytes, std::int64_t max_pixels = kMaxPixels);
  // Decodes the image opened last, once per open(), into `out`, which is resized.
  void decode(const DecodeRequest& request, Image& out);
  // Like decode(), but row by row if possible: rows of the stored image, which `rows` has to turn by the header's
  // orientation. Our own JPEG decoder writes rows as it decodes them; other decoders produce whole images, which are
  // passed to `rows` only if they have to be turned. True: `rows` received all rows and `out` is unused. False: `out`
  // contains the upright image, and rows that `rows` received are void.
  [[nodiscard]] bool decode(const DecodeRequest& request, RowSink& rows, Image& out);

  // About the last decode(). The index stays valid until the next decode(); it is empty if none can be built: other
  // formats, progressive files, damage below the crop.
  [[nodiscard]] IndexUse index_use() const noexcept;
  [[nodiscard]] bool used_own_decoder() const noexcept;  // our own JPEG decoder rather than the format's library
  [[nodiscard]] std::span<const std::uint8_t> made_index() const noexcept;

 private:
  // In pixels of the reduced stored image. Throws Error(kArgument) for an invalid request.
  [[nodiscard]] Rect stored_rect(const DecodeRequest& request) const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace unstarve
