#include "unstarve/jobs/data/verify.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/data/pack.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

fs::path packed(const TemporaryFolder& folder, const std::string& format) {
  PackOptions options;
  options.format = format;
  options.shard_mb = 0.01;
  (void)run_pack("synthetic:classes=3,images=60,size=24,seed=5", folder.path() / "dst", options);
  return folder.path() / "dst";
}

void flip(const fs::path& file, std::size_t at) {
  std::string bytes = read_text_file(file);
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
  write_file_atomically(file, bytes);
}

TEST_CASE("an unchanged pack is correct") {
  const std::string format = GENERATE(as<std::string>{}, "tfrecord", "webdataset", "recordio");
  TemporaryFolder folder;
  const fs::path dst = packed(folder, format);
  const VerifyResult result = run_verify(dst);
  CHECK(result.ok());
  CHECK(result.manifest.records() == 60);
  CHECK(result.manifest.shards.size() > 3);
  const auto json = parse_json(to_json(result, dst));
  CHECK(json["ok"] == true);
  CHECK(json["records"] == 60);
  CHECK(json["wrong"].empty());
  CHECK_THAT(to_text(result, dst), Catch::Contains("OK: 60 records"));
}

TEST_CASE("a single changed bit is detected at any offset") {
  TemporaryFolder folder;
  const fs::path dst = packed(folder, "webdataset");
  const fs::path shard = dst / "data-00001.tar";
  const std::string before = read_text_file(shard);
  for (std::size_t at = 0; at < before.size(); at += 997) {
    flip(shard, at);
    const VerifyResult result = run_verify(dst, 2);
    REQUIRE(result.wrong.size() == 1);
    CHECK(result.wrong[0].file == "data-00001.tar");
    CHECK_THAT(result.wrong[0].reason, Catch::Contains("CRC-32C"));
    flip(shard, at);
  }
  CHECK(run_verify(dst).ok());
}

TEST_CASE("problems are listed in manifest order with their reasons") {
  TemporaryFolder folder;
  const fs::path dst = packed(folder, "recordio");
  fs::remove(dst / "data-00002.rec");
  flip(dst / "data-00001.idx", 3);
  fs::resize_file(dst / "data-00000.rec", 100);
  folder.write("dst/data-99999.rec", "stray");
  const VerifyResult result = run_verify(dst);
  REQUIRE(result.wrong.size() == 4);
  CHECK(result.wrong[0].file == "data-00000.rec");
  CHECK_THAT(result.wrong[0].reason, Catch::Contains("100 bytes; the manifest says"));
  CHECK(result.wrong[1].file == "data-00001.idx");
  CHECK(result.wrong[2].file == "data-00002.rec");
  CHECK(result.wrong[2].reason == "missing");
  CHECK(result.wrong[3].file == "data-99999.rec");
  CHECK_THAT(result.wrong[3].reason, Catch::Contains("not in the manifest"));
  CHECK_THAT(to_text(result, dst), Catch::Contains("4 files are wrong"));
}

TEST_CASE("a wrong record count is found even if all checksums are right") {
  TemporaryFolder folder;
  const fs::path dst = packed(folder, "tfrecord");
  PackManifest manifest = run_verify(dst).manifest;
  ++manifest.shards[1].records;
  write_file_atomically(dst / kManifestName, to_json(manifest));
  const VerifyResult result = run_verify(dst);
  REQUIRE(result.wrong.size() == 1);
  CHECK(result.wrong[0].file == "data-00001.tfrecord");
  CHECK_THAT(result.wrong[0].reason, Catch::Contains("records; the manifest says"));
}

