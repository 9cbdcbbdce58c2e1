#include "unstarve/storage/formats/recordio/recordio.h"
#include "unstarve/storage/source/source.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/byte_text.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/fixtures_folder.h"
#include "unstarve/storage/testing/forward_memory.h"
#include "unstarve/storage/testing/recordio_text.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::bytes_of, testing::text_of, testing::TemporaryFolder;
using testing::recordio_image, testing::recordio_record;

std::shared_ptr<const Dataset> open_rec(const std::string& path, const std::string& split = "") {
  const Source source = inspect_source(path);
  if (!recognises_recordio(source)) throw Error(ErrorKind::kInput, "not recognised");
  return open_recordio(source, split);
}

TEST_CASE("RecordIO passes the conformance suite") {
  // Every third image contains the magic, aligned so that its record is split into parts.
  const TemporaryFolder folder;
  const std::string file = folder.str("a.rec");
  std::vector<std::size_t> begins;
  testing::DatasetUnderTest test;
  test.make = [&](std::uint64_t samples) {
    std::string text;
    begins.clear();
    for (std::uint64_t i = 0; i < samples; ++i) {
      begins.push_back(text.size());
      const std::string image = "imageNo" + std::to_string(i % 10) + (i % 3 == 0 ? testing::recordio_magic() : "");
      text += recordio_record(recordio_image({static_cast<float>(i % 7)}, image + std::to_string(i), i));
    }
    std::filesystem::remove(file);  // not truncated: it may still be mapped
    folder.write("a.rec", text);
    return open_rec(file);
  };
  test.damage = [&](std::uint64_t id) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(begins[id] + 1));
    stream.put('!');
    REQUIRE(stream.flush());
    return file + " record " + std::to_string(id) + " at offset " + std::to_string(begins[id]) +
           ": not a RecordIO record: the magic";
  };
  testing::check_dataset(test);
}

TEST_CASE("labels that are no classes do not matter if labels are declined") {
  const TemporaryFolder folder;
  folder.write("x.rec", recordio_record(recordio_image({-1}, "a")) + recordio_record(recordio_image({3, 4}, "b")));
  const auto data = open_dataset(folder.str("x.rec"), "", "none");
  REQUIRE(data->size() == 2);
  CHECK(data->missing_labels().empty());
  for (std::uint64_t id = 0; id < 2; ++id) {
    RecordBuffer record;
    data->read(id, record);
    CHECK(text_of(record.values[0].bytes) == (id == 0 ? "a" : "b"));
    CHECK(record.values.size() == 1);
  }
}

TEST_CASE("the records of InsightFace without an image are left out with a notice") {
  const TemporaryFolder folder;
  const std::string range = recordio_record(recordio_image({4, 9}, ""));
  folder.write("x.rec", range + recordio_record(recordio_image({3}, "a")) + range);
  std::string notices;
  set_notice_sink([&](const std::string& text) { notices += text + "\n"; });
  const auto data = open_rec(folder.str("x.rec"));
  set_notice_sink({});
  REQUIRE(data->size() == 1);
  CHECK(data->known_label(0) == 3);
  CHECK(notices == "open recordio: left out 2 records without an image, with the ranges of ids of InsightFace\n");
}

TEST_CASE("files written by mxnet are read, with and without .idx, in one part and in several") {
  const std::string magic = testing::recordio_magic();
  for (const std::string name : {"plain", "indexed"}) {
    INFO(name);
    const TemporaryFolder folder;
    folder.write("x.rec", testing::fixture_bytes("recordio/" + name + ".rec"));
    if (name == "indexed") folder.write("x.idx", testing::fixture_bytes("recordio/indexed.idx"));
    const auto data = open_rec(name == "indexed" ? folder.str() : folder.str("x.rec"));
    REQUIRE(data->size() == 5);
    CHECK(data->format() == "recordio");
    // The indexed file has three labels per image.
    const bool labelled = name == "plain";
    CHECK(data->classes().size() == (labelled ? 3 : 0));
    CHECK(data->missing_labels() == (labelled ? "" : "several values: 3 labels per image"));
    for (std::uint64_t id = 0; id < 5; ++id) {
      RecordBuffer record;
      data->read(id, record);
      const std::string tail = name == "indexed" && id == 3 ? magic + "abcd" + magic : "";
      CHECK(text_of(record.values[0].bytes) == testing::fixture_image(id) + tail);
      CHECK((record.storage.capacity() == 0) == tail.empty());  // only records in several parts are copied
      CHECK(record.values.size() == (labelled ? 2 : 1));
      if (labelled) CHECK(record.values[1].integer == testing::kFixtureLabels[id]);
    }
  }
}

