#include "unstarve/storage/formats/tfrecord/tfrecord.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/memory_bytes.h"
#include "unstarve/storage/testing/temporary_folder.h"
#include "unstarve/storage/testing/tfrecord_bytes.h"
#include "unstarve/storage/testing/zstd_text.h"

namespace unstarve {
namespace {

using namespace unstarve::testing;
namespace fs = std::filesystem;

std::string image_of(std::uint64_t id) { return "image " + std::to_string(id) + std::string(id * 7 % 50, 'x'); }

std::string record_of(std::uint64_t id) {
  return tfrecord(example(bytes_feature("image/encoded", image_of(id)) +
                          integer_feature("image/class/label", static_cast<std::int64_t>(id % 5))));
}

std::string records(std::uint64_t first, std::uint64_t end) {
  std::string bytes;
  for (std::uint64_t id = first; id < end; ++id) bytes += record_of(id);
  return bytes;
}

// A dataset of these bytes, without a file and without a stored index.
std::shared_ptr<const RecordFiles> open_memory(const std::string& bytes, Access access = Access::kMapped,
                                               const TfRecordFields& fields = {}) {
  auto source = std::make_shared<MemoryBytes>(bytes, access);
  return std::make_shared<RecordFiles>(std::vector<Shard>{{"memory", source}}, make_tfrecord_format(fields),
                                       RecordFilesOptions{false, 1});
}

std::string text_of(const Dataset& data, std::uint64_t id) {
  RecordBuffer record;
  data.read(id, record);
  const auto bytes = record.values.at(0).bytes;
  return {bytes.begin(), bytes.end()};
}

void overwrite(const fs::path& file, std::uint64_t offset, char flip) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset));
  const char before = static_cast<char>(stream.get());
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.put(static_cast<char>(before ^ flip));
  if (!stream.flush()) throw std::runtime_error("cannot change " + file.string());
}

TEST_CASE("plain TFRecord passes the conformance suite") {
  TemporaryFolder folder;
  const DatasetUnderTest test{[&](std::uint64_t samples) {
                                const std::uint64_t first = samples / 3;
                                folder.write("a.tfrecord", records(0, first));
                                folder.write("b.tfrecord", "");
                                folder.write("c.tfrecord", records(first, samples));
                                return open_dataset(folder.str("*.tfrecord"));
                              },
                              [&](std::uint64_t id) {
                                // In the middle of the data; the record is in the third shard of make(23).
                                const std::uint64_t offset = records(7, id).size() + record_of(id).size() / 2;
                                overwrite(folder.path() / "c.tfrecord", offset, 4);
                                return "c.tfrecord record " + std::to_string(id - 7) + " at offset " +
                                       std::to_string(records(7, id).size());
                              }};
  check_dataset(test);
}

TEST_CASE("compressed TFRecord passes the conformance suite") {
  const int window_bits = GENERATE(15, 31, 0);  // 0: Zstandard
  const auto compressed = [&](const std::string& text) {
    return window_bits == 0 ? testing::zstandard(text) : deflated(text, window_bits);
  };
  TemporaryFolder folder;
  check_dataset({[&](std::uint64_t samples) {
                   folder.write("a.tfrecord.z", compressed(records(0, samples / 2)));
                   folder.write("b.tfrecord.z", compressed(records(samples / 2, samples)));
                   return open_dataset(folder.str());
                 },
                 {}});
}

TEST_CASE("TFRecord that is not mapped passes the conformance suite") {
  check_dataset({[](std::uint64_t samples) { return open_memory(records(0, samples), Access::kRanges); }, {}});
}

TEST_CASE("files written by TensorFlow read back equal") {
  const fs::path fixtures = "tests/fixtures/tfrecord";
  const nlohmann::json expected = parse_json(read_text_file(fixtures / "expected.json"));
  TemporaryFolder folder;  // indexes are written next to the files
  for (const auto& [name, described] : expected.items()) {
    INFO(name);
    fs::copy(fixtures / name, folder.path() / name);
    const bool named = name == "named.tfrecord";
    const auto data = open_dataset(folder.str(name) + (named ? "#image=picture,label=kind" : ""));
    REQUIRE(data->size() == described.size());
    CHECK(data->format() == "tfrecord");
    RecordBuffer record;
    for (std::uint64_t id = 0; id < data->size(); ++id) {
      data->read(id, record);
      CHECK(record.values[0].bytes.size() == described[id]["bytes"]);
      CHECK(crc32(record.values[0].bytes) == described[id]["crc32"]);
      CHECK(record.values[1].integer == described[id]["label"]);
      if (described[id]["class"].is_string()) {
        CHECK(data->classes().at(static_cast<std::size_t>(record.values[1].integer)) == described[id]["class"]);
      }
      const std::optional<Size> size = data->known_size(id);
      REQUIRE(size);
      CHECK(size->width == 9);
      CHECK(size->height >= 6);
    }
  }
  const auto both = open_dataset(folder.str("datasets.tfrecord-{00000..00001}-of-00002"));
  CHECK(both->size() == 10);
  CHECK(both->classes().size() == 4);
  CHECK(open_dataset(folder.str("datasets.*"))->size() == 10);  // without the indexes in the same folder
}

