#include "unstarve/pipeline/plan/selection.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/codecs/decoder.h"
#include "unstarve/core/image.h"
#include "unstarve/ops/operations.h"

namespace unstarve {
namespace {

// The header of a JPEG of this size.
ImageHeader jpeg_header(Size size) {
  Image image(size);
  std::fill_n(image.data(), image.bytes(), std::uint8_t{90});
  const std::vector<std::uint8_t> file = encode_jpeg(image.view(), 85);
  return Decoder().open(file);
}

// The region that a center_crop of 32 reads of an image resized to 64x48.
struct Through {
  explicit Through(Size size, Reduction reduction = Reduction::kNever)
      : header(jpeg_header(size)), step{1, 0, reduction}, selection(select_for(*operations[0], size, random)) {}
  bool select() { return select_through({step, operations}, header, selection, random, scratch); }

  const std::vector<std::shared_ptr<const Operation>> operations{make_operation({"resize", {{"size", {48, 64}}}}),
                                                                 make_operation({"center_crop", {{"size", {32}}}})};
  const ImageHeader header;
  const SelectThroughStep step;
  Random random{1, 0, 0, 0};
  Scratch scratch;
  Selection selection;
};

TEST_CASE("an operation after a resize selects the pixels of the image that its region depends on") {
  Through through({128, 96});
  CHECK(through.selection.region == Rect{0, 0, 128, 96});
  REQUIRE(through.select());
  REQUIRE(through.selection.part);
  CHECK(through.selection.part->made == Rect{16, 8, 32, 32});
  CHECK(through.selection.part->to.size == Size{64, 48});
  CHECK(through.selection.target == Size{32, 32});
  // Twice the region of the output, and the neighbours that have a weight.
  const Rect& read = through.selection.region;
  CHECK((read.x <= 32 && read.x >= 28 && read.x + read.width >= 96 && read.x + read.width <= 100));
  CHECK((read.y <= 16 && read.y >= 12 && read.y + read.height >= 80 && read.y + read.height <= 84));
}

TEST_CASE("nothing is selected through a resize of a region beyond the edges, or of a reduced image") {
  Through outside({128, 96});
  outside.selection.region = {-1, 0, 129, 96};
  const Rect before = outside.selection.region;
  CHECK_FALSE(outside.select());
  CHECK(outside.selection.region == before);
  CHECK_FALSE(outside.selection.part);
  CHECK_FALSE(Through({512, 384}, Reduction::kAllowed).select());
  CHECK(Through({512, 384}, Reduction::kNever).select());
}

TEST_CASE("a hint for the decoder contains the selected region and its target") {
  const Selection all = select_all({128, 96});
  CHECK(all.region == Rect{0, 0, 128, 96});
  CHECK(all.target == Size{128, 96});
  Through through({512, 384});
  const DecodeHint hint = decode_hint({DecodeRegion::kSelected, Reduction::kAllowed}, through.selection);
  CHECK((hint.crop && hint.reduce && !hint.index));
  CHECK(hint.target == Size{64, 48});
  REQUIRE(through.select());
  CHECK_FALSE(decode_hint({DecodeRegion::kSelected, Reduction::kAllowed}, through.selection).reduce);
}

}  // namespace
}  // namespace unstarve
