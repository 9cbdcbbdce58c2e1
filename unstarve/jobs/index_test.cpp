#include "unstarve/jobs/index.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/jobs/pack.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

constexpr std::uint64_t kImages = 40;

std::vector<std::uint8_t> photograph(std::uint64_t id) {
  Random random(1, 0, id, 0);
  Image image({static_cast<int>(150 + random.below(60)), static_cast<int>(150 + random.below(60))});
  for (std::size_t i = 0; i < image.bytes(); ++i)
    image.data()[i] = static_cast<std::uint8_t>((i * (id + 3)) / 7 + random.below(9));
  return encode_jpeg(image.view(), 85);
}

PipelineSpec spec_of(SourceSpec source) {
  PipelineSpec spec;
  spec.source = std::move(source);
  return spec;
}

struct Photos {
  Photos() {
    for (std::uint64_t id = 0; id < kImages; ++id) put(id, id);
  }
  void put(std::uint64_t id, std::uint64_t seed) { folder.write(name(id), photograph(seed)); }
  static std::string name(std::uint64_t id) {
    return "photos/" + std::string(id % 2 ? "a/" : "b/") + std::to_string(id) + ".jpg";
  }
  [[nodiscard]] SourceSpec source() const { return {folder.str("photos"), ""}; }
  [[nodiscard]] PipelineSpec spec() const { return spec_of(source()); }
  testing::TemporaryFolder folder;
};

ScanIndexCounts first_epoch(const SourceSpec& source) {
  PipelineSpec spec = small_spec(4);
  spec.source = source;
  const auto device = open_device("cpu");
  Loader loader(spec, open_dataset(source.path, source.split), *device, {{}, 1});
  while (loader.next()) continue;
  REQUIRE(loader.resources().scan_index);
  return loader.resources().scan_index->counts();
}

}  // namespace

TEST_CASE("what was indexed is used by the first epoch") {
  const Photos photos;
  const IndexingResult made = run_indexing(photos.spec(), 3);
  CHECK(made.records == kImages);
  CHECK(made.made == kImages);
  CHECK(made.there + made.without + made.corrupt == 0);
  CHECK(made.bytes_made > 0);
  CHECK(made.bytes_made < made.bytes_read / 10);
  CHECK(made.bytes_indexed == made.bytes_read);
  CHECK_THAT(to_text(made), Contains(" % of their images, in "));
  CHECK(fs::exists(made.place));
  const ScanIndexCounts counts = first_epoch(photos.source());
  CHECK(counts.used == kImages);
  CHECK(counts.made == 0);
  const IndexingResult again = run_indexing(photos.spec());
  CHECK(again.made == 0);
  CHECK(again.there == kImages);
  CHECK(nlohmann::json::parse(to_json(again))["there"] == kImages);
  CHECK_THAT(to_text(made), Contains("made       40, "));
}

TEST_CASE("indexing goes on where it was ended, and does changed images again") {
  Photos photos;
  const auto stop = [](std::string_view, double) { throw Error(ErrorKind::kCancelled, "stopped"); };
  CHECK_THROWS_WITH(run_indexing(photos.spec(), 1, stop), "stopped");
  const IndexingResult rest = run_indexing(photos.spec(), 2);
  CHECK(rest.there > 0);
  CHECK(rest.made == kImages - rest.there);
  photos.put(7, 1000);
  const IndexingResult changed = run_indexing(photos.spec());
  CHECK(changed.made == 1);
  CHECK(changed.there == kImages - 1);
  CHECK(first_epoch(photos.source()).used == kImages);
}

TEST_CASE("images that can have no index, or cannot be read, are counted") {
  const Photos photos;
  photos.folder.write("photos/a/1.jpg", "no image");
  Image image({160, 160});
  std::fill_n(image.data(), image.bytes(), std::uint8_t{9});
  photos.folder.write("photos/b/0.png", encode_png(image.view()));
  const IndexingResult result = run_indexing(photos.spec());
  CHECK(result.records == kImages + 1);
  CHECK(result.corrupt == 1);
  CHECK_THAT(result.first_corrupt, Contains("photos/a/1.jpg"));
  CHECK(result.without == 1);
  CHECK(result.made == kImages - 1);
  CHECK_THAT(to_text(result), Contains("corrupt    1, the first: "));
}

TEST_CASE("shards that brought their indexes are left as they are") {
  const Photos photos;
  PackOptions options;
  options.format = "webdataset";
  options.scan_index = true;
  options.threads = 2;
  (void)run_pack(photos.source().path, photos.folder.path() / "packed", options);
  const IndexingResult result = run_indexing(spec_of({photos.folder.str("packed"), ""}));
  CHECK(result.there == kImages);
  CHECK(result.made == 0);
}

TEST_CASE("data that can have no index are refused") {
  const testing::TemporaryFolder folder;
  CHECK_THROWS_WITH(run_indexing(spec_of({"synthetic:images=4,size=160", ""})), Contains("index: "));
  CHECK_THROWS_AS(run_indexing(spec_of({folder.str("nowhere"), ""})), Error);
}

}  // namespace unstarve
