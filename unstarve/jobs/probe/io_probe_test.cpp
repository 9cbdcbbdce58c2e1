#include "unstarve/jobs/probe/io_probe.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {

TEST_CASE("the I/O probe reads a folder, a file and a glob, and reports all rates") {
  const testing::TemporaryFolder folder;
  folder.write("data/a/1.bin", std::string(300'000, 'x'));
  folder.write("data/b/2.bin", std::string(5'000, 'y'));
  folder.write("data/b/small", "too small to read from");
  for (const std::string& path : {folder.str("data"), folder.str("data/a/1.bin"), folder.str("data/*/?.bin")}) {
    INFO(path);
    const IoResult result = run_io_probe(path, 0.06);
    CHECK(result.files == (path.ends_with("1.bin") ? 1U : 2U));
    CHECK((result.reader == "io_uring" || result.reader == "pread pool"));
    CHECK(result.rows.size() == (result.note.empty() ? 12U : 6U));
    for (const IoRow& row : result.rows) {
      CHECK(row.reads_per_s > 0);
      CHECK(row.bytes_per_s > 0);
      CHECK(row.bytes_per_s <= row.reads_per_s * static_cast<double>(row.bytes) * 1.001);
    }
    const auto json = parse_json(to_json(result));
    CHECK(json["rows"].size() == result.rows.size());
    CHECK(to_text(result).find("page cache") != std::string::npos);
  }
}

TEST_CASE("the I/O probe rejects unsuitable data with a reason") {
  const testing::TemporaryFolder folder;
  folder.write("tiny", "x");
  CHECK_THROWS_AS(run_io_probe(folder.str("missing"), 0.01), Error);
  CHECK_THROWS_WITH(run_io_probe(folder.str("tiny"), 0.01),
                    Catch::Contains("found only 1 smaller files; expected files of at least 4"));
  std::filesystem::create_directory(folder.path() / "empty");
  CHECK_THROWS_WITH(run_io_probe(folder.str("empty"), 0.01), Catch::Contains("empty: found no files; expected files"));
  for (const char* const source : {"synthetic", "synthetic:images=9", "sleep:ms=1"})
    CHECK_THROWS_WITH(run_io_probe(source, 0.01),
                      Catch::Contains("inspect --io " + std::string(source) + ": generated samples are not read"));
}

}  // namespace unstarve
