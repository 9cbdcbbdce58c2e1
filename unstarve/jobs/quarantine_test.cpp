#include "unstarve/jobs/quarantine.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/jobs/pack/pack_exclude.h"
#include "unstarve/storage/temporary_folder.h"

namespace unstarve {

TEST_CASE("what the quarantine list names, packing leaves out") {
  const testing::TemporaryFolder folder;
  const std::string photos = folder.str("photos");
  const std::vector<BadSample> bad = {
      {3, photos + "/cat/1.jpg", "JPEG: truncated \"here\"\nand there"},
      {9, photos + "/x.tfrecord record 5 at offset 90112", "CRC"},
  };
  const auto list = folder.path() / "bad.jsonl";
  write_quarantine(list, bad);
  const PackKeys keys(photos);
  const ExcludeList excluded(list, keys);
  CHECK(excluded.size() == 2);
  CHECK(excluded.holds(photos + "/cat/1.jpg", keys));
  CHECK(excluded.holds(photos + "/x.tfrecord record 5 at offset 90112", keys));
  CHECK_FALSE(excluded.holds(photos + "/x.tfrecord record 6 at offset 190112", keys));
  CHECK_FALSE(excluded.holds(photos + "/cat/2.jpg", keys));

  const std::string lines = quarantine_lines(bad);
  const auto first = nlohmann::json::parse(lines.substr(0, lines.find('\n')));
  CHECK(first["reason"] == bad[0].reason);
  CHECK(quarantine_lines({}).empty());
}

}  // namespace unstarve
