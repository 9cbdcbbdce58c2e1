// How `explain` describes the decoding of the first image.
#include "unstarve/pipeline/plan/decode_notes.h"

#include <catch2/catch.hpp>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

// A folder of one photograph of 600 x 400, and a spec for it.
struct Photograph {
  explicit Photograph(std::vector<OpSpec> operations, bool png = false) {
    Image image({600, 400});
    for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(i * i / 97 + i / 5);
    folder.write(png ? "photos/a/0.png" : "photos/a/0.jpg",
                 png ? encode_png(image.view()) : encode_jpeg(image.view(), 85, ChromaSampling::k420));
    spec = small_spec(1);
    spec.source.path = folder.str("photos");
    spec.operations = std::move(operations);
  }
  [[nodiscard]] DecodeNote note(const std::string& name) const {
    for (const DecodeNote& note : decode_notes(plan_run(spec, open_dataset(spec.source.path), {2}).plan))
      if (note.name == name) return note;
    return {};
  }
  testing::TemporaryFolder folder;
  PipelineSpec spec;
};

// A crop of 96 x 96 from the middle.
std::vector<OpSpec> centre_crop() { return {{"center_crop", {{"size", {96}}}}}; }

}  // namespace

TEST_CASE("the note on a baseline photograph contains rows and columns", "[pipeline]") {
  const Photograph photograph(centre_crop());
  CHECK(photograph.note("path").value == "own JPEG decoder");
  CHECK(photograph.note("path").reason == "a baseline JPEG file, 4:2:0");
  CHECK(photograph.note("scale").value == "full");
  CHECK_THAT(photograph.note("scale").reason, Equals("no pass permits a reduced scale"));
  CHECK(photograph.note("part").value == "96x96 at (252, 152) of 600x400");
  CHECK_THAT(
      photograph.note("part").reason,
      Equals(
          "the region that center_crop reads of 600x400 in epoch 0; rows 9 to 15 of 25 and columns 15 to 21 of 38 of "
          "blocks of 16x16"));
  CHECK(photograph.note("scan index").value == "yes");
}

TEST_CASE("the note on a crop through a resize names both", "[pipeline]") {
  const Photograph photograph({{"resize", {{"size", {200}}}}, {"center_crop", {{"size", {100}}}}});
  CHECK(photograph.note("part").value == "202x202 at (199, 99) of 600x400");
  CHECK_THAT(photograph.note("part").reason, Contains("the region that resize reads of 600x400 in epoch 0, for 100x100 "
                                                      "at (100, 50) of 300x200 that center_crop reads"));
  CHECK(photograph.note("scan index").value == "yes");
}

TEST_CASE("the note on a reduced scale names the target", "[pipeline]") {
  Photograph photograph({{"random_resized_crop", {{"size", {32}}, {"scale", {1, 1}}, {"ratio", {1.5, 1.5}}}}});
  photograph.spec.passes["scale_into_decode"] = true;
  CHECK(photograph.note("scale").value == "1/8");
  CHECK_THAT(photograph.note("scale").reason, Contains("are resized to 32x32, and 1/8 has as many pixels"));
  CHECK_THAT(photograph.note("part").value, Contains(" of 75x50"));
  photograph.spec.operations[0].params["size"] = {300};
  CHECK(photograph.note("scale").value == "full");
  CHECK_THAT(photograph.note("scale").reason, Contains("are resized to 300x300, and 1/2 has fewer pixels"));
  // 165x110, and 140x93 by the bound of the long side.
  photograph.spec.operations = {{"resize", {{"size", {110}}}}};
  CHECK(photograph.note("scale").value == "1/2");
  photograph.spec.operations[0].params["max_size"] = {140};
  CHECK(photograph.note("scale").value == "1/4");
}

TEST_CASE("notes name why a crop, an index or our decoder is not used", "[pipeline]") {
  Photograph whole(centre_crop());
  whole.spec.passes["crop_into_decode"] = false;
  CHECK(whole.note("part").value == "600x400 at (0, 0) of 600x400");
  CHECK_THAT(whole.note("part").reason, Contains("the whole image: no pass selects a region; rows 0 to 24"));
  CHECK(whole.note("scan index").value == "no");
  Photograph unindexed(centre_crop());
  unindexed.spec.passes["scan_index"] = false;
  CHECK_THAT(unindexed.note("scan index").reason, Equals("no pass uses an index"));
  Photograph png(centre_crop(), true);
  png.spec.passes["scale_into_decode"] = true;
  CHECK(png.note("path").value == "libpng");
  CHECK(png.note("path").reason == "a png file");
  CHECK(png.note("scale").reason == "png is not reduced");
  CHECK(png.note("part").value == "96x96 at (252, 152) of 600x400");
  CHECK_THAT(png.note("scan index").reason, Equals("only our own JPEG decoder supports it"));
}

TEST_CASE("stored pixels have no notes on decoding", "[pipeline]") {
  PipelineSpec spec = small_spec(2);
  spec.source.path = "synthetic:classes=2,images=8,size=64,seed=1";
  CHECK(decode_notes(plan_run(spec, open_dataset(spec.source.path), {2}).plan).empty());
}

}  // namespace unstarve
