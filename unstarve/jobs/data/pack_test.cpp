#include "unstarve/jobs/data/pack.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/testing/jpeg_bomb.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/data/verify.h"
#include "unstarve/jobs/pack/pack_keys.h"
#include "unstarve/jobs/pack/pack_plan.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

Image picture(Size size, int shade) {
  Image image(size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < kChannels; ++c)
        image.row(y)[x * kChannels + c] = static_cast<std::uint8_t>(x * 2 + y * c + shade);
    }
  }
  return image;
}

// 30 photographs of several sizes in three classes, every fifth a PNG.
void fill(const TemporaryFolder& folder, int images = 30) {
  for (int i = 0; i < images; ++i) {
    const Image image = picture({60 + i % 4 * 20, 40 + i % 3 * 30}, i * 7);
    const std::string stem = "src/class" + std::to_string(i % 3) + "/" + std::to_string(i);
    if (i % 5 == 0)
      folder.write(stem + ".png", encode_png(image.view()));
    else
      folder.write(stem + ".jpg", encode_jpeg(image.view(), 92));
  }
}

// All files of a folder with their bytes, except hidden files and indexes of readers.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".unstarve-index"))
      files[name] = entry.is_directory() ? "folder" : read_text_file(entry.path());
  }
  return files;
}

struct Sample {
  std::string image;
  std::int64_t label;
  friend auto operator<=>(const Sample&, const Sample&) = default;
};

std::vector<Sample> samples(const std::string& path, const std::string& split = "") {
  const std::shared_ptr<const Dataset> data = open_dataset(path, split);
  std::vector<Sample> all;
  RecordBuffer record;
  for (std::uint64_t id = 0; id < data->size(); ++id) {
    data->read(id, record);
    const auto bytes = record.values[0].bytes;
    all.push_back({std::string(bytes.begin(), bytes.end()), record.values[1].integer});
  }
  return all;
}

std::vector<Sample> sorted(std::vector<Sample> all) {
  std::sort(all.begin(), all.end());
  return all;
}

PackOptions options_for(const std::string& format) {
  PackOptions options;
  options.format = format;
  options.shard_mb = 0.01;
  options.threads = 2;
  return options;
}

Size size_of(const Sample& sample, Encoding* encoding = nullptr) {
  Decoder decoder;
  const ImageHeader header =
      decoder.open({reinterpret_cast<const std::uint8_t*>(sample.image.data()), sample.image.size()});
  if (encoding != nullptr) *encoding = header.encoding;
  return header.size;
}

TEST_CASE("packed records equal those of the source, byte for byte and in order") {
  const std::string format = GENERATE(as<std::string>{}, "tfrecord", "webdataset", "recordio");
  CAPTURE(format);
  TemporaryFolder folder;
  fill(folder);
  const PackResult result = run_pack(folder.str("src"), folder.path() / "dst", options_for(format));
  CHECK(result.complete);
  CHECK(result.manifest.records() == 30);
  CHECK(result.shards_made > 2);
  CHECK(result.manifest.classes == std::vector<std::string>{"class0", "class1", "class2"});
  CHECK(samples(folder.str("dst")) == samples(folder.str("src")));
  CHECK(run_verify(folder.path() / "dst").ok());
  CHECK_FALSE(fs::exists(folder.path() / "dst/.unstarve-pack"));
}

TEST_CASE("opening an incomplete pack emits a notice") {
  const std::string format = GENERATE(as<std::string>{}, "tfrecord", "webdataset", "recordio");
  CAPTURE(format);
  TemporaryFolder folder;
  fill(folder);
  PackOptions options = options_for(format);
  options.part = {1, 2};
  CHECK_FALSE(run_pack(folder.str("src"), folder.path() / "dst", options).complete);
  std::string notice;
  set_notice_sink([&](const std::string& text) { notice += text; });
  const auto part = open_dataset(folder.str("dst"));
  set_notice_sink({});
  CHECK(part->size() < 30);
  REQUIRE(part->notes().size() == 1);
  CHECK(part->notes()[0] == notice);
  CHECK_THAT(notice, Catch::Contains(folder.str("dst") + " is not packed to its end, so samples may be missing"));
  options.part.number = 2;
  CHECK(run_pack(folder.str("src"), folder.path() / "dst", options).complete);
  CHECK(open_dataset(folder.str("dst"))->notes().empty());
}

TEST_CASE("a packed dataset can be packed again") {
  TemporaryFolder folder;
  fill(folder);
  (void)run_pack(folder.str("src"), folder.path() / "tar", options_for("webdataset"));
  (void)run_pack(folder.str("tar") + "/*.tar", folder.path() / "rec", options_for("tfrecord"));
  CHECK(samples(folder.str("rec")) == samples(folder.str("src")));
}