// Changes a byte and the checksum in the manifest, so that only the reader of the format can detect it.
VerifyResult verified_after_flip(const fs::path& dst, std::size_t shard, std::size_t at) {
  PackManifest manifest = run_verify(dst).manifest;
  FileSum& sum = manifest.shards[shard].shard;
  flip(dst / sum.file, at);
  const std::string bytes = read_text_file(dst / sum.file);
  sum.crc32c = crc32c({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  write_file_atomically(dst / kManifestName, to_json(manifest));
  return run_verify(dst);
}

TEST_CASE("a damaged record is detected even if the checksum of its shard matches") {
  TemporaryFolder folder;
  const VerifyResult result = verified_after_flip(packed(folder, "tfrecord"), 1, 40);
  REQUIRE(result.wrong.size() == 1);
  CHECK(result.wrong[0].file == result.manifest.shards[1].shard.file);
  CHECK_THAT(result.wrong[0].reason, Catch::StartsWith("record 0 at offset 0: "));
}

TEST_CASE("problems of a Parquet pack are found") {
  TemporaryFolder folder;
  fs::path dst;
  try {
    dst = packed(folder, "parquet");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kMissing);
    return;  // a build without Parquet
  }
  const VerifyResult whole = run_verify(dst);
  CHECK(whole.ok());
  CHECK(whole.manifest.records() == 60);
  REQUIRE(whole.manifest.shards.size() > 3);
  SECTION("a changed bit, a truncated, a missing and an unknown shard") {
    const std::size_t bytes = whole.manifest.shards[0].shard.bytes;
    flip(dst / "data-00000.parquet", bytes / 2);
    fs::resize_file(dst / "data-00001.parquet", whole.manifest.shards[1].shard.bytes - 1);
    fs::remove(dst / "data-00002.parquet");
    folder.write("dst/data-99999.parquet", "stray");
    const VerifyResult result = run_verify(dst);
    REQUIRE(result.wrong.size() == 4);
    for (std::size_t i = 0; i < 3; ++i) CHECK(result.wrong[i].file == whole.manifest.shards[i].shard.file);
    CHECK_THAT(result.wrong[0].reason, Catch::Contains("CRC-32C"));
    CHECK_THAT(result.wrong[1].reason, Catch::Contains("bytes; the manifest says"));
    CHECK(result.wrong[2].reason == "missing");
    CHECK_THAT(result.wrong[3].reason, Catch::Contains("not in the manifest"));
  }
  SECTION("a wrong record count") {
    PackManifest manifest = whole.manifest;
    ++manifest.shards[1].records;
    write_file_atomically(dst / kManifestName, to_json(manifest));
    const VerifyResult result = run_verify(dst);
    REQUIRE(result.wrong.size() == 1);
    CHECK_THAT(result.wrong[0].reason, Catch::Contains("records; the manifest says"));
  }
  SECTION("a damaged page in a shard with a matching checksum") {
    const VerifyResult result = verified_after_flip(dst, 1, whole.manifest.shards[1].shard.bytes / 3);
    REQUIRE(result.wrong.size() == 1);
    CHECK(result.wrong[0].file == "data-00001.parquet");
    CHECK_THAT(result.wrong[0].reason, Catch::Contains("row group 0: damaged"));
  }
}

TEST_CASE("a folder or a pipe instead of a shard is reported, and verify does not block") {
  TemporaryFolder folder;
  const fs::path dst = packed(folder, "webdataset");
  fs::remove(dst / "data-00000.tar");
  fs::remove(dst / "data-00001.tar");
  fs::create_directory(dst / "data-00000.tar");
  REQUIRE(::mkfifo((dst / "data-00001.tar").c_str(), 0600) == 0);
  const VerifyResult result = run_verify(dst);
  REQUIRE(result.wrong.size() == 2);
  for (const WrongFile& wrong : result.wrong) CHECK_THAT(wrong.reason, Catch::Contains("not a regular file"));
}

TEST_CASE("a folder without a manifest is rejected") {
  TemporaryFolder folder;
  CHECK_THROWS_WITH(run_verify(folder.path()), Catch::Contains("manifest.json is missing"));
  CHECK_THROWS_AS(run_verify(folder.path() / "nowhere"), Error);
  CHECK_THROWS_WITH(run_verify("s3://bucket/packed"), Catch::Contains("s3://bucket/packed is a URL"));
  folder.write("a.tar", "x");
  CHECK_THROWS_WITH(run_verify(folder.path() / "a.tar"), Catch::Contains("a.tar is a file; expected a folder"));
  folder.write("manifest.json", "{}");
  CHECK_THROWS_WITH(run_verify(folder.path()), Catch::Contains("manifest.json") && Catch::Contains("missing"));
}

}  // namespace
}  // namespace unstarve
