// Reading Parquet with Arrow: files of other writers, the conformance suite, damage, and the number of reads.
#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/formats/parquet/parquet.h"
#include "unstarve/storage/formats/parquet/parquet_dataset.h"
#include "unstarve/storage/formats/parquet/parquet_writer.h"
#include "unstarve/storage/formats/parquet/testing/memory_sink.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/fixtures_folder.h"
#include "unstarve/storage/testing/memory_bytes.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using namespace unstarve::testing;

std::string image_of(std::uint64_t id) { return "image " + std::to_string(id) + std::string(id * 37 % 300, 'x'); }

// Rows [first, end), `group_rows` per row group.
std::string file_of(std::uint64_t first, std::uint64_t end, std::size_t group_rows = 4) {
  MemorySink sink;
  const auto writer = make_parquet_writer(sink, {"a", "b", "c", "d", "e"}, group_rows);
  for (std::uint64_t id = first; id < end; ++id) {
    const std::string image = image_of(id), key = std::to_string(id) + ".jpg";
    OutRecord record;
    record.key = key;
    record.number = id;
    record.image = {reinterpret_cast<const std::uint8_t*>(image.data()), image.size()};
    record.label = static_cast<std::int64_t>(id % 5);
    writer->append(record);
  }
  writer->finish();
  return sink.bytes();
}

std::shared_ptr<const ParquetDataset> open_memory(const std::string& bytes, const ParquetOptions& options = {},
                                                  Access access = Access::kRanges) {
  return std::make_shared<ParquetDataset>(std::vector<Shard>{{"memory", std::make_shared<MemoryBytes>(bytes, access)}},
                                          options);
}

std::string text_of(const Dataset& data, std::uint64_t id) {
  RecordBuffer record;
  data.read(id, record);
  const auto bytes = record.values.at(0).bytes;
  return {bytes.begin(), bytes.end()};
}

std::int64_t label_of(const Dataset& data, std::uint64_t id) {
  RecordBuffer record;
  data.read(id, record);
  return record.values.at(1).integer;
}

std::string parquet_fixture(const std::string& name) { return (fixture("parquet") / name).string(); }

TEST_CASE("files written by datasets and pyarrow read back equal") {
  const std::string name =
      GENERATE(as<std::string>(), "datasets.parquet", "plain.parquet", "zstd.parquet", "v2.parquet", "delta.parquet");
  const Access access = GENERATE(Access::kMapped, Access::kRanges);
  INFO(name);
  const auto data = open_memory(fixture_bytes("parquet/" + name), {}, access);
  CHECK(data->format() == "parquet");
  REQUIRE(data->size() == kFixtureLabels.size());
  for (std::uint64_t id = 0; id < data->size(); ++id) {
    CHECK(text_of(*data, id) == fixture_image(id));
    const std::string& shown = data->classes().at(static_cast<std::size_t>(label_of(*data, id)));
    const std::int64_t label = kFixtureLabels.at(id);
    // Classes without names are named by their numbers.
    CHECK((shown == kFixtureNames.at(static_cast<std::size_t>(label)) || shown == std::to_string(label)));
  }
  const std::vector<std::string> named{"zero", "one", "two"}, sorted{"one", "two", "zero"}, numbers{"0", "1", "2"};
  CHECK(data->classes() == (name == "datasets.parquet"                          ? named
                            : name == "zstd.parquet" || name == "delta.parquet" ? sorted
                                                                                : numbers));
}

TEST_CASE("Parquet is recognised by content; shards and splits are opened") {
  const auto shards = open_dataset(parquet_fixture("train-{00000..00001}-of-00002.parquet"));
  REQUIRE(shards->size() == 5);
  CHECK(shards->format() == "parquet");
  for (std::uint64_t id = 0; id < 5; ++id) CHECK(text_of(*shards, id) == fixture_image(id));
  CHECK(shards->location(4) == parquet_fixture("train-00001-of-00002.parquet") + " record 1");
  CHECK(open_dataset(parquet_fixture("train-*.parquet"), "train")->size() == 5);
  const auto unlabelled = open_dataset(parquet_fixture("unlabelled.parquet"));
  CHECK(unlabelled->field_index(FieldKind::kLabel) == -1);
  CHECK(text_of(*unlabelled, 3) == fixture_image(3));
  const auto other = open_dataset(parquet_fixture("zstd.parquet") + "#image=img,label=cls,cache_mb=1");
  CHECK(text_of(*other, 2) == fixture_image(2));

  TemporaryFolder folder;
  folder.write("set/train-0.parquet", file_of(0, 7));
  folder.write("set/train-1.parquet", file_of(7, 9));
  folder.write("set/test-0.parquet", file_of(9, 12));
  CHECK(open_dataset(folder.str("set"), "train")->size() == 9);
  CHECK(text_of(*open_dataset(folder.str("set"), "test"), 2) == image_of(11));
  CHECK_THROWS_AS(open_dataset(folder.str("set")), Error);
}

