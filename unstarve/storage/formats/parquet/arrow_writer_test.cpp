// Reads written files back; tests/python/formats/test_parquet.py reads them with pyarrow.
#include <catch2/catch.hpp>
#include <functional>

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/parquet/parquet_dataset.h"
#include "unstarve/storage/formats/parquet/parquet_writer.h"
#include "unstarve/storage/formats/parquet/testing/memory_sink.h"
#include "unstarve/storage/testing/memory_bytes.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using namespace unstarve::testing;

OutRecord record_of(const std::string& image, std::int64_t label, std::string_view key = "k") {
  OutRecord record;
  record.key = key;
  record.image = {reinterpret_cast<const std::uint8_t*>(image.data()), image.size()};
  record.label = label;
  return record;
}

std::string write(const std::vector<std::pair<std::string, std::int64_t>>& rows,
                  const std::vector<std::string>& classes) {
  MemorySink sink;
  const auto writer = make_parquet_writer(sink, classes);
  for (const auto& [image, label] : rows) writer->append(record_of(image, label));
  writer->finish();
  CHECK(writer->index().empty());
  return sink.bytes();
}

std::shared_ptr<const ParquetDataset> open(const std::string& bytes) {
  return std::make_shared<ParquetDataset>(std::vector<Shard>{{"memory", std::make_shared<MemoryBytes>(bytes)}},
                                          ParquetOptions{});
}

TEST_CASE("written records and class names read back equal") {
  const auto data = open(write({{"abc", 1}, {"d", 0}, {"efgh", 1}}, {"cat", "dog", "newt"}));
  REQUIRE(data->size() == 3);
  CHECK(data->classes() == std::vector<std::string>{"cat", "dog", "newt"});
  RecordBuffer record;
  data->read(2, record);
  CHECK(std::string(record.values[0].bytes.begin(), record.values[0].bytes.end()) == "efgh");
  CHECK(record.values[1].integer == 1);
}

TEST_CASE("shards in an incompletely packed folder cause a note") {
  const TemporaryFolder folder;
  folder.write("a.parquet", write({{"abc", 1}}, {"cat", "dog"}));
  const std::vector<Shard> shards{{folder.str("a.parquet"), nullptr}};
  CHECK(ParquetDataset(shards, {}).notes().empty());
  folder.folder(".unstarve-pack");
  REQUIRE(ParquetDataset(shards, {}).notes().size() == 1);
}

TEST_CASE("records without a label are written without a label") {
  CHECK(open(write({{"abc", -1}}, {}))->field_index(FieldKind::kLabel) == -1);
  const auto data = open(write({{"abc", -1}, {"d", 1}}, {"cat", "dog"}));
  RecordBuffer record;
  CHECK_THROWS_AS(data->read(0, record), Error);
  data->read(1, record);
  CHECK(record.values[1].integer == 1);
}

TEST_CASE("images larger than the limit get their own row groups; small images share one") {
  std::vector<std::pair<std::string, std::int64_t>> rows;
  for (int i = 0; i < 6; ++i) rows.emplace_back(std::string(3'000'000, static_cast<char>('a' + i)), i);
  const auto data = open(write(rows, {}));
  CHECK_THAT(data->location(2), Catch::Contains("record 2"));
  CHECK_THAT(data->location(3), Catch::Contains("record 3"));
  RecordBuffer record;
  data->read(5, record);
  CHECK(record.values[0].bytes.size() == 3'000'000);
  CHECK(record.values[0].bytes.back() == 'f');
}

TEST_CASE("the same records make the same bytes") {
  CHECK(write({{"abc", 1}, {"d", 0}}, {"x", "y"}) == write({{"abc", 1}, {"d", 0}}, {"x", "y"}));
}

TEST_CASE("a label that is not a class is rejected") {
  CHECK_THROWS_WITH(write({{"abc", 2}}, {"x", "y"}), Catch::Contains("label 2") && Catch::Contains("2 classes"));
}

TEST_CASE("the error of a failing sink is thrown, and nothing more is written") {
  for (std::size_t limit = 0; limit < 700; limit += 13) {
    MemorySink sink;
    sink.limit(limit);
    bool failed = false;
    try {
      const auto writer = make_parquet_writer(sink, {"x"}, 1);
      for (int i = 0; i < 4; ++i) writer->append(record_of("some bytes", 0));
      writer->finish();
    } catch (const Error& error) {
      failed = true;
      CHECK(error.kind() == ErrorKind::kIo);
      CHECK_THAT(error.what(), Catch::Contains("no space left"));
    }
    CHECK(failed);
    CHECK(sink.bytes().size() <= limit);
  }
}

TEST_CASE("an abandoned writer writes no footer") {
  MemorySink sink;
  {
    const auto writer = make_parquet_writer(sink, {}, 1);
    writer->append(record_of("abc", 0));
  }
  CHECK_THROWS_AS(open(sink.bytes()), Error);
}

}  // namespace
}  // namespace unstarve
