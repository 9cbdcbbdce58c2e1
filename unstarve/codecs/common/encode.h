#pragma once
// Encodes upright 8-bit RGB to JPEG (libjpeg-turbo) or PNG (libpng): for the synthetic dataset, packing and tests.
//
// JPEG files are baseline files with libjpeg's default settings: the accurate integer DCT, the Huffman tables of
// T.81's annex K, JFIF.
//
// Ownership: a JpegEncoder owns one compressor.
// Threads:   one JpegEncoder per thread; the functions are pure.
// Failure:   Error(kArgument) for an empty or too large image or a quality outside 1..100; Error(kMemory) or
//            std::bad_alloc. A JpegEncoder stays usable.

#include <cstdint>
#include <memory>
#include <vector>

#include "unstarve/core/image.h"

namespace unstarve {

// kGrey: no colours, a file of one component; the pixels have equal channels.
enum class ChromaSampling { k444, k422, k420, kGrey };

struct JpegEncoderSession;  // libjpeg's structs

// For many images: creating a compressor costs a few microseconds.
class JpegEncoder {
 public:
  JpegEncoder();
  ~JpegEncoder();

  // Replaces the contents of `out` by the file; reuses the memory of `out`. After a failure `out` is incomplete.
  void encode(PixelView pixels, int quality, ChromaSampling sampling, std::vector<std::uint8_t>& out);

 private:
  std::unique_ptr<JpegEncoderSession> session_;
};

[[nodiscard]] std::vector<std::uint8_t> encode_jpeg(PixelView pixels, int quality,
                                                    ChromaSampling sampling = ChromaSampling::k420);
[[nodiscard]] std::vector<std::uint8_t> encode_png(PixelView pixels);

}  // namespace unstarve