TEST_CASE("damage makes only its own TFRecord unreadable") {
  const std::string good = records(0, 6);
  const std::size_t begin = records(0, 2).size();
  const std::size_t length = record_of(2).size();
  for (std::size_t at = begin; at < begin + length; ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    const auto data = open_memory(bad);
    INFO("offset " << at);
    REQUIRE(data->size() == 6);
    for (const std::uint64_t id : {0, 1, 3, 4, 5}) CHECK(text_of(*data, id) == image_of(id));
    const std::string message = error_message([&] { (void)text_of(*data, 2); });
    CHECK_THAT(message,
               Catch::Contains("memory record 2 at offset " + std::to_string(begin) + ": the checksum of the"));
  }
}

TEST_CASE("garbage between TFRecords is skipped") {
  const std::string garbage = std::string(100'000, '\0') + "noise" + std::string(70'000, '\xff');
  const auto access = GENERATE(Access::kMapped, Access::kRanges);
  const auto data = open_memory(records(0, 3) + garbage + records(3, 5), access);
  REQUIRE(data->size() == 6);
  CHECK(text_of(*data, 2) == image_of(2));
  CHECK(text_of(*data, 4) == image_of(3));
  CHECK(text_of(*data, 5) == image_of(4));
  CHECK_THROWS_AS(text_of(*data, 3), Error);
}

// Checks that every complete record before the cut is read and that the truncated record is an error.
void check_cut(const std::string& whole, const std::function<std::string(const std::string&)>& packed,
               std::size_t shortest_step) {
  const std::string stored = packed(whole);
  for (std::size_t cut = 0; cut < stored.size(); cut += shortest_step) {
    INFO("cut at " << cut);
    std::shared_ptr<const Dataset> data;
    try {
      data = open_memory(stored.substr(0, cut));
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
      CHECK_THAT(error.what(), Catch::Contains("memory"));
      continue;
    }
    std::uint64_t read = 0;
    for (std::uint64_t id = 0; id < data->size(); ++id) {
      try {
        const std::string image = text_of(*data, id);
        CHECK(image == image_of(id));
        ++read;
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::kInput);
        CHECK(id + 1 == data->size());
      }
    }
    CHECK(read > 0);
  }
}

TEST_CASE("a TFRecord file truncated at any byte gives its complete records and an error") {
  check_cut(
      records(0, 4), [](const std::string& bytes) { return bytes; }, 1);
  check_cut(
      records(0, 40), [](const std::string& bytes) { return deflated(bytes, 31); }, 1);
  check_cut(
      records(0, 40), [](const std::string& bytes) { return deflated(bytes, 15); }, 3);
  const std::string whole = records(0, 4);
  const auto data = open_memory(whole.substr(0, whole.size() - 1));
  CHECK(data->size() == 4);
  CHECK_THAT(error_message([&] { (void)text_of(*data, 3); }),
             Catch::Contains("truncated: the header declares a record of"));
}

TEST_CASE("wrong lengths in TFRecord are errors and allocate no memory") {
  for (const std::uint64_t length : {std::uint64_t{1} << 20, (std::uint64_t{1} << 30) - 17, std::uint64_t{1} << 30,
                                     std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 15}) {
    std::string header;
    append_little(header, length);
    append_little(header, mask_crc32c(crc32c(bytes_of(header))));
    const auto access = GENERATE(Access::kMapped, Access::kRanges);
    const auto data = open_memory(records(0, 2) + header + "rest of it", access);
    CHECK(data->size() == 3);
    CHECK(text_of(*data, 1) == image_of(1));
    CHECK_THROWS_AS(text_of(*data, 2), Error);
    const auto packed = open_memory(deflated(records(0, 2) + header + "rest of it", 31), access);
    CHECK(packed->size() == 3);
    CHECK(text_of(*packed, 1) == image_of(1));
  }
}

TEST_CASE("fields of the Example are selected by name") {
  const std::string bytes =
      tfrecord(example(bytes_feature("image", "first") + bytes_feature("photo", "second") +
                       integer_feature("label", 3) + integer_feature("y", 1) + bytes_feature("text", "newt")));
  const auto plain = open_memory(bytes);
  CHECK(text_of(*plain, 0) == "first");
  CHECK(plain->classes() == std::vector<std::string>{"0", "1", "2", "3"});
  const auto chosen = open_memory(bytes, Access::kMapped, {"photo", "y", "text"});
  CHECK(text_of(*chosen, 0) == "second");
  CHECK(chosen->classes() == std::vector<std::string>{"0", "newt"});
  const auto access = Access::kMapped;
  CHECK_THAT(error_message([&] {
               (void)open_memory(bytes, access, {"pixels", "", ""});
             }),
             Catch::Contains("no feature pixels for the image; available: image, photo, label, y, text. Choose one"));
  CHECK_THAT(error_message([&] {
               (void)open_memory(bytes, access, {"", "z", ""});
             }),
             Catch::Contains("no feature z for the label"));
  CHECK_THAT(error_message([&] {
               (void)open_memory(bytes, access, {"label", "", ""});
             }),
             Catch::Contains("feature label has no bytes"));
}

