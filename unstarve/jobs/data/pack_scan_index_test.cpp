// Packing with scan indexes: the first epoch over the shards uses them, and nothing else changes.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "unstarve/core/file.h"
#include "unstarve/jobs/data/pack.h"
#include "unstarve/jobs/data/verify.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/executor/resources.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/formats/parquet/parquet.h"
#include "unstarve/storage/index/scan_index_file.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using testing::TemporaryFolder;

constexpr std::uint64_t kPackedImages = 24;

Image noise(std::uint64_t id) {
  Random random(1, 0, id, 0);
  Image image({static_cast<int>(150 + random.below(100)), static_cast<int>(150 + random.below(100))});
  for (std::size_t i = 0; i < image.bytes(); ++i)
    image.data()[i] = static_cast<std::uint8_t>((i * (id + 3)) / 7 + random.below(9));
  return image;
}

// Photographs of two classes.
void fill_with_jpeg(const TemporaryFolder& folder) {
  for (std::uint64_t id = 0; id < kPackedImages; ++id)
    folder.write("src/" + std::string(id % 2 ? "a/" : "b/") + std::to_string(id) + ".jpg",
                 encode_jpeg(noise(id).view(), 85, id % 3 ? ChromaSampling::k420 : ChromaSampling::k444));
}

PackOptions scan_index_options(const std::string& format) {
  PackOptions options;
  options.format = format;
  options.shard_mb = 0.1;
  options.threads = 2;
  options.scan_index = true;
  return options;
}

PipelineSpec packed_spec(const std::string& path, const std::string& split = "") {
  PipelineSpec spec = small_spec(6);
  spec.source = {path, split};
  return spec;
}

struct Epoch {
  std::vector<Seen> batches;
  ScanIndexCounts counts;
};

Epoch packed_epoch(const PipelineSpec& spec) {
  const auto device = open_device("cpu");
  Loader loader(spec, open_dataset(spec.source.path, spec.source.split), *device, {{}, 1});
  Epoch epoch;
  while (auto batch = loader.next()) epoch.batches.push_back(see(*batch));
  if (const auto store = loader.resources().scan_index) epoch.counts = store->counts();
  return epoch;
}

std::vector<Seen> without_index(PipelineSpec spec) {
  spec.passes["scan_index"] = false;
  return packed_epoch(spec).batches;
}

// The files written by the pack, without files that readers add.
std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".unstarve-index") && !name.ends_with(".jpeg.unstarve-index")) continue;
    files[name] = entry.is_directory() ? "folder" : read_text_file(entry.path());
  }
  return files;
}

std::vector<std::string> formats() {
  std::vector<std::string> names{"tfrecord", "webdataset", "recordio"};
  if (arrow_facts().in_build) names.emplace_back("parquet");
  return names;
}

}  // namespace

TEST_CASE("the first epoch over a new pack decodes crops with the packed index") {
  const TemporaryFolder folder;
  fill_with_jpeg(folder);
  for (const std::string& format : formats()) {
    INFO(format);
    const fs::path dst = folder.path() / format;
    const PackResult packed = run_pack(folder.str("src"), dst, scan_index_options(format));
    REQUIRE(packed.manifest.shards.size() > 1);
    for (const ShardEntry& entry : packed.manifest.shards) CHECK(entry.scan_index.bytes > 0);
    CHECK(to_text(packed, dst).find("  indexes    of JPEG scans, ") != std::string::npos);
    // Independent of how the shards are named.
    const std::string extension = fs::path(packed.manifest.shards[0].shard.file).extension().string();
    for (const std::string& path : {dst.string(), (dst / ("data-*" + extension)).string()}) {
      const std::vector<Seen> expected = without_index(packed_spec(path));
      const Epoch first = packed_epoch(packed_spec(path));
      CHECK(first.batches == expected);
      CHECK(first.counts.used == kPackedImages);
      CHECK(first.counts.made == 0);
      CHECK(first.counts.wrong == 0);
    }
    CHECK(run_verify(dst).ok());
  }
}

TEST_CASE("shards and indexes do not depend on threads or parts, and are equal when rewritten") {
  const TemporaryFolder folder;
  fill_with_jpeg(folder);
  PackOptions options = scan_index_options("webdataset");
  options.splits = {{"train", 0.7}, {"val", 0.3}};
  options.resize = 140;
  (void)run_pack(folder.str("src"), folder.path() / "one", options);
  const auto expected = files_of(folder.path() / "one");
  CHECK(std::count_if(expected.begin(), expected.end(),
                      [](const auto& file) { return file.first.ends_with(".tar.jpeg.unstarve-index"); }) > 1);
  options.threads = 5;
  for (std::uint64_t part = 0; part < 3; ++part) {
    options.part = {part, 3};
    (void)run_pack(folder.str("src"), folder.path() / "parts", options);
  }
  CHECK(files_of(folder.path() / "parts") == expected);
  // A lost index is rewritten together with its shard.
  options.part = {};
  fs::remove(folder.path() / "one" / "train-00000.tar.jpeg.unstarve-index");
  CHECK(run_pack(folder.str("src"), folder.path() / "one", options).shards_made == 1);
  CHECK(files_of(folder.path() / "one") == expected);
  const Epoch first = packed_epoch(packed_spec(folder.str("one"), "train"));
  CHECK(first.counts.used == first.batches.size() * 6);
  CHECK(first.counts.made == 0);
}