TEST_CASE("Parquet is packed and verified in a build with Arrow, else reported as missing") {
  TemporaryFolder folder;
  fill(folder);
  const fs::path dst = folder.path() / "dst";
  try {
    const PackResult result = run_pack(folder.str("src"), dst, options_for("parquet"));
    CHECK(result.complete);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kMissing);
    CHECK_FALSE(fs::exists(dst));
    return;
  }
  CHECK(run_verify(dst).ok());
  CHECK(samples(dst.string()) == samples(folder.str("src")));
}

TEST_CASE("raw pixels become PNG of the same pixels") {
  TemporaryFolder folder;
  (void)run_pack("synthetic:classes=3,images=20,size=24,seed=5", folder.path() / "dst", options_for("tfrecord"));
  const std::vector<Sample> packed = samples(folder.str("dst"));
  REQUIRE(packed.size() == 20);
  Encoding encoding = Encoding::kUnknown;
  CHECK(size_of(packed[0], &encoding) == Size{24, 24});
  CHECK(encoding == Encoding::kPng);
}

TEST_CASE("the result does not depend on the number of threads or parts") {
  TemporaryFolder folder;
  fill(folder);
  PackOptions options = options_for("recordio");
  options.resize = 48;
  options.shuffle = true;
  options.seed = 9;
  options.splits = parse_splits("train=0.7,val=0.3");
  options.shard_mb = 0.004;
  (void)run_pack(folder.str("src"), folder.path() / "one", options);
  const auto expected = contents(folder.path() / "one");
  CHECK(expected.size() > 6);
  for (const int threads : {1, 3, 8}) {
    options.threads = threads;
    const fs::path other = folder.path() / ("threads" + std::to_string(threads));
    (void)run_pack(folder.str("src"), other, options);
    CHECK(contents(other) == expected);
  }
  const std::uint64_t first = GENERATE(0, 1);
  std::uint64_t made = 0;
  for (std::uint64_t part = first; part < 4 + first; ++part) {
    options.part = {part, 4};
    const PackResult result = run_pack(folder.str("src"), folder.path() / "parts", options);
    made += result.shards_made;
    CHECK(result.complete == (part == 3 + first));
    CHECK(fs::exists(folder.path() / "parts/manifest.json") == result.complete);
  }
  CHECK(contents(folder.path() / "parts") == expected);
  CHECK(made == manifest_from_json(expected.at("manifest.json"), "").shards.size());
}

TEST_CASE("the shuffle contains every record once; its order depends on the seed") {
  TemporaryFolder folder;
  fill(folder);
  PackOptions options = options_for("tfrecord");
  options.shuffle = true;
  (void)run_pack(folder.str("src"), folder.path() / "a", options);
  options.seed = 1;
  (void)run_pack(folder.str("src"), folder.path() / "b", options);
  const std::vector<Sample> source = samples(folder.str("src")), a = samples(folder.str("a")),
                            b = samples(folder.str("b"));
  CHECK(a != source);
  CHECK(b != source);
  CHECK(a != b);
  CHECK(sorted(a) == sorted(source));
  CHECK(sorted(b) == sorted(source));
}

// The sample keys of each split.
std::map<std::string, std::set<std::string>> split_keys(const std::string& source, const PackOptions& options) {
  const std::shared_ptr<const Dataset> data = open_dataset(source);
  const PackKeys keys(source);
  PackPlan plan(*data, keys, options);
  plan.cut(1, 10);  // shards of 10 records
  std::map<std::string, std::set<std::string>> split;
  for (const PlannedShard& shard : plan.shards()) {
    for (std::uint64_t position = shard.begin; position < shard.end; ++position)
      split[plan.split_names()[shard.split]].insert(keys.key(data->record_location(plan.id(shard.split, position))));
  }
  return split;
}

TEST_CASE("a sample stays in its split when the dataset grows, moves, or is shuffled differently") {
  TemporaryFolder folder;
  fill(folder, 200);
  PackOptions options = options_for("tfrecord");
  options.splits = parse_splits("train=0.8,val=0.1,test=0.1");
  const auto before = split_keys(folder.str("src"), options);
  CHECK(before.at("train").size() + before.at("val").size() + before.at("test").size() == 200);
  CHECK(before.at("train").size() > 140);
  CHECK(before.at("val").size() > 8);
  fill(folder, 300);
  fs::rename(folder.path() / "src", folder.path() / "moved");
  options.shuffle = true;
  options.seed = 77;
  const auto grown = split_keys(folder.str("moved") + "/", options);
  for (const auto& [name, keys] : before) {
    for (const std::string& key : keys) CHECK(grown.at(name).contains(key));
  }
}