TEST_CASE("records without an image, without a label or with a label out of range are errors") {
  const auto with = [](const std::string& more) { return tfrecord(example(bytes_feature("image", "i") + more)); };
  const auto unlabelled = open_memory(with("") + with(""));
  CHECK(unlabelled->fields().size() == 1);
  CHECK(unlabelled->classes().empty());
  CHECK(unlabelled->missing_labels() == "the features image");
  CHECK(open_memory(with(""), Access::kMapped, {"", "none", ""})->missing_labels().empty());
  const auto missing = [&](const std::string& label) {
    const auto data = open_memory(with(field(1, field(1, "label") + field(2, label))));
    CHECK(data->fields().size() == 1);
    return data->missing_labels();
  };
  CHECK(missing(field(2, field(1, std::string(4, '\1')))) == "the feature label: floats");
  CHECK(missing(field(3, field(1, varint(3) + varint(500)))) == "the feature label: several values");
  CHECK(missing(field(1, field(1, "0.5"))) == "the feature label: the float 0.5");
  CHECK(missing(field(1, field(1, "cat") + field(1, "dog"))) == "the feature label: several values");
  const auto some = open_memory(with(integer_feature("label", 0)) + with("") + with(integer_feature("label", -1)) +
                                with(integer_feature("label", std::int64_t{1} << 40)) + tfrecord(example("")));
  CHECK(some->size() == 5);
  CHECK(text_of(*some, 0) == "i");
  CHECK_THAT(error_message([&] { (void)text_of(*some, 1); }), Catch::Contains("has no class number or name"));
  CHECK_THAT(error_message([&] { (void)text_of(*some, 2); }),
             Catch::Contains("label -1 is not a class number; expected 0 to 1048575"));
  CHECK_THAT(error_message([&] { (void)text_of(*some, 3); }),
             Catch::Contains("label 1099511627776 is not a class number"));
  CHECK_THAT(error_message([&] { (void)text_of(*some, 4); }),
             Catch::Contains("no feature image/encoded, image, image_raw"));
  CHECK_THAT(error_message(
                 [&] { (void)open_memory(with(integer_feature("label", 0)) + with(bytes_feature("label", "cat"))); }),
             Catch::Contains("some records have a class number and others only a name ('cat')"));
}

TEST_CASE("TFRecord is recognised by content and by name") {
  TemporaryFolder folder;
  folder.write("data.bin.x", records(0, 3));
  CHECK(open_dataset(folder.str("data.bin.x"))->size() == 3);
  folder.write("packed", deflated(records(0, 3), 31));
  CHECK(open_dataset(folder.str("packed"))->size() == 3);
  folder.write("bad.tfrecord", "xxxxxxxxxxxx" + records(0, 3));
  CHECK(open_dataset(folder.str("bad.tfrecord"))->size() == 4);
  folder.write("other.gz", deflated("not a record at all", 31));
  CHECK_THAT(error_message([&] { (void)open_dataset(folder.str("other.gz")); }),
             Catch::Contains("a file of no known format"));
  CHECK_THAT(error_message([&] { (void)open_dataset(folder.str("data.bin.x#imag=a")); }, ErrorKind::kArgument),
             Catch::Contains("unknown option 'imag'; expected one of image, label, name"));
  for (const char* name :
       {"a.tfrecord", "a.tfrecords", "a.tfrec", "train-00001-of-00128", "a.tfrecord-0-of-1.gz", "a.tfrecord.zst"}) {
    CHECK(is_tfrecord_name(name));
  }
  for (const char* name :
       {"a.tfrecord.idx", "a.tfrecord.unstarve-index", "a-of-b", "00-of-10", "a-0-of-1.parquet", ""}) {
    CHECK_FALSE(is_tfrecord_name(name));
  }
}

TEST_CASE("splits are recognised by file name") {
  TemporaryFolder folder;
  folder.write("set-train.tfrecord-00000-of-00002", records(0, 3));
  folder.write("set-train.tfrecord-00001-of-00002", records(3, 5));
  folder.write("set-validation.tfrecord-00000-of-00001", records(5, 6));
  folder.write("README.md", "x");
  CHECK(open_dataset(folder.str(), "train")->size() == 5);
  CHECK(open_dataset(folder.str(), "validation")->size() == 1);
  CHECK_THAT(error_message([&] { (void)open_dataset(folder.str()); }),
             Catch::Contains("found the splits train, validation; choose one"));
  CHECK_THAT(error_message([&] { (void)open_dataset(folder.str(), "test"); }, ErrorKind::kArgument),
             Catch::Contains("no file of the split 'test'; found train, validation"));
}

}  // namespace
}  // namespace unstarve