// Collects the results of a scan as text.
class TextSink final : public RecordSink {
 public:
  void add(const ScannedRecord& record) override {
    lines.push_back(std::to_string(record.offset) + "+" + std::to_string(record.length) + ":" +
                    text_of(record.encoded));
    end = record.offset + record.length;
  }
  void add_damaged(std::uint64_t offset, std::uint64_t length, std::string_view reason) override {
    lines.push_back("!" + std::string(reason));
    CHECK(offset >= end);
    CHECK(length > 0);
    end = offset + length;
  }
  std::vector<std::string> lines;
  std::uint64_t end = 0;
};

std::vector<std::string> scan(const std::string& text) {
  testing::ForwardMemory bytes(bytes_of(text));
  TextSink sink;
  recordio_format()->scan(bytes, sink);
  CHECK(sink.end == text.size());
  return sink.lines;
}

// Four records, the third in several parts.
std::vector<std::string> some_records() {
  const std::string magic = testing::recordio_magic();
  return {recordio_record(recordio_image({0}, "one")), recordio_record(recordio_image({1}, "twotwo")),
          recordio_record(recordio_image({2}, "part" + magic + magic + "ed")),
          recordio_record(recordio_image({3}, "4"))};
}

TEST_CASE("a changed byte affects at most its own record") {
  const std::vector<std::string> records = some_records();
  const std::string whole = records[0] + records[1] + records[2] + records[3];
  const std::vector<std::string> good = scan(whole);
  REQUIRE(good.size() == 4);
  std::size_t begin = records[0].size();
  for (std::size_t damaged = 1; damaged < 3; begin += records[damaged++].size()) {
    for (std::size_t at = begin; at < begin + records[damaged].size(); ++at) {
      for (const int change : {1, 0x20, 0x80}) {
        INFO(at << " ^ " << change);
        std::string bad = whole;
        bad[at] = static_cast<char>(bad[at] ^ change);
        const std::vector<std::string> lines = scan(bad);
        for (std::size_t i = 0; i < 4; ++i) {
          if (i != damaged) CHECK(std::count(lines.begin(), lines.end(), good[i]) == 1);
        }
      }
    }
  }
}

TEST_CASE("a truncated file keeps its complete records") {
  const std::vector<std::string> records = some_records();
  const std::string whole = records[0] + records[1] + records[2] + records[3];
  const std::vector<std::string> good = scan(whole);
  std::size_t complete = 0, end = records[0].size();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    if (length == end) end += records[++complete].size();
    const std::vector<std::string> lines = scan(whole.substr(0, length));
    REQUIRE(lines.size() >= complete);
    CHECK(std::equal(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(complete), lines.begin()));
    for (std::size_t i = complete; i < lines.size(); ++i) CHECK(lines[i][0] == '!');
  }
}

TEST_CASE("records that are not images are reported, and a wrong length stays within bounds") {
  CHECK_THAT(scan(recordio_record("short"))[0], Catch::Contains("expected an image header"));
  CHECK_THAT(scan(recordio_record(recordio_image({-1}, "x")))[0],
             Catch::Contains("label -1.0") && Catch::Contains("expected a class number from 0 to 1048575"));
  CHECK_THAT(scan(recordio_record(recordio_image({5e9F}, "x")))[0], Catch::Contains("label 5000000"));
  CHECK_THAT(scan(recordio_record(recordio_image({0}, "")))[0], Catch::Contains("no image after the header"));
  std::string wrong = recordio_record(recordio_image({0}, "x")) + recordio_record(recordio_image({1}, "y"));
  wrong.replace(4, 4, std::string("\xff\xff\xff\x1f", 4));
  const std::vector<std::string> lines = scan(wrong);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "!the length of the record is wrong");
  CHECK_THAT(lines[1], Catch::Contains(":y"));
}

}  // namespace
}  // namespace unstarve
