#pragma once
// Encoded image bytes to upright 8-bit RGB, the whole image or a part of it, at full size or reduced.
//
// Format is told from the content (magic bytes), never from a file name. Greyscale is replicated, CMYK/YCCK converted
// (Adobe's inverted convention understood), alpha dropped (not composited), 16-bit PNG reduced to its high byte, the
// EXIF orientation of JPEG and WebP applied (PNG's eXIf chunk is ignored): every coordinate of this interface is in the
// upright image. Of an animated WebP the first frame is taken.
//
// Exactness: decoding with a crop gives exactly the crop of decoding the whole image (at the same reduction); JPEG
//            pixels equal Pillow's. jpeg/jpeg_decoder.h, png.h and webp.h tell the details.
// Ownership: a Decoder keeps its codecs' state and scratch between images; after the largest image it allocates
// nothing (but for WebP: its library does).
// Threads:   one Decoder per thread.
// Failure:   Error(kInput) with the reason (truncated, not an image, a dimension over kMaxSide, ...). The caller adds
//            the path. A truncated or corrupt entropy-coded segment is an error, not grey pixels; damage below the part
//            that was asked for is not looked at. After an error the Decoder opens the next image as if nothing was.

#include <cstdint>
#include <memory>
#include <span>

#include "unstarve/codecs/common/row_sink.h"
#include "unstarve/core/image.h"

namespace unstarve {

enum class Encoding { kUnknown, kJpeg, kPng, kWebp };

[[nodiscard]] const char* to_string(Encoding encoding) noexcept;
[[nodiscard]] Encoding detect_encoding(std::span<const std::uint8_t> bytes) noexcept;

// Guards against size bombs: 65,500 is JPEG's own limit (libjpeg's JPEG_MAX_DIMENSION); the pixel limit is 2^28
// (805 MB of RGB), a little over the largest photographs in public data sets. Only decode.max_pixels of a spec lowers
// it, and the message names that setting only where it refused: what packs or inspects has none.
// Below it, a file too short for the rows that are asked for is refused before memory is taken for them: Huffman-coded
// JPEG, PNG, lossy WebP. Arithmetic-coded JPEG and lossless WebP can have next to no data at any size.
inline constexpr int kMaxSide = 65'500;
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;

// Whether a JPEG file is our own decoder's (codecs/jpeg/layout/baseline_image.h), or what about it is libjpeg-turbo's.
enum class JpegKind {
  kNone,  // no JPEG file
  kBaseline,
  kProgressive,
  kArithmetic,  // coded
  kScans,       // several, or one that holds a part of the coefficients
  kDepth,       // more than 8 bits; libjpeg-turbo 2 refuses the header, 3 has them opened and refuses to decode
  kColour,      // neither greyscale nor YCbCr
  kSampling,    // other than 4:4:4, 4:2:2, 4:4:0 and 4:2:0
};

struct ImageHeader {
  Encoding encoding = Encoding::kUnknown;
  Size size;            // upright, after EXIF orientation
  int orientation = 1;  // EXIF tag 0x0112: 1..8
  int components = 3;   // as stored: 1 grey, 3 colour, 4 CMYK or with alpha
  bool lossless = false;
  JpegKind jpeg = JpegKind::kNone;
  // JPEG: pixels to a chroma sample, in x and y of the stored image; those of the first component.
  int horizontal = 1;
  int vertical = 1;
};

struct DecodeRequest {
  // Part of the upright full-size image; must lie within it. Width 0 asks for all of it.
  Rect crop;
  // 1, 2, 4 or 8: each side comes out as ceil(side / reduction) of the whole image; with a crop, the pixels whose
  // reduced coordinates run from floor(crop.x / reduction) to ceil((crop.x + crop.width) / reduction), and likewise in
  // y. Only JPEG reduces (in the IDCT); for other formats it must be 1, see can_reduce().
  int reduction = 1;
  // What an earlier decoding of these bytes made (made_index()), or empty. It changes how long decoding takes, never
  // what comes out or is refused: where a byte of the scan or of the index is another one since, the image is decoded
  // without. But for an index that somebody made up, with the checksums it takes (jpeg/scan_index.h).
  std::span<const std::uint8_t> index{};
  // Make an index on the way; the image is then read to its end.
  bool make_index = false;
};

enum class IndexUse {
  kNone,  // there was none, or the file was not decoded by our own decoder
  kUsed,
  // Without it our own decoder decoded the image:
  kWrong,         // it belongs to another file or is damaged
  kOtherVersion,  // another version of this program has written it, says its first byte
};

class Decoder {
 public:
  Decoder();
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  // Reads the header only and remembers `bytes`, which must stay until decode() has returned. Refuses images of more
  // than `max_pixels`.
  ImageHeader open(std::span<const std::uint8_t> bytes, std::int64_t max_pixels = kMaxPixels);
  // Decodes the image last opened, once per open(), into `out` (resized to what was asked).
  void decode(const DecodeRequest& request, Image& out);
  // The same, as rows where they come one after the other: those of the image as stored, `rows` turns them by the
  // header's orientation. Our own JPEG decoder brings them as it makes them; an image that another decoder makes as a
  // whole is brought so where it is to be turned. True: `rows` got all of them, and `out` nothing. False: all is in
  // `out`, upright, and whatever `rows` had begun is void.
  [[nodiscard]] bool decode(const DecodeRequest& request, RowSink& rows, Image& out);
  // Of the last decode(). The bytes stay until the next one; empty where no index can be made: other formats,
  // progressive files, damage behind the crop.
  [[nodiscard]] IndexUse index_use() const noexcept;
  [[nodiscard]] bool used_own_decoder() const noexcept;  // our own JPEG decoder, not its format's library
  [[nodiscard]] std::span<const std::uint8_t> made_index() const noexcept;

  [[nodiscard]] static bool can_reduce(Encoding encoding) noexcept { return encoding == Encoding::kJpeg; }

 private:
  // In pixels of the reduced image as stored; throws Error(kArgument) for a request that the open image cannot meet.
  [[nodiscard]] Rect stored_rect(const DecodeRequest& request) const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace unstarve
