#include "unstarve/storage/writer_formats.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <numeric>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/storage/formats/recordio/recordio.h"
#include "unstarve/storage/formats/recordio/recordio_parts.h"
#include "unstarve/storage/formats/tfrecord/tfrecord.h"
#include "unstarve/storage/formats/webdataset/webdataset.h"
#include "unstarve/storage/index/record_files.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder;

class TextSink final : public ByteSink {
 public:
  using ByteSink::write;
  void write(std::span<const std::uint8_t> bytes) override { text.append(bytes.begin(), bytes.end()); }
  [[nodiscard]] std::uint64_t position() const noexcept override { return text.size(); }
  std::string text;
};

struct Sample {
  std::string key;
  std::vector<std::uint8_t> image;
  std::int64_t label = -1;
};

// Images are opaque to the writers: any bytes will do, including magic numbers of the formats.
std::vector<Sample> some_records() {
  std::vector<Sample> records;
  for (int i = 0; i < 40; ++i) {
    Sample sample{"class " + std::to_string(i % 3) + "/" + std::to_string(i) + ".jpg", {}, i % 3};
    sample.image.resize(static_cast<std::size_t>(1 + i * 37 % 1500));
    std::iota(sample.image.begin(), sample.image.end(), static_cast<std::uint8_t>(i));
    records.push_back(sample);
  }
  for (const std::size_t at : {0u, 4u, 8u, 13u, 400u}) {  // 13: not aligned, so part of the data
    for (int i = 0; i < 4; ++i)
      records[20].image.at(at + static_cast<std::size_t>(i)) = static_cast<std::uint8_t>(kRecordioMagic >> 8 * i);
  }
  records[7].key = "deep/" + std::string(90, 'd') + "/" + std::string(99, 'e') + "/x.y.png";
  records[8].key = std::string(120, 'n') + ".jpg";
  records[9].key = std::string(300, 'l') + "/" + std::string(300, 'm');
  records[10].key = "\xC3\xA9t\xC3\xA9/\xC3\xBC.jpeg";
  records[11].key = records[12].key = records[13].key = "same.jpg";
  records[14].key = "__meta__/../a\nb";
  return records;
}

std::string shard_of(const WriterFormat& format, const std::vector<Sample>& records, std::string* index = nullptr) {
  TextSink sink;
  const std::vector<std::string> classes = {"zero", "one", "two"};
  const std::unique_ptr<RecordWriter> writer = format.make(sink, classes);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Sample& sample = records[i];
    const std::string_view name =
        sample.label < 0 ? "" : std::string_view(classes[static_cast<std::size_t>(sample.label)]);
    writer->append({sample.key, i, sample.image, "jpeg", {40, 30}, sample.label, name});
  }
  writer->finish();
  if (index != nullptr) *index = writer->index();
  return sink.text;
}

TEST_CASE("records are read as written") {
  const std::string name = GENERATE(as<std::string>{}, "tfrecord", "webdataset", "recordio");
  CAPTURE(name);
  const WriterFormat& format = find_writer_format(name);
  const std::vector<Sample> records = some_records();
  TemporaryFolder folder;
  const std::string file = "train-00000" + std::string(format.extension);
  folder.write(file, shard_of(format, records));
  RecordFilesOptions options;
  options.keep_index = false;
  const RecordFiles data({{folder.str(file), nullptr}}, format.reader(), options);
  REQUIRE(data.size() == records.size());
  RecordBuffer record;
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    data.read(id, record);
    CHECK(std::equal(record.values[0].bytes.begin(), record.values[0].bytes.end(), records[id].image.begin(),
                     records[id].image.end()));
    CHECK(record.values[1].integer == records[id].label);
  }
  if (name == "tfrecord") CHECK(data.classes() == std::vector<std::string>{"zero", "one", "two"});
  CHECK(shard_of(format, records) == shard_of(format, records));
}

TEST_CASE("records without labels stay without labels") {
  std::vector<Sample> records = some_records();
  for (Sample& sample : records) sample.label = -1;
  for (const char* name : {"tfrecord", "webdataset"}) {
    CAPTURE(name);
    TemporaryFolder folder;
    folder.write("x", shard_of(find_writer_format(name), records));
    RecordFilesOptions options;
    options.keep_index = false;
    const RecordFiles data({{folder.str("x"), nullptr}}, find_writer_format(name).reader(), options);
    CHECK(data.size() == records.size());
    CHECK(data.field_index(FieldKind::kLabel) == -1);
  }
}

TEST_CASE("names in a tar are valid paths") {
  CHECK(webdataset_name("cat/1.jpg") == "cat/1");
  CHECK(webdataset_name("cat/1.x.JPEG") == "cat/1_x");
  CHECK(webdataset_name("a.b/1.png") == "a.b/1");
  CHECK(webdataset_name("data_batch_1.bin record 17") == "data_batch_1_bin record 17");
  CHECK(webdataset_name("/../a//./b") == "x__/a/b");
  CHECK(webdataset_name("__x__/a") == "x__x__/a");
  CHECK(webdataset_name(".hidden.jpg") == "_hidden");
  CHECK(webdataset_name("") == "x");
  CHECK(webdataset_name("cat/") == "cat");
}

TEST_CASE("the index file of RecordIO has the offsets of records") {
  std::string index;
  const std::string shard = shard_of(find_writer_format("recordio"), some_records(), &index);
  std::istringstream lines(index);
  std::uint64_t id = 0, offset = 0, expected = 0;
  for (; lines >> id >> offset; ++expected) {
    CHECK(id == expected);
    REQUIRE(offset + 8 <= shard.size());
    CHECK(is_recordio_magic(reinterpret_cast<const std::uint8_t*>(shard.data()) + offset));
  }
  CHECK(expected == 40);
}

TEST_CASE("an unknown format is rejected with a list of the known ones") {
  CHECK_THROWS_WITH(find_writer_format("zip"), Catch::Contains("tfrecord, webdataset, parquet, recordio"));
}

}  // namespace
}  // namespace unstarve