TEST_CASE("files that cannot be opened are rejected with the reason") {
  const auto opening = [](const std::string& text) { return [text] { (void)open_dataset(text); }; };
  CHECK_THAT(error_message(opening(parquet_fixture("lists.parquet"))),
             Catch::Contains("lists.parquet") && Catch::Contains("list)"));
  CHECK_THAT(error_message(opening(parquet_fixture("plain.parquet") + "#label=other"), ErrorKind::kArgument),
             Catch::Contains("column 'other' cannot be the label; expected integers or strings; available: ") &&
                 Catch::Contains("other (DOUBLE)"));
  CHECK_THAT(error_message(opening(parquet_fixture("plain.parquet") + "#colour=red"), ErrorKind::kArgument),
             Catch::Contains("colour"));
  CHECK_THAT(error_message(opening(parquet_fixture("{plain,zstd}.parquet"))),
             Catch::Contains("labels are numbers in") && Catch::Contains("strings in"));
  CHECK_THAT(error_message([] { (void)open_memory("PAR1"); }), Catch::Contains("memory") && Catch::Contains("4 bytes"));
}

TEST_CASE("a file without rows is rejected alone and skipped among others") {
  const TemporaryFolder folder;
  folder.write("a.parquet", file_of(0, 0));
  const auto opening = [](const std::string& text) { return [text] { (void)open_dataset(text); }; };
  CHECK(error_message(opening(folder.str("a.parquet"))) == "open parquet " + folder.str("a.parquet") + ": no rows");
  CHECK(error_message(opening(folder.str())) == "open parquet " + folder.str("a.parquet") + ": no rows");
  folder.write("c.parquet", file_of(0, 0));
  CHECK(error_message(opening(folder.str())) == "open parquet " + folder.str("a.parquet") + ", ...: no rows");
  folder.write("b.parquet", file_of(3, 7));
  const auto data = open_dataset(folder.str());
  REQUIRE(data->size() == 4);
  CHECK(text_of(*data, 3) == image_of(6));
}

TEST_CASE("rows without image bytes or label are errors of their own records only") {
  const auto data = open_dataset(parquet_fixture("gaps.parquet"));
  REQUIRE(data->size() == 5);
  CHECK(text_of(*data, 0) == fixture_image(0));
  CHECK(label_of(*data, 0) == 2);
  CHECK_THAT(error_message([&] { (void)text_of(*data, 1); }),
             Catch::Contains("gaps.parquet record 1") && Catch::Contains("no image bytes"));
  CHECK_THAT(error_message([&] { (void)text_of(*data, 2); }), Catch::Contains("no image bytes"));
  CHECK_THAT(error_message([&] { (void)text_of(*data, 3); }), Catch::Contains("no label"));
  CHECK_THAT(error_message([&] { (void)text_of(*data, 4); }), Catch::Contains("no label"));
}

TEST_CASE("mapped Parquet passes the conformance suite") {
  TemporaryFolder folder;
  check_dataset({[&](std::uint64_t samples) {
                   folder.write("a.parquet", file_of(0, samples / 3));
                   folder.write("b.parquet", file_of(samples / 3, samples));
                   return open_dataset(folder.str("*.parquet"));
                 },
                 {}});
}

TEST_CASE("Parquet that is not mapped passes the conformance suite") {
  const std::uint64_t cache_bytes = GENERATE(std::uint64_t{1}, std::uint64_t{8000}, std::uint64_t{1} << 30);
  ParquetOptions options;
  options.cache_bytes = cache_bytes;
  check_dataset({[&](std::uint64_t samples) { return open_memory(file_of(0, samples), options); }, {}});
}

