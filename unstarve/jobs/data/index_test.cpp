#include "unstarve/jobs/data/index.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/data/pack.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/resources.h"
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

TEST_CASE("the first epoch uses the new indexes") {
  const Photos photos;
  const IndexResult first = run_index(photos.spec(), 3);
  CHECK(first.records == kImages);
  CHECK(first.built == kImages);
  CHECK(first.existing + first.without + first.corrupt == 0);
  CHECK(first.bytes_built > 0);
  CHECK(first.bytes_built < first.bytes_read / 10);
  CHECK(first.bytes_indexed == first.bytes_read);
  CHECK_THAT(to_text(first), Contains(" % of their images, in "));
  CHECK(fs::exists(first.file));
  const ScanIndexCounts counts = first_epoch(photos.source());
  CHECK(counts.used == kImages);
  CHECK(counts.made == 0);
  const IndexResult again = run_index(photos.spec());
  CHECK(again.built == 0);
  CHECK(again.existing == kImages);
  CHECK(parse_json(to_json(again))["existing"] == kImages);
  CHECK_THAT(to_text(first), Contains("built      40, "));
}

TEST_CASE("stopped indexing continues, and changed images are indexed again") {
  Photos photos;
  const auto stop = [](std::string_view, double share) {
    if (share > 0) throw Error(ErrorKind::kCancelled, "stopped");
  };
  CHECK_THROWS_WITH(run_index(photos.spec(), 1, stop), "stopped");
  const IndexResult rest = run_index(photos.spec(), 2);
  CHECK(rest.existing > 0);
  CHECK(rest.built == kImages - rest.existing);
  photos.put(7, 1000);
  const IndexResult changed = run_index(photos.spec());
  CHECK(changed.built == 1);
  CHECK(changed.existing == kImages - 1);
  CHECK(first_epoch(photos.source()).used == kImages);
}

TEST_CASE("images without an index and unreadable images are counted") {
  const Photos photos;
  photos.folder.write("photos/a/1.jpg", "no image");
  Image image({160, 160});
  std::fill_n(image.data(), image.bytes(), std::uint8_t{9});
  photos.folder.write("photos/b/0.png", encode_png(image.view()));
  const IndexResult result = run_index(photos.spec());
  CHECK(result.records == kImages + 1);
  CHECK(result.corrupt == 1);
  CHECK_THAT(result.first_corrupt, Contains("photos/a/1.jpg"));
  CHECK(result.without == 1);
  CHECK(result.built == kImages - 1);
  CHECK_THAT(to_text(result), Contains("corrupt    1, first: "));
}

TEST_CASE("packed shards with indexes are left unchanged") {
  const Photos photos;
  PackOptions options;
  options.format = "webdataset";
  options.scan_index = true;
  options.threads = 2;
  (void)run_pack(photos.source().path, photos.folder.path() / "packed", options);
  const IndexResult result = run_index(spec_of({photos.folder.str("packed"), ""}));
  CHECK(result.existing == kImages);
  CHECK(result.built == 0);
}

TEST_CASE("data that cannot be indexed is rejected") {
  const testing::TemporaryFolder folder;
  CHECK_THROWS_WITH(run_index(spec_of({"synthetic:images=4,size=160", ""})), Contains("index: "));
  CHECK_THROWS_AS(run_index(spec_of({folder.str("nowhere"), ""})), Error);
}

}  // namespace unstarve