TEST_CASE("images are shrunk to the short side, and never enlarged or re-encoded unnecessarily") {
  TemporaryFolder folder;
  fill(folder);
  PackOptions options = options_for("webdataset");
  options.resize = 50;
  (void)run_pack(folder.str("src"), folder.path() / "dst", options);
  const std::vector<Sample> before = samples(folder.str("src")), after = samples(folder.str("dst"));
  REQUIRE(after.size() == before.size());
  int unchanged = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    Encoding was = Encoding::kUnknown, is = Encoding::kUnknown;
    const Size from = size_of(before[i], &was), to = size_of(after[i], &is);
    CHECK(was == is);
    if (std::min(from.width, from.height) <= 50) {
      CHECK(before[i] == after[i]);
      ++unchanged;
      continue;
    }
    CHECK(std::min(to.width, to.height) == 50);
    CHECK(std::max(to.width, to.height) == 50 * std::max(from.width, from.height) / std::min(from.width, from.height));
  }
  CHECK(unchanged == 10);

  options.resize = 0;
  options.quality = 60;
  (void)run_pack(folder.str("src"), folder.path() / "jpeg", options);
  for (const Sample& sample : samples(folder.str("jpeg"))) {
    Encoding encoding = Encoding::kUnknown;
    (void)size_of(sample, &encoding);
    CHECK(encoding == Encoding::kJpeg);
  }
}

TEST_CASE("WebP is copied byte for byte; resized lossy WebP becomes JPEG, lossless WebP PNG") {
  TemporaryFolder folder;
  const std::string corpus = "fuzz/corpus/webp/";
  folder.write("src/a/0.webp", read_text_file(corpus + "lossy.webp"));
  folder.write("src/a/1.webp", read_text_file(corpus + "lossless.webp"));
  PackOptions options = options_for("webdataset");
  (void)run_pack(folder.str("src"), folder.path() / "kept", options);
  CHECK(samples(folder.str("kept")) == samples(folder.str("src")));
  options.resize = 20;
  (void)run_pack(folder.str("src"), folder.path() / "small", options);
  std::map<Encoding, int> encodings;
  for (const Sample& sample : samples(folder.str("small"))) {
    Encoding encoding = Encoding::kUnknown;
    CHECK(size_of(sample, &encoding).height == 20);
    ++encodings[encoding];
  }
  CHECK(encodings == std::map<Encoding, int>{{Encoding::kJpeg, 1}, {Encoding::kPng, 1}});
}

TEST_CASE("a damaged record fails the pack or is skipped and listed; finished shards stay") {
  TemporaryFolder folder;
  fill(folder);
  const fs::path damaged = folder.path() / "src/class2/26.jpg";
  const std::string jpeg = read_text_file(damaged);
  folder.write("src/class2/26.jpg", jpeg.substr(0, jpeg.size() * 3 / 4));
  PackOptions options = options_for("tfrecord");
  CHECK_THROWS_WITH(run_pack(folder.str("src"), folder.path() / "dst", options),
                    Catch::Contains(damaged.string()) && Catch::Contains("--on-error skip"));
  CHECK(fs::exists(folder.path() / "dst/data-00000.tfrecord"));
  CHECK_FALSE(fs::exists(folder.path() / "dst/manifest.json"));
  CHECK_THROWS_WITH(run_verify(folder.path() / "dst"), Catch::Contains("not completely packed"));

  options.skip_damaged = true;
  const PackResult result = run_pack(folder.str("src"), folder.path() / "dst", options);
  CHECK(result.complete);
  CHECK(result.shards_found > 0);
  CHECK(result.manifest.records() == 29);
  std::vector<QuarantineEntry> skipped;
  for (const ShardEntry& entry : result.manifest.shards)
    skipped.insert(skipped.end(), entry.skipped.begin(), entry.skipped.end());
  REQUIRE(skipped.size() == 1);
  CHECK(skipped[0].file == "class2/26.jpg");
  CHECK_THAT(skipped[0].reason, Catch::Contains("JPEG") && !Catch::Contains(folder.str()));
  CHECK(run_verify(folder.path() / "dst").ok());

  // The list of skipped records is valid for --exclude.
  folder.write("list", json_text(to_json(skipped[0])) + "\n");
  options.skip_damaged = false;
  options.exclude = folder.path() / "list";
  const PackResult without = run_pack(folder.str("src"), folder.path() / "without", options);
  CHECK(without.excluded == 1);
  CHECK(without.manifest.records() == 29);
}

