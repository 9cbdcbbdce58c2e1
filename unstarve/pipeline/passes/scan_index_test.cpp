// The index of JPEG scans in a pipeline: built in the first epoch, used from the second on, without effect on batches.
#include <algorithm>
#include <catch2/catch.hpp>

#include "unstarve/core/file.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/executor/resources.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;

constexpr std::uint64_t kImages = 24;

std::vector<std::uint8_t> image(std::uint64_t id, std::uint32_t seed) {
  Random random(seed, 0, id, 0);
  Image image({static_cast<int>(150 + random.below(200)), static_cast<int>(150 + random.below(200))});
  for (std::size_t i = 0; i < image.bytes(); ++i)
    image.data()[i] = static_cast<std::uint8_t>((i * (id + 3)) / 7 + random.below(9));
  return encode_jpeg(image.view(), 85, id % 3 ? ChromaSampling::k420 : ChromaSampling::k444);
}

// A folder of two classes.
struct Photos {
  Photos() {
    for (std::uint64_t id = 0; id < kImages; ++id) put(id, 1);
  }
  void put(std::uint64_t id, std::uint32_t seed) {
    folder.write("photos/" + std::string(id % 2 ? "a/" : "b/") + std::to_string(id) + ".jpg", image(id, seed));
  }
  [[nodiscard]] PipelineSpec spec() const {
    PipelineSpec spec = small_spec(6);
    spec.source.path = folder.str("photos");
    return spec;
  }
  testing::TemporaryFolder folder;
};

std::vector<Seen> run_epochs(const PipelineSpec& spec, std::uint32_t epochs) {
  return run(spec, open_dataset(spec.source.path), {{}, epochs});
}

PipelineSpec without(PipelineSpec spec) {
  spec.passes["scan_index"] = false;
  return spec;
}

ScanIndexCounts counts_after(const PipelineSpec& spec, std::uint32_t epochs) {
  const auto device = open_device("cpu");
  Loader loader(spec, open_dataset(spec.source.path), *device, {{}, epochs});
  while (loader.next()) continue;
  const auto store = loader.resources().scan_index;
  REQUIRE(store);
  return store->counts();
}

}  // namespace

TEST_CASE("batches are the same without an index, while it is built and with it", "[pipeline]") {
  const Photos photos;
  const std::vector<Seen> expected = run_epochs(without(photos.spec()), 3);
  CHECK(run_epochs(photos.spec(), 3) == expected);  // builds the index
  CHECK(run_epochs(photos.spec(), 3) == expected);  // uses the index
}

TEST_CASE("crops that are decoded at a reduced scale use the same index", "[pipeline]") {
  const Photos photos;
  const ScanIndexCounts made = counts_after(photos.spec(), 1);  // at full size
  CHECK(made.made == kImages);
  PipelineSpec reduced = photos.spec();
  reduced.passes["scale_into_decode"] = true;
  CHECK(counts_after(reduced, 1).used == kImages);
  CHECK(run_epochs(reduced, 2) == run_epochs(without(reduced), 2));
  CHECK_FALSE(run_epochs(reduced, 1) == run_epochs(photos.spec(), 1));  // some of them were reduced
}

TEST_CASE("the first epoch builds the index; later epochs and runs use it", "[pipeline]") {
  for (const int threads : {1, 4}) {
    const Photos photos;
    PipelineSpec spec = photos.spec();
    spec.execution.threads = threads;
    const ScanIndexCounts first = counts_after(spec, 2);
    CHECK(first.made + first.used == 2 * kImages);
    // With several threads an image may be decoded again while its index is still being built.
    CHECK((threads == 1 ? first.made == kImages : first.made >= kImages));
    CHECK(first.wrong == 0);
    const ScanIndexCounts second = counts_after(spec, 1);
    CHECK(second.made == 0);
    CHECK(second.used == kImages);
  }
}

TEST_CASE("an image that changes gets a new index", "[pipeline]") {
  Photos photos;
  CHECK(counts_after(photos.spec(), 1).made == kImages);
  photos.put(5, 2);
  const std::vector<Seen> expected = run_epochs(without(photos.spec()), 1);
  const ScanIndexCounts counts = counts_after(photos.spec(), 1);
  CHECK(counts.wrong == 1);
  CHECK(counts.made == 1);
  CHECK(run_epochs(photos.spec(), 1) == expected);
}

