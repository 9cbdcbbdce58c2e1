// Reading Arrow IPC files and folders of Dataset.save_to_disk(): files of other writers, the conformance suite, damage.
#include <algorithm>
#include <filesystem>
#include <random>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/formats/parquet/parquet_dataset.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/fixtures_folder.h"
#include "unstarve/storage/testing/memory_bytes.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using namespace unstarve::testing;

std::string arrow_fixture(const std::string& name) { return (fixture("arrow") / name).string(); }

std::shared_ptr<const ParquetDataset> ipc_in_memory(const std::string& bytes, Access access) {
  ParquetOptions options;
  options.ipc = true;
  return std::make_shared<ParquetDataset>(std::vector<Shard>{{"memory", std::make_shared<MemoryBytes>(bytes, access)}},
                                          options);
}

std::string image_text(const Dataset& data, std::uint64_t id) {
  RecordBuffer record;
  data.read(id, record);
  return {record.values.at(0).bytes.begin(), record.values.at(0).bytes.end()};
}

// The five samples of all fixtures, from `first` on.
void check_fixture_samples(const Dataset& data, std::size_t first = 0) {
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    CHECK(image_text(data, id) == fixture_image(first + id));
    RecordBuffer record;
    data.read(id, record);
    const auto label = static_cast<std::size_t>(kFixtureLabels.at(first + id));
    const std::string& shown = data.classes().at(static_cast<std::size_t>(record.values.at(1).integer));
    CHECK((shown == kFixtureNames.at(label) || shown == std::to_string(label)));
  }
}

std::string opening_error(const std::string& path, ErrorKind kind = ErrorKind::kInput, const std::string& split = "") {
  return error_message([&] { return open_dataset(path, split); }, kind);
}

TEST_CASE("Arrow streams and files of datasets and pyarrow read back equal") {
  const std::string name = GENERATE(as<std::string>(), "binary.arrow", "file.arrow", "zstd.arrow", "lz4.arrow");
  const Access access = GENERATE(Access::kMapped, Access::kRanges);
  INFO(name);
  const auto data = ipc_in_memory(fixture_bytes("arrow/" + name), access);
  CHECK(data->format() == "arrow");
  REQUIRE(data->size() == 5);
  check_fixture_samples(*data);
  CHECK(open_dataset(arrow_fixture(name))->size() == 5);
}

TEST_CASE("folders of save_to_disk are opened, those of a DatasetDict by split") {
  const auto saved = open_dataset(arrow_fixture("saved"));
  REQUIRE(saved->size() == 5);
  check_fixture_samples(*saved);
  CHECK(saved->classes() == std::vector<std::string>{"zero", "one", "two"});
  CHECK(saved->location(4) == arrow_fixture("saved/data-00001-of-00002.arrow") + " record 1");
  CHECK(open_dataset(arrow_fixture("saved"), "train")->size() == 5);
  CHECK_THAT(opening_error(arrow_fixture("saved"), ErrorKind::kArgument, "test"),
             Catch::Contains("no split 'test'; the folder contains the split 'train'"));
  CHECK(open_dataset(arrow_fixture("saved/data-*.arrow#label=none"))->fields().size() == 1);

  const auto train = open_dataset(arrow_fixture("dict"), "train");
  const auto test = open_dataset(arrow_fixture("dict") + "#cache_mb=1", "test");
  REQUIRE(train->size() == 3);
  REQUIRE(test->size() == 2);
  check_fixture_samples(*train);
  check_fixture_samples(*test, 3);
  CHECK_THAT(opening_error(arrow_fixture("dict")),
             Catch::Contains("found the splits train, test; choose one of them: split=\"train\" (--split train)"));
  CHECK_THAT(opening_error(arrow_fixture("dict"), ErrorKind::kArgument, "val"),
             Catch::Contains("no split 'val'; available: train, test"));
}

TEST_CASE("damaged descriptions of a saved dataset are errors") {
  const TemporaryFolder folder;
  std::filesystem::copy(fixture("arrow/saved"), folder.path() / "set", std::filesystem::copy_options::recursive);
  const auto state = [&](const char* text) {
    folder.write("set/state.json", text);
    return opening_error(folder.str("set"));
  };
  CHECK_THAT(state("{"), Catch::Contains("state.json: not a JSON object"));
  CHECK_THAT(state("{}"), Catch::Contains("no file in _data_files"));
  CHECK_THAT(state(R"({"_data_files": [{"filename": "../set/data-00000-of-00002.arrow"}]})"),
             Catch::Contains("expected a name in the same folder"));
  CHECK_THAT(state(R"({"_data_files": [{"filename": 3}]})"), Catch::Contains("found the name 3"));
  CHECK_THAT(state(R"({"_data_files": [{"filename": "data-00000-of-00002.arrow"}],
                       "_indices_data_files": [{"filename": "indices.arrow"}]})"),
             Catch::Contains("index mapping") && Catch::Contains("flatten_indices()"));
  folder.write("set/state.json", R"({"_data_files": [{"filename": "lost.arrow"}]})");
  CHECK_THAT(opening_error(folder.str("set"), ErrorKind::kIo), Catch::Contains("lost.arrow"));
  folder.write("dict/dataset_dict.json", R"({"splits": ["train"]})");
  CHECK_THAT(opening_error(folder.str("dict"), ErrorKind::kIo), Catch::Contains(folder.str("dict/train")));
  folder.folder("dict/train");
  CHECK_THAT(opening_error(folder.str("dict")), Catch::Contains("no *.arrow file"));
}

