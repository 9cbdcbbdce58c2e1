#include "unstarve/jobs/data/quarantine.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/data/inspect.h"
#include "unstarve/jobs/pack/pack_keys.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {

TEST_CASE("pack leaves out the records of a quarantine list") {
  const testing::TemporaryFolder folder;
  const std::string photos = folder.str("photos");
  const std::vector<BadSample> bad = {
      {3, {.file = photos + "/cat/1.jpg"}, "JPEG: truncated \"here\"\nand there"},
      {9, {.file = photos + "/x.tfrecord", .number = 5, .offset = 90112}, "CRC"},
      {12, {.file = photos + "/x.parquet", .number = 70}, "the row has no image bytes"},
      {13, {.file = photos + "/dog/1.jpg", .number = 4, .list = photos + "/list.csv"}, "PNG"},
  };
  const auto list = folder.path() / "bad.jsonl";
  write_quarantine(list, bad);
  const PackKeys keys(photos);
  const ExcludeList excluded(list, keys);
  CHECK(excluded.size() == 4);
  for (const BadSample& sample : bad) CHECK(excluded.contains(sample.location, keys));
  // The result does not depend on the path by which the file was opened.
  CHECK(excluded.contains({.file = photos + "/dog/1.jpg"}, keys));
  CHECK_FALSE(excluded.contains({.file = photos + "/x.tfrecord", .number = 6, .offset = 190112}, keys));
  CHECK_FALSE(excluded.contains({.file = photos + "/x.tfrecord", .number = 0, .offset = 0}, keys));
  CHECK_FALSE(excluded.contains({.file = photos + "/x.parquet", .number = 0}, keys));
  CHECK_FALSE(excluded.contains({.file = photos + "/cat/2.jpg"}, keys));

  const std::string lines = quarantine_lines(bad);
  const auto first = parse_json(lines.substr(0, lines.find('\n')));
  CHECK(first == nlohmann::json{{"file", photos + "/cat/1.jpg"}, {"offset", 0}, {"reason", bad[0].reason}});
  CHECK(quarantine_lines(std::vector<BadSample>{}).empty());

  std::vector<CorruptRecord> corrupt;
  for (const BadSample& sample : bad) corrupt.push_back({sample.id, sample.location, sample.reason});
  CHECK(quarantine_lines(corrupt) == lines);
}

// Latin-1 names are common, but not valid in JSON.
TEST_CASE("a name that is not UTF-8 survives writing and reading a quarantine list") {
  const testing::TemporaryFolder folder;
  const std::string photos = folder.str("photos");
  const std::vector<BadSample> bad = {{3, {.file = photos + "/caf\xe9/1.jpg"}, "cut"},
                                      {4, {.file = photos + "/caf\xc3\xa9/2.jpg"}, "\xff"}};
  const auto list = folder.path() / "bad.jsonl";
  write_quarantine(list, bad);
  const std::string lines = quarantine_lines(bad);
  const auto first = parse_json(lines.substr(0, lines.find('\n')));
  CHECK(first["file"] == photos + "/caf\xef\xbf\xbd/1.jpg");
  CHECK_FALSE(parse_json(lines.substr(lines.find('\n') + 1)).contains("file_bytes"));
  const PackKeys keys(photos);
  const ExcludeList excluded(list, keys);
  for (const BadSample& sample : bad) CHECK(excluded.contains(sample.location, keys));
  CHECK_FALSE(excluded.contains({.file = photos + "/caf\xe8/1.jpg"}, keys));

  // A list with only the readable name is accepted.
  folder.write("readable.jsonl", "{\"file\": \"" + photos + "/cat/1.jpg\", \"offset\": 0}");
  CHECK(ExcludeList(folder.path() / "readable.jsonl", keys).contains({.file = photos + "/cat/1.jpg"}, keys));
  for (const char* const wrong : {"", "6", "6x", "+6", "636"}) {
    const nlohmann::ordered_json json = {{"file", "x"}, {"file_bytes", wrong}};
    CHECK_THROWS_WITH(quarantine_entry_from_json(json, "l"), Catch::Contains("\"file_bytes\" is not a name in hex"));
  }
}

}  // namespace unstarve