TEST_CASE("the option adds index files and does not change the shards") {
  const TemporaryFolder folder;
  fill_with_jpeg(folder);
  PackOptions options = scan_index_options("recordio");
  (void)run_pack(folder.str("src"), folder.path() / "with", options);
  options.scan_index = false;
  (void)run_pack(folder.str("src"), folder.path() / "without", options);
  const auto with = files_of(folder.path() / "with");
  for (const auto& [name, bytes] : files_of(folder.path() / "without")) {
    INFO(name);
    if (name != "manifest.json") CHECK(with.at(name) == bytes);
    CHECK_FALSE(name.ends_with(".unstarve-index"));
    if (name == "manifest.json") CHECK(bytes.find("scan_index") == std::string::npos);
  }
  CHECK_THROWS_WITH(run_pack(folder.str("src"), folder.path() / "with", options),
                    Contains("options.scan_index is not requested"));
  options.scan_index = true;
  CHECK_THROWS_WITH(run_pack(folder.str("src"), folder.path() / "without", options),
                    Contains("options.scan_index is missing"));
}

TEST_CASE("a damaged index of a shard is found by verify and by the decoder") {
  const TemporaryFolder folder;
  fill_with_jpeg(folder);
  const fs::path dst = folder.path() / "dst";
  const PackResult packed = run_pack(folder.str("src"), dst, scan_index_options("webdataset"));
  const std::vector<Seen> expected = without_index(packed_spec(dst.string()));
  const std::string name = packed.manifest.shards[0].scan_index.file;
  const std::string whole = read_text_file(dst / name);
  std::string damaged = whole;
  damaged[damaged.size() - 3] = static_cast<char>(damaged[damaged.size() - 3] ^ 1);
  write_file_atomically(dst / name, damaged);
  const VerifyResult result = run_verify(dst);
  REQUIRE(result.wrong.size() == 1);
  CHECK(result.wrong[0].file == name);
  CHECK_THAT(result.wrong[0].reason, Contains("CRC-32C"));
  const Epoch first = packed_epoch(packed_spec(dst.string()));
  CHECK(first.batches == expected);
  CHECK(first.counts.made == 1);
  CHECK(first.counts.used == kPackedImages - 1);

  // Valid indexes of other images: the first record of the shard is now the second.
  ScanIndexBuilder shifted;
  const ScanIndexView view({reinterpret_cast<const std::uint8_t*>(whole.data()), whole.size()});
  const ShardEntry& entry = packed.manifest.shards[0];
  for (std::uint64_t record = 0; record < entry.records; ++record)
    shifted.add(view.find((record + 1) % entry.records).bytes);
  write_file_atomically(dst / name, shifted.file(entry.shard.bytes));
  for (const fs::directory_entry& item : fs::directory_iterator(folder.path()))
    if (item.path().filename().string().ends_with(".unstarve-index")) fs::remove(item.path());
  const Epoch wrong = packed_epoch(packed_spec(dst.string()));
  CHECK(wrong.batches == expected);
  CHECK(wrong.counts.wrong == entry.records);
  CHECK(wrong.counts.made == entry.records);
}

TEST_CASE("a notice reports an unused index file of a shard, and its images get new indexes") {
  const TemporaryFolder folder;
  fill_with_jpeg(folder);
  const fs::path dst = folder.path() / "dst";
  const PackResult packed = run_pack(folder.str("src"), dst, scan_index_options("webdataset"));
  REQUIRE(packed.manifest.shards.size() > 2);
  const std::vector<Seen> expected = without_index(packed_spec(dst.string()));
  std::uint64_t lost = 0;
  for (std::size_t shard = 0; shard < 2; ++shard) {
    const ShardEntry& entry = packed.manifest.shards[shard];
    std::string file = read_text_file(dst / entry.scan_index.file);
    file[20] = static_cast<char>(file[20] ^ 1);
    write_file_atomically(dst / entry.scan_index.file, file);
    lost += entry.records;
  }
  std::vector<std::string> notices;
  set_notice_sink([&](const std::string& text) { notices.push_back(text); });
  const Epoch first = packed_epoch(packed_spec(dst.string()));
  set_notice_sink({});
  CHECK(first.batches == expected);
  CHECK(first.counts.used == kPackedImages - lost);
  CHECK(first.counts.made == lost);
  const std::string why = packed.manifest.shards[0].scan_index.file + ": damaged header; it is not used";
  REQUIRE(notices.size() == 2);
  CHECK_THAT(notices[0], Contains(why));
  // Also when only the plan is explained.
  const PlannedRun run = plan_run(packed_spec(dst.string()), open_dataset(dst.string()), {2});
  CHECK_THAT(explain(run), Contains(why + ", and 1 more like it"));
}

TEST_CASE("PNG has no scan index; a pack of only PNG has no index file") {
  const TemporaryFolder folder;
  for (std::uint64_t id = 0; id < 6; ++id)
    folder.write("src/a/" + std::to_string(id) + ".png", encode_png(noise(id).view()));
  const PackResult packed = run_pack(folder.str("src"), folder.path() / "dst", scan_index_options("webdataset"));
  for (const ShardEntry& entry : packed.manifest.shards) CHECK(entry.scan_index.file.empty());
  CHECK(files_of(folder.path() / "dst").size() == packed.manifest.shards.size() + 1);
  folder.write("src/b/1.jpg", encode_jpeg(noise(9).view(), 85));
  const PackResult mixed = run_pack(folder.str("src"), folder.path() / "mixed", scan_index_options("tfrecord"));
  CHECK(std::count_if(mixed.manifest.shards.begin(), mixed.manifest.shards.end(),
                      [](const ShardEntry& entry) { return !entry.scan_index.file.empty(); }) == 1);
}

}  // namespace unstarve