TEST_CASE("an image with too many pixels is rejected by a limit that no spec can raise") {
  TemporaryFolder folder;
  fill(folder);
  folder.write("src/class2/26.jpg", jpeg_bomb(encode_jpeg(picture({60, 40}, 1).view(), 92)));
  CHECK_THROWS_WITH(
      run_pack(folder.str("src"), folder.path() / "dst", options_for("tfrecord")),
      Catch::Contains("60000 x 60000 pixels; expected at most the decoder's pixel limit of 268435456; scale it down") &&
          !Catch::Contains("decode.max_pixels"));
}

TEST_CASE("records of shards are excluded by file and offset, however the path is written") {
  TemporaryFolder folder;
  fill(folder);
  (void)run_pack(folder.str("src"), folder.path() / "tar", options_for("webdataset"));
  const std::shared_ptr<const Dataset> data = open_dataset(folder.str("tar"));
  const RecordLocation location = data->record_location(7);
  CHECK(location.file.ends_with(".tar"));
  PackOptions options = options_for("tfrecord");
  options.exclude = folder.path() / "list";
  std::vector<Sample> expected = samples(folder.str("tar"));
  expected.erase(expected.begin() + 7);
  int number = 0;
  for (const std::string& file : {location.file, fs::relative(location.file).string(),
                                  folder.str("./src/../tar/") + fs::path(location.file).filename().string(),
                                  fs::path(location.file).filename().string()}) {
    CAPTURE(file);
    folder.write("list", "\n" + json_text(nlohmann::json{{"file", file}, {"offset", *location.offset}}) +
                             "\n{\"file\":\"other\"}\n");
    const std::string out = "out" + std::to_string(number++);
    const PackResult result = run_pack(folder.str("tar"), folder.path() / out, options);
    CHECK(result.exclude_entries == 2);
    CHECK(result.excluded == 1);
    CHECK(samples(folder.str(out)) == expected);
  }
  for (const char* wrong : {"no json", "[]", "{\"offset\":1}", "{\"file\":1}", "{\"file\":\"a\",\"offset\":-1}"}) {
    folder.write("list", std::string("{\"file\":\"fine\"}\n") + wrong);
    CHECK_THROWS_WITH(run_pack(folder.str("tar"), folder.path() / "x", options), Catch::Contains("line 2"));
  }
}

TEST_CASE("an interrupted pack continues") {
  TemporaryFolder folder;
  fill(folder);
  PackOptions options = options_for("recordio");
  options.resize = 40;
  const fs::path dst = folder.path() / "dst";
  const PackResult all = run_pack(folder.str("src"), dst, options);
  const auto expected = contents(dst);

  const PackResult again = run_pack(folder.str("src"), dst, options);
  CHECK(again.complete);
  CHECK(again.shards_made == 0);
  CHECK(again.shards_found == all.shards_made);

  // A missing shard, a missing index and a truncated shard are rewritten, and nothing else.
  fs::remove(dst / "data-00001.rec");
  fs::remove(dst / "data-00000.idx");
  fs::resize_file(dst / "data-00002.rec", 10);
  const PackResult mended = run_pack(folder.str("src"), dst, options);
  CHECK(mended.shards_made == 3);
  CHECK(contents(dst) == expected);

  // The state after a kill: no manifest, a half-written shard.
  folder.write("killed/.unstarve-pack/data-00000.rec.partial", "half");
  const PackResult resumed = run_pack(folder.str("src"), folder.path() / "killed", options);
  CHECK(resumed.shards_made == all.shards_made);
  CHECK(contents(folder.path() / "killed") == expected);
}

TEST_CASE("folders with other content are rejected") {
  TemporaryFolder folder;
  fill(folder);
  PackOptions options = options_for("webdataset");
  const fs::path dst = folder.path() / "dst";
  (void)run_pack(folder.str("src"), dst, options);
  const auto before = contents(dst);
  PackOptions other = options;
  other.quality = 50;
  CHECK_THROWS_WITH(run_pack(folder.str("src"), dst, other), Catch::Contains("options.quality: found 0; expected 50"));
  other = options;
  other.format = "tfrecord";
  CHECK_THROWS_WITH(run_pack(folder.str("src"), dst, other), Catch::Contains("format: found \"webdataset\""));
  fill(folder, 31);
  CHECK_THROWS_WITH(run_pack(folder.str("src"), dst, options),
                    Catch::Contains("source.records: found 30; expected 31"));
  CHECK(contents(dst) == before);

  folder.write("full/notes.txt", "mine");
  CHECK_THROWS_WITH(
      run_pack(folder.str("src"), folder.path() / "full", options),
      Catch::Contains("is not empty and has no manifest.json") && Catch::Contains("If manifest.json was lost"));
  CHECK_THROWS_WITH(run_pack(folder.str("src"), folder.path() / "full/notes.txt", options),
                    Catch::Contains("not a folder"));
  CHECK_THROWS_WITH(run_pack(folder.str("src"), folder.path() / "src/packed", options), Catch::Contains("is inside"));
  CHECK_THROWS_WITH(run_pack(folder.str("src") + "/", folder.path() / "src", options), Catch::Contains("is inside"));
  CHECK_FALSE(fs::exists(folder.path() / "src/packed"));
}