// Damage always affects a whole row group, so each row group holds one record here.
TEST_CASE("a damaged page makes its row group unreadable and passes the conformance suite") {
  TemporaryFolder folder;
  const DatasetUnderTest test{
      [&](std::uint64_t samples) {
        folder.write("a.parquet", file_of(0, samples, 1));
        return open_dataset(folder.str("a.parquet") + "#cache_mb=0");
      },
      [&](std::uint64_t id) {
        std::string bytes = file_of(0, 23, 1);
        const std::size_t at = bytes.find(image_of(id));
        REQUIRE(at != std::string::npos);
        bytes[at] = 'X';
        std::fstream file(folder.path() / "a.parquet", std::ios::in | std::ios::out | std::ios::binary);
        file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));  // in place, under the map
        return "a.parquet row group " + std::to_string(id) + ": damaged: ";
      }};
  check_dataset(test);
}

TEST_CASE("a damaged row group leaves the others readable") {
  std::string bytes = file_of(0, 12, 4);
  bytes[bytes.find(image_of(5))] = 'X';
  const auto data = open_memory(bytes);
  for (const std::uint64_t id : {0, 1, 2, 3, 8, 9, 10, 11}) CHECK(text_of(*data, id) == image_of(id));
  for (const std::uint64_t id : {4, 5, 6, 7}) {
    CHECK_THAT(error_message([&] { (void)text_of(*data, id); }), Catch::Contains("memory row group 1: damaged"));
  }
  CHECK(data->decoded_groups() == 3);  // the damage was found once, not once per row
}

// Reads all readable records of arbitrary bytes.
void read_readable(const std::string& bytes, Access access) {
  try {
    const auto data = open_memory(bytes, {}, access);
    RecordBuffer record;
    for (std::uint64_t id = 0; id < std::min<std::uint64_t>(data->size(), 100); ++id) {
      try {
        data->read(id, record);
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::kInput);
        CHECK_THAT(error.what(), Catch::Contains("memory row group") || Catch::Contains("memory record "));
      }
    }
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInput);
    CHECK_THAT(error.what(), Catch::Contains("memory"));
  }
}

TEST_CASE("a file truncated at any byte is rejected") {
  for (const std::string& bytes : {file_of(0, 5), fixture_bytes("parquet/v2.parquet")}) {
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      INFO(length);
      CHECK_THROWS_AS(open_memory(bytes.substr(0, length)), Error);
    }
  }
}

TEST_CASE("a file truncated while it is open is an error with file and offset") {
  const TemporaryFolder folder;
  folder.write("mapped.parquet", file_of(0, 12));
  for (const char* name : {"zstd.parquet", "plain.parquet", "delta.parquet"})
    folder.write(name, fixture_bytes("parquet/" + std::string(name)));
  for (const char* name : {"mapped.parquet", "zstd.parquet", "plain.parquet", "delta.parquet"}) {
    const std::string path = folder.str(name);
    const auto data = open_dataset(path);
    std::filesystem::resize_file(path, 0);
    CHECK_THAT(error_message([&] { (void)text_of(*data, 0); }, ErrorKind::kIo),
               Catch::Contains(path) && Catch::Contains("the bytes from offset 0 on are lost"));
  }
}

TEST_CASE("any changed byte leads to an Error at most") {
  for (const char* name : {"v2.parquet", "zstd.parquet", "plain.parquet", "datasets.parquet"}) {
    const std::string good = fixture_bytes("parquet/" + std::string(name));
    std::mt19937 random(1);
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(at % 3 == 0 ? bad[at] ^ (1 << random() % 8) : static_cast<char>(random()));
      INFO(name << " offset " << at);
      read_readable(bad, at % 2 == 0 ? Access::kMapped : Access::kRanges);
    }
  }
}

