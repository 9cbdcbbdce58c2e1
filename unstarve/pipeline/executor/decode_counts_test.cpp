#include "unstarve/pipeline/executor/decode_counts.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

ImageHeader header_of(Encoding encoding, JpegKind kind, Size size = {100, 100}) {
  ImageHeader header;
  header.encoding = encoding;
  header.jpeg = kind;
  header.size = size;
  return header;
}

}  // namespace

TEST_CASE("every image is counted with its decoder, and with the reason if it was not our own") {
  DecodeCounts counts;
  CHECK(counts.explain().empty());
  ImageHeader narrow = header_of(Encoding::kJpeg, JpegKind::kBaseline, {4, 100});
  narrow.horizontal = 2;
  for (int i = 0; i < 3; ++i) counts.count(header_of(Encoding::kJpeg, JpegKind::kBaseline), 1, true);
  counts.count(header_of(Encoding::kPng, JpegKind::kNone), 1, false);
  counts.count(header_of(Encoding::kWebp, JpegKind::kNone), 1, false);
  counts.count(header_of(Encoding::kJpeg, JpegKind::kProgressive), 2, false);
  counts.count(header_of(Encoding::kJpeg, JpegKind::kColour), 1, false);
  counts.count(header_of(Encoding::kJpeg, JpegKind::kSampling), 1, false);
  counts.count(narrow, 1, false);
  counts.count(header_of(Encoding::kJpeg, JpegKind::kBaseline), 1, false);
  CHECK(counts.explain() ==
        "decoded     3 images by own JPEG decoder\n"
        "decoded     1 images by libpng\n"
        "decoded     1 images by libwebp\n"
        "decoded     1 images by libjpeg-turbo: progressive\n"
        "decoded     1 images by libjpeg-turbo: neither greyscale nor YCbCr\n"
        "decoded     1 images by libjpeg-turbo: chroma sampling other than 4:4:4, 4:2:2, 4:4:0 and 4:2:0\n"
        "decoded     1 images by libjpeg-turbo: too narrow for its chroma to be smoothed\n"
        "decoded     1 images by libjpeg-turbo: unexpected or damaged bytes, which libjpeg-turbo skips\n");
}

}  // namespace unstarve