TEST_CASE("in a cache folder, results of map() are not shards") {
  const TemporaryFolder folder;
  std::filesystem::copy(fixture("arrow/binary.arrow"), folder.path() / "photos-train.arrow");
  std::filesystem::copy(fixture("arrow/many.arrow"), folder.path() / "cache-0123.arrow");
  folder.write("dataset_info.json", "{}");
  CHECK(open_dataset(folder.str())->size() == 5);
}

TEST_CASE("rows without image bytes or label, and files without images, are errors of Arrow files too") {
  const auto data = open_dataset(arrow_fixture("gaps.arrow"));
  REQUIRE(data->size() == 5);
  CHECK(image_text(*data, 0) == fixture_image(0));
  CHECK_THAT(error_message([&] { (void)image_text(*data, 1); }), Catch::Contains("no image bytes"));
  CHECK_THAT(error_message([&] { (void)image_text(*data, 2); }), Catch::Contains("no image bytes"));
  CHECK_THAT(error_message([&] { (void)image_text(*data, 3); }), Catch::Contains("no label"));
  CHECK_THAT(error_message([&] { (void)image_text(*data, 4); }), Catch::Contains("no label"));
  CHECK_THAT(opening_error(arrow_fixture("lists.arrow")),
             Catch::Contains("no column of encoded images") && Catch::Contains("list)"));
  CHECK(open_dataset(arrow_fixture("unlabelled.arrow"))->field_index(FieldKind::kLabel) == -1);
}

TEST_CASE("labels that are all null or -1, as those of published test sets, are no labels") {
  for (const std::string file : {"arrow/negative.arrow", "parquet/negative.parquet", "parquet/null.parquet"}) {
    INFO(file);
    const auto data = open_dataset(fixture(file).string());
    CHECK(data->size() == 5);
    CHECK(data->field_index(FieldKind::kLabel) == -1);
    CHECK(data->classes().empty());
    CHECK_THAT(data->missing_labels(), Catch::Contains("every value is null, negative"));
    CHECK(image_text(*data, 0) == fixture_image(0));
  }
  // One label among them: the other rows have none.
  const auto data = open_dataset(arrow_fixture("gaps.arrow"));
  CHECK_THAT(error_message([&] { (void)image_text(*data, 3); }), Catch::Contains("no label, although"));
  CHECK_THAT(error_message([&] { (void)image_text(*data, 4); }), Catch::Contains("label -1; expected 0 to"));
}

TEST_CASE("dictionary-encoded labels of Arrow streams and files are read") {
  const std::string name = GENERATE(as<std::string>(), "category.arrow", "category_file.arrow",
                                    "category_numbers.arrow", "unlabelled.arrow#label=words");
  INFO(name);
  const auto data = open_dataset(arrow_fixture(name));
  REQUIRE(data->size() == 5);
  check_fixture_samples(*data);
  if (name.find('#') != std::string::npos) return;
  const auto remote = ipc_in_memory(fixture_bytes("arrow/" + name), Access::kRanges);
  check_fixture_samples(*remote);
}

TEST_CASE("a stream without an end marker is read, with a note that it may have been cut") {
  const std::string bytes = fixture_bytes("arrow/binary.arrow");
  REQUIRE(bytes.ends_with(std::string("\xff\xff\xff\xff\0\0\0\0", 8)));
  CHECK(ipc_in_memory(bytes, Access::kMapped)->notes().empty());
  const auto data = ipc_in_memory(bytes.substr(0, bytes.size() - 8), Access::kMapped);
  REQUIRE(data->size() == 5);
  check_fixture_samples(*data);
  REQUIRE(data->notes().size() == 1);
  CHECK_THAT(data->notes()[0], Catch::Contains("no end marker") && Catch::Contains("after record batch 3"));
}