TEST_CASE("a damaged file of indexes changes no batch and is counted", "[pipeline]") {
  const Photos photos;
  const auto device = open_device("cpu");
  const std::vector<Seen> expected = run_epochs(without(photos.spec()), 1);
  std::filesystem::path path;
  {
    Loader loader(photos.spec(), open_dataset(photos.spec().source.path), *device, {{}, 1});
    while (loader.next()) continue;
    path = loader.resources().scan_index->path();
  }
  std::string file = read_text_file(path);
  for (std::uint64_t id = 0; id < kImages; id += 4) file[32 + 16 * id + 12] ^= 1;  // the checksum of its entry
  write_file_atomically(path, file);
  Loader loader(photos.spec(), open_dataset(photos.spec().source.path), *device, {{}, 1});
  while (loader.next()) continue;
  CHECK(loader.resources().scan_index->counts().wrong == kImages / 4);
  CHECK_THAT(loader.explain(), Contains("18 crops decoded with a scan index, 6 indexes added, 6 rejected"));
  CHECK(run_epochs(photos.spec(), 1) == expected);

  write_file_atomically(path, "garbage");
  Loader rebuilt(photos.spec(), open_dataset(photos.spec().source.path), *device, {{}, 1});
  while (rebuilt.next()) continue;
  CHECK_THAT(rebuilt.explain(), Contains("24 indexes added, 0 rejected") && Contains("it was damaged; its indexes"));
  CHECK(run_epochs(photos.spec(), 1) == expected);
}

TEST_CASE("indexes of another version are counted and rebuilt", "[pipeline]") {
  const Photos photos;
  const auto device = open_device("cpu");
  const std::vector<Seen> expected = run_epochs(without(photos.spec()), 1);
  CHECK(counts_after(photos.spec(), 1).made == kImages);
  {
    // The loader has ended: its workers would rebuild the replaced indexes.
    const auto store =
        Loader(photos.spec(), open_dataset(photos.spec().source.path), *device, {{}, 1}).resources().scan_index;
    std::vector<std::uint8_t> index;
    for (std::uint64_t id = 0; id < kImages; ++id) {
      REQUIRE(store->find(id, index));
      index[0] = 1;
      store->put(id, index);
    }
  }
  Loader loader(photos.spec(), open_dataset(photos.spec().source.path), *device, {{}, 1});
  std::vector<Seen> batches;
  while (auto batch = loader.next()) batches.push_back(see(*batch));
  CHECK(batches == expected);
  const ScanIndexCounts counts = loader.resources().scan_index->counts();
  CHECK(counts.other_version == kImages);
  CHECK(counts.wrong == 0);
  CHECK(counts.made == kImages);
  CHECK_THAT(loader.explain(),
             Contains("24 indexes added, 0 rejected, 24 of another version of unstarve and rebuilt\n"));
  const ScanIndexCounts after = counts_after(photos.spec(), 1);
  CHECK(after.used == kImages);
  CHECK(after.other_version == 0);
}

TEST_CASE("explain names the file of the index, or why there is none", "[pipeline]") {
  const Photos photos;
  const auto note = [](const PipelineSpec& spec, const std::shared_ptr<const Dataset>& data) {
    const Plan plan = plan_run(spec, data, {2}).plan;
    return *std::find_if(plan.passes.begin(), plan.passes.end(),
                         [](const PassNote& pass) { return pass.name == "scan_index"; });
  };
  const auto data = open_dataset(photos.folder.str("photos"));
  CHECK(note(photos.spec(), data).applied);
  CHECK_THAT(note(photos.spec(), data).reason, Contains(photos.folder.str("photos.")));
  CHECK_THAT(note(small_spec(6), std::make_shared<JpegSet>(10)).reason, Contains("as fast without"));
  PipelineSpec nowhere = photos.spec();
  nowhere.source.path = "";
  CHECK_THAT(note(nowhere, data).reason, Contains("no path or URL"));
  PipelineSpec whole = photos.spec();
  whole.passes["crop_into_decode"] = false;
  CHECK_THAT(note(whole, data).reason, Contains("not decoded in part"));
}

}  // namespace unstarve