TEST_CASE("a wrong footer length is rejected before memory is allocated for it") {
  std::string bytes = file_of(0, 5);
  for (const std::uint32_t length : {0U, 1U, 0x7FFFFFFFU, 0xFFFFFFFFU, static_cast<std::uint32_t>(bytes.size())}) {
    std::string bad = bytes;
    for (std::size_t i = 0; i < 4; ++i) bad[bad.size() - 8 + i] = static_cast<char>(length >> 8 * i);
    CHECK_THROWS_AS(open_memory(bad), Error);
  }
  bytes.replace(bytes.size() - 4, 4, "PARE");
  CHECK_THAT(error_message([&] { (void)open_memory(bytes); }), Catch::Contains("encrypted"));
  bytes.replace(bytes.size() - 4, 4, "XXXX");
  CHECK_THAT(error_message([&] { (void)open_memory(bytes); }), Catch::Contains("does not end with PAR1"));
}

TEST_CASE("each row group is decoded once, in order or in any order that fits the cache") {
  const std::string bytes = file_of(0, 400, 10);
  const auto in_order = open_memory(bytes);
  for (std::uint64_t id = 0; id < 400; ++id) CHECK(text_of(*in_order, id) == image_of(id));
  CHECK(in_order->decoded_groups() == 40);

  std::vector<std::uint64_t> ids(400);
  std::iota(ids.begin(), ids.end(), 0);
  std::shuffle(ids.begin(), ids.end(), std::mt19937(1));
  const auto shuffled = open_memory(bytes);
  for (const std::uint64_t id : ids) {
    shuffled->prefetch(id);
    CHECK(text_of(*shuffled, id) == image_of(id));
  }
  CHECK(shuffled->decoded_groups() == 40);

  // read_many() decodes each group once, for any cache size.
  ParquetOptions tiny;
  tiny.cache_bytes = 1;
  const auto together = open_memory(bytes, tiny);
  std::vector<RecordBuffer> records(400);
  together->read_many(ids, records);
  CHECK(together->decoded_groups() == 40);
}

TEST_CASE("images of an uncompressed mapped file are zero-copy views") {
  const std::string bytes = file_of(0, 50, 10);
  const auto source = std::make_shared<MemoryBytes>(bytes, Access::kMapped);
  const ParquetDataset data({{"memory", source}}, {});
  RecordBuffer record;
  for (std::uint64_t id = 0; id < 50; ++id) {
    data.read(id, record);
    const std::uint8_t* at = record.values[0].bytes.data();
    CHECK((at >= source->mapped().data() && at < source->mapped().data() + source->mapped().size()));
  }
  CHECK(record.storage.capacity() == 0);
}

// Counts the bytes that are read.
class CountingBytes final : public ByteSource {
 public:
  explicit CountingBytes(const std::string& bytes) : inner_(bytes, Access::kRanges) {}
  [[nodiscard]] const std::string& name() const noexcept override { return inner_.name(); }
  [[nodiscard]] std::uint64_t size() const noexcept override { return inner_.size(); }
  [[nodiscard]] SourceStamp stamp() const noexcept override { return inner_.stamp(); }
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
    if (failing) throw Error(ErrorKind::kIo, "read memory: the connection was lost");
    count += out.size();
    inner_.read(offset, out);
  }
  mutable std::atomic<std::uint64_t> count{0};
  std::atomic<bool> failing{false};

 private:
  MemoryBytes inner_;
};

TEST_CASE("columns that are not requested are not read from a remote file") {
  const std::string bytes = fixture_bytes("parquet/plain.parquet");
  const auto source = std::make_shared<CountingBytes>(bytes);
  const ParquetDataset data({{"memory", source}}, {});
  source->count = 0;
  for (std::uint64_t id = 0; id < 5; ++id) CHECK(text_of(data, id) == fixture_image(id));
  CHECK(source->count == data.stored_bytes());
}

TEST_CASE("a lost connection is an I/O error, and the group is read again") {
  const auto source = std::make_shared<CountingBytes>(file_of(0, 5));
  const ParquetDataset data({{"memory", source}}, {});
  source->failing = true;
  CHECK_THAT(error_message([&] { (void)text_of(data, 1); }, ErrorKind::kIo),
             Catch::Contains("memory row group 0: ") && Catch::Contains("connection"));
  source->failing = false;
  CHECK(text_of(data, 1) == image_of(1));
}

TEST_CASE("the version of Arrow is known") {
  CHECK(arrow_facts().in_build);
  CHECK(arrow_facts().problem.empty());
  CHECK_FALSE(arrow_facts().version.empty());
}

}  // namespace
}  // namespace unstarve