TEST_CASE("a damaged dictionary leads to an Error at most") {
  for (const char* name : {"category.arrow", "category_numbers.arrow"}) {
    const std::string good = fixture_bytes("arrow/" + std::string(name));
    std::mt19937 random(2);
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(at % 3 == 0 ? bad[at] ^ (1 << random() % 8) : static_cast<char>(random()));
      try {
        const auto data = ipc_in_memory(bad, at % 2 == 0 ? Access::kMapped : Access::kRanges);
        RecordBuffer record;
        for (std::uint64_t id = 0; id < std::min<std::uint64_t>(data->size(), 10); ++id) {
          try {
            data->read(id, record);
          } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::kInput);
          }
        }
      } catch (const Error& error) {
        INFO(name << " offset " << at << ": " << error.what());
        CHECK(error.kind() == ErrorKind::kInput);
      }
    }
  }
}

TEST_CASE("Arrow files pass the conformance suite") {
  const bool mapped = GENERATE(true, false);
  const auto make = [&](std::uint64_t samples) -> std::shared_ptr<const Dataset> {
    const std::string name = samples == 0 ? "none.arrow" : samples == 1 ? "one.arrow" : "many.arrow";
    if (mapped) return open_dataset(arrow_fixture(name));
    return ipc_in_memory(fixture_bytes("arrow/" + name), Access::kRanges);
  };
  check_dataset({make, {}});
}

// Arrow files have no checksums: here the offset of an image is damaged.
TEST_CASE("a damaged record batch leaves the others readable and passes the conformance suite") {
  const TemporaryFolder folder;
  const std::string bytes = fixture_bytes("arrow/single.arrow");
  folder.write("one.arrow", fixture_bytes("arrow/one.arrow"));
  folder.write("none.arrow", fixture_bytes("arrow/none.arrow"));
  const auto make = [&](std::uint64_t samples) {
    folder.write("single.arrow", bytes);
    return open_dataset(folder.str(samples == 0   ? "none.arrow"
                                   : samples == 1 ? "one.arrow"
                                                  : "single.arrow") +
                        "#cache_mb=0");
  };
  const auto damage = [&](std::uint64_t id) {
    const std::size_t image = bytes.rfind("image " + std::to_string(id));  // earlier ones are padding
    std::fstream file(folder.path() / "single.arrow", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(image - 4));  // the end of the image, in the offsets before the data
    file.write("\xff\xff\xff\x7f", 4);
    return "single.arrow record batch " + std::to_string(id) + ": damaged: ";
  };
  check_dataset({make, damage});
}

TEST_CASE("images of an uncompressed Arrow file in a map are zero-copy views") {
  const auto source = std::make_shared<MemoryBytes>(fixture_bytes("arrow/many.arrow"), Access::kMapped);
  ParquetOptions options;
  options.ipc = true;
  const ParquetDataset data({{"memory", source}}, options);
  RecordBuffer record;
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    data.read(id, record);
    const std::uint8_t* at = record.values[0].bytes.data();
    CHECK((at >= source->mapped().data() && at < source->mapped().data() + source->mapped().size()));
  }
  CHECK(record.storage.capacity() == 0);
}

TEST_CASE("an Arrow file truncated at any byte is rejected, a stream unless it ends after a record batch") {
  for (const char* const name : {"many.arrow", "file.arrow"}) {
    const std::string bytes = fixture_bytes("arrow/" + std::string(name));
    const std::size_t end = bytes.rfind(std::string("\xff\xff\xff\xff\0\0\0\0", 8));  // before the footer of a file
    std::size_t accepted = 0;
    for (std::size_t length = 0; length < end + 8; ++length) {
      INFO(name << " " << length);
      std::vector<std::string> notes;
      try {
        notes = ipc_in_memory(bytes.substr(0, length), Access::kMapped)->notes();
      } catch (const Error&) {
        continue;
      }
      REQUIRE(notes.size() == 1);  // the length is that of whole record batches
      CHECK(std::string(name) == "many.arrow");
      CHECK_THAT(notes[0], Catch::Contains("no end marker"));
      ++accepted;
    }
    CHECK(accepted == (std::string(name) == "many.arrow" ? 6 : 0));
  }
}

TEST_CASE("any changed byte of an Arrow file leads to an Error at most") {
  for (const char* name : {"binary.arrow", "zstd.arrow", "lz4.arrow", "saved/data-00000-of-00002.arrow"}) {
    const std::string good = fixture_bytes("arrow/" + std::string(name));
    std::mt19937 random(1);
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(at % 3 == 0 ? bad[at] ^ (1 << random() % 8) : static_cast<char>(random()));
      INFO(name << " offset " << at);
      try {
        const auto data = ipc_in_memory(bad, at % 2 == 0 ? Access::kMapped : Access::kRanges);
        RecordBuffer record;
        for (std::uint64_t id = 0; id < std::min<std::uint64_t>(data->size(), 100); ++id) {
          try {
            data->read(id, record);
          } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::kInput);
          }
        }
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::kInput);
        CHECK_THAT(error.what(), Catch::Contains("memory"));
      }
    }
  }
}

}  // namespace
}  // namespace unstarve
