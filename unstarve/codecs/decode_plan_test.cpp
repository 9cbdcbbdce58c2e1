// The rules of decode plans, and that decoding follows the plan.
#include "unstarve/codecs/decode_plan.h"

#include <catch2/catch.hpp>

#include "unstarve/codecs/jpeg/jpeg_decoder.h"
#include "unstarve/codecs/testing/jpeg_samples.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

// 4:2:0 of 500 x 400.
ImageHeader photograph() {
  ImageHeader header;
  header.encoding = Encoding::kJpeg;
  header.size = {500, 400};
  header.jpeg = JpegKind::kBaseline;
  header.horizontal = header.vertical = 2;
  return header;
}

DecodeHint everything(Rect selected, Size target) { return {selected, target, true, true, true}; }

}  // namespace

TEST_CASE("reductions keep at least the target", "[codecs]") {
  CHECK(choose_reduction({448, 448}, {224, 224}) == 2);
  CHECK(choose_reduction({447, 600}, {224, 224}) == 1);
  CHECK(choose_reduction({2000, 1900}, {224, 224}) == 8);
  CHECK(choose_reduction({10, 10}, {224, 224}) == 1);
}

TEST_CASE("a plan contains only what is allowed and possible", "[codecs]") {
  const Rect part{40, 50, 300, 200};
  const Size target{100, 100};
  DecodePlan plan = plan_decode(photograph(), everything(part, target));
  CHECK(plan.path == DecodePath::kOwn);
  CHECK(plan.reduction == 2);
  CHECK(plan.crop == part);
  CHECK(plan.index);
  CHECK(plan.stored == Rect{20, 25, 150, 100});

  DecodeHint hint = everything(part, target);
  hint.reduce = false;
  plan = plan_decode(photograph(), hint);
  CHECK(plan.reduction == 1);
  CHECK(plan.stored == part);
  hint = everything(part, target);
  hint.crop = false;
  plan = plan_decode(photograph(), hint);
  CHECK(plan.reduction == 2);
  CHECK(plan.crop.width == 0);
  CHECK(plan.stored == Rect{0, 0, 250, 200});
  CHECK_FALSE(plan.index);  // all rows are read
  hint = everything(part, target);
  hint.index = false;
  CHECK_FALSE(plan_decode(photograph(), hint).index);

  // Beyond the edges: the whole image at full size.
  plan = plan_decode(photograph(), everything({-10, 0, 300, 300}, target));
  CHECK(plan.reduction == 1);
  CHECK(plan.crop.width == 0);
  CHECK(plan.stored == Rect{0, 0, 500, 400});
}

TEST_CASE("other formats and kinds of JPEG are decoded by their libraries", "[codecs]") {
  const DecodeHint hint = everything({40, 50, 300, 200}, {100, 100});
  ImageHeader header = photograph();
  header.encoding = Encoding::kPng;
  header.jpeg = JpegKind::kNone;
  DecodePlan plan = plan_decode(header, hint);
  CHECK(plan.path == DecodePath::kLibpng);
  CHECK(plan.reduction == 1);
  CHECK(plan.stored == hint.selected);
  CHECK_FALSE(plan.index);
  header.encoding = Encoding::kWebp;
  CHECK(plan_decode(header, hint).path == DecodePath::kLibwebp);
  header = photograph();
  header.jpeg = JpegKind::kProgressive;
  plan = plan_decode(header, hint);
  CHECK(plan.path == DecodePath::kLibjpegTurbo);
  CHECK(plan.reduction == 2);
  CHECK_FALSE(plan.index);
}

TEST_CASE("the planned MCUs contain the part and the chroma samples next to it", "[codecs]") {
  DecodeHint hint = everything({32, 64, 96, 48}, {96, 48});
  DecodePlan plan = plan_decode(photograph(), hint);  // MCUs of 16 x 16; one more on each side for smooth chroma
  CHECK(plan.mcus.columns == 32);
  CHECK(plan.mcus.rows == 25);
  CHECK(plan.mcus.first_column == 1);
  CHECK(plan.mcus.end_column == 9);
  CHECK(plan.mcus.first_row == 3);
  CHECK(plan.mcus.end_row == 8);
  hint.target = {48, 24};  // at 1/2 chroma of 4:2:0 is not upsampled
  plan = plan_decode(photograph(), hint);
  CHECK(plan.reduction == 2);
  CHECK(plan.mcus.columns == 32);
  CHECK(plan.mcus.first_column == 2);
  CHECK(plan.mcus.end_column == 8);
  CHECK(plan.mcus.first_row == 4);
  CHECK(plan.mcus.end_row == 7);
  // With a quarter turn, upright x is stored y from the other end.
  ImageHeader turned = photograph();
  turned.size = {400, 500};
  turned.orientation = 6;
  plan = plan_decode(turned, everything({0, 32, 16, 96}, {16, 96}));
  CHECK(plan.stored == Rect{32, 384, 96, 16});
  CHECK(plan.mcus.end_row == 25);
}

TEST_CASE("files are decoded as planned", "[codecs]") {
  JpegDecoder decoder;
  Random random(81, 0, 0, 0);
  Image out;
  for (const JpegSample& sample : all_jpeg_samples()) {
    for (const Size size : {Size{64, 48}, Size{5, 40}, Size{4, 40}, Size{17, 33}, Size{33, 17}, Size{1, 1}}) {
      const auto bytes = make_jpeg(sample_image(size, random.bits()), sample);
      for (const int reduction : {1, 2, 4, 8}) {
        INFO(sample.name << ", " << size.width << " x " << size.height << ", 1/" << reduction);
        const ImageHeader header = decoder.open(bytes);
        DecodeHint hint = everything({0, 0, size.width, size.height}, {});
        hint.target = {size.width / reduction, size.height / reduction};
        // A side shorter than the reduction has no pixel at this scale.
        if (hint.target.width == 0 || hint.target.height == 0) continue;
        const DecodePlan plan = plan_decode(header, hint);
        REQUIRE(plan.reduction >= reduction);
        decoder.decode({plan.reduction, plan.stored}, out);
        REQUIRE(decoder.used_own_decoder() == (plan.path == DecodePath::kOwn));
        REQUIRE(plan.index == decoder.used_own_decoder());
      }
    }
  }
}

}  // namespace unstarve