TEST_CASE("a URL is rejected as output folder") {
  TemporaryFolder folder;
  fill(folder);
  const fs::path before = fs::current_path();
  folder.folder("here");
  fs::current_path(folder.path() / "here");
  for (const char* url : {"s3://bucket/out", "gs://bucket", "https://host/out/", "azure+x://y"}) {
    CHECK_THROWS_WITH(run_pack(folder.str("src"), url, options_for("webdataset")),
                      Catch::Contains(std::string("pack: ") + url + " is a URL"));
  }
  CHECK(fs::is_empty("."));
  (void)run_pack(folder.str("src"), "a:/b", options_for("webdataset"));
  fs::current_path(before);
}

TEST_CASE("splits and parts are parsed; invalid ones are rejected") {
  const std::vector<SplitShare> splits = parse_splits("train=0.9,val=0.1");
  REQUIRE(splits.size() == 2);
  CHECK(splits[1].name == "val");
  CHECK(splits[1].share == 0.1);
  for (const char* wrong : {"", "train", "train=", "train=x", "train=0.5", "train=0.9,val=0.2", "a=0.5,a=0.5", "a/b=1",
                            "=1", "a=1,", "a=-1,b=2"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse_splits(wrong), Error);
  }
  CHECK(parse_part("3/8").number == 3);
  for (const char* wrong : {"", "3", "/8", "3/", "9/8", "0/0", "-1/8", "1/8x", "a/b"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse_part(wrong), Error);
  }
  CHECK(parse_splits("a=0.3333333,b=0.3333333,c=0.3333334").size() == 3);
}

TEST_CASE("keys are locations relative to the source") {
  TemporaryFolder folder;
  folder.folder("photos/cat");
  const std::string photos = folder.str("photos");
  const auto key = [](const std::string& source, const RecordLocation& location) {
    return PackKeys(source).key(location);
  };
  CHECK(key(photos, {.file = photos + "/cat/1.jpg"}) == "cat/1.jpg");
  CHECK(key(photos + "/", {.file = photos + "//cat/1.jpg"}) == "cat/1.jpg");
  // A file name that looks like a location is a file name.
  CHECK(key(photos, {.file = photos + "/a.tar b record 5 at offset 9"}) == "a.tar b record 5 at offset 9");
  const RecordLocation member{.file = "d/x y.tar", .member = "cat/1", .number = 5, .offset = 9};
  CHECK(key("d/*.tar", member) == "x y.tar cat/1 record 5");
  CHECK(PackKeys("d/*.tar").name(member) == "cat/1");
  CHECK(key("s3://bucket/a/x-{0..7}.tar", {.file = "s3://bucket/a/x-3.tar", .member = "m", .number = 5, .offset = 9}) ==
        "x-3.tar m record 5");
  const RecordLocation record{.file = "d/x-0.tfrecord", .number = 5, .offset = 9};
  CHECK(key("d/x-{0..7}.tfrecord#image=a", record) == "x-0.tfrecord record 5");
  CHECK(PackKeys("d").name(record) == "d/x-0.tfrecord-00000005");
  CHECK(PackKeys("d/x-0.tfrecord*").name(record) == "x-0.tfrecord-00000005");
  // Adding rows at the start of a list does not change the splits.
  const RecordLocation listed{.file = photos + "/cat/1.jpg", .number = 3, .list = photos + "/all.csv"};
  CHECK(key(photos, listed) == "cat/1.jpg");
  CHECK(PackKeys(photos).name(listed) == "cat/1.jpg");
  // Reference values computed in Python. They must never change: the splits of existing packs depend on them.
  CHECK(stable_hash("") == 0xf52a15e9a9b5e89bULL);
  CHECK(stable_hash("cat/1.jpg") == 0x3f53d496ff46e530ULL);
}

}  // namespace
}  // namespace unstarve
