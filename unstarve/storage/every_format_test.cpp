// Tests of all formats with files that the formats' own libraries wrote.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>

#include "unstarve/core/file.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/formats/parquet/parquet.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/fixtures_folder.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder, testing::fixture;
namespace fs = std::filesystem;

using Write = std::function<void(const fs::path& folder, char number)>;

// Copies each fixture to its name, with `number` for '%'.
Write copies(std::vector<std::pair<std::string, std::string>> files) {
  return [files = std::move(files)](const fs::path& folder, char number) {
    for (const auto& [from, name] : files) {
      std::string to = name;
      std::replace(to.begin(), to.end(), '%', number);
      fs::create_directories((folder / to).parent_path());
      fs::copy(fixture(from), folder / to, fs::copy_options::recursive);
    }
  };
}

void write_cifar(const fs::path& folder, char number) {
  std::string records;
  for (char i = 0; i < 4; ++i) records += i + std::string(3072, static_cast<char>(i + 7));
  write_file_atomically(folder / (std::string("data_batch_") + number + ".bin"), records, Durability::kRenamed);
}

void write_csv(const fs::path& folder, char number) {
  std::string text = "path,label\n";
  for (int i = 0; i < 5; ++i)
    text += fixture("images").string() + "/" + std::to_string(i) + ".jpg," + std::to_string(i % 3) + "\n";
  write_file_atomically(folder / (std::string("m-") + number + ".csv"), text, Durability::kRenamed);
}

void write_json_lines(const fs::path& folder, char number) {
  std::string text;
  for (int i = 0; i < 5; ++i)
    text += R"({"label": "c)" + std::to_string(i % 3) + R"(", "path": ")" + fixture("images").string() + "/" +
            std::to_string(i) + ".jpg\"}\n";
  write_file_atomically(folder / (std::string("m-") + number + ".jsonl"), text, Durability::kRenamed);
}

// Two equal shards of a format, numbered 0 and 1, both named by `glob` and by `braces`.
struct TwoShards {
  const char* format;
  Write write;
  const char* glob;
  const char* braces;
  bool sizes = true;  // sizes and labels are known without reading a record
  bool labels = true;
};

std::vector<TwoShards> two_shards() {
  std::vector<TwoShards> all = {
      {"tfrecord", copies({{"../tfrecord/imagenet.tfrecord", "x-%"}}), "x-?", "x-{0..1}"},
      {"tfrecord", copies({{"../tfrecord/imagenet.tfrecord.gz", "x-%.gz"}}), "x-*.gz", "x-{0,1}.gz"},
      {"tfrecord", copies({{"../tfrecord/imagenet.tfrecord.zlib", "x-%"}}), "*", "{x-0,x-1}"},
      {"webdataset", copies({{"webdataset/cls.tar", "x-%.tar"}}), "x-*.tar", "x-{0..1}.tar"},
      {"webdataset", copies({{"webdataset/cls.tar.gz", "x-%.tgz"}}), "x-*", "x-{0..1}.tgz"},
      {"webdataset", copies({{"webdataset/cls.tar.zst", "x-%"}}), "x-[01]", "x-{0..1}"},
      {"recordio", copies({{"recordio/plain.rec", "x-%.rec"}, {"recordio/indexed.idx", "x-%.idx"}}), "x-*",
       "x-{0..1}.rec"},
      {"mds", copies({{"mds", "x-%"}}), "x-*/index.json", "x-{0..1}/index.json"},
      {"mds", copies({{"mds-pil", "x-%"}}), "x-*/index.json", "{x-0,x-1}/index.json"},
      {"2 sources, the first mds", copies({{"mds-gz", "x-%"}}), "x-*", "x-{0..1}"},
      {"npy", copies({{"npy/images.npy", "images-%.npy"}, {"npy/labels.npy", "labels-%.npy"}}), "*.npy",
       "images-{0..1}.npy"},
      {"idx",
       copies({{"idx/train-images-idx3-ubyte", "%-images-idx3-ubyte"},
               {"idx/train-labels-idx1-ubyte", "%-labels-idx1-ubyte"}}),
       "*", "{0,1}-images-idx3-ubyte"},
      {"cifar-10 binary", write_cifar, "data_batch_?.bin", "data_batch_{0..1}.bin"},
      {"manifest", write_csv, "m-*.csv", "m-{0..1}.csv", false},
      {"manifest", write_json_lines, "m-*", "m-{0..1}.jsonl", false},
      {"2 sources, the first image folder", copies({{"images", "x-%/class"}}), "x-*", "x-{0,1}/", false},
      {"2 sources, the first images", copies({{"images", "x-%"}}), "x-*", "x-{0,1}/", false, false},
  };
  if (arrow_facts().in_build)
    all.push_back(
        {"parquet", copies({{"parquet/plain.parquet", "x-%.parquet"}}), "x-*", "x-{0..1}.parquet", false, false});
  return all;
}

TEST_CASE("every format opens several shards by a glob and by braces") {
  for (const TwoShards& shards : two_shards()) {
    const TemporaryFolder folder;
    for (const char number : {'0', '1'}) shards.write(folder.path(), number);
    for (const char* const text : {shards.glob, shards.braces}) {
      INFO(shards.format << " as " << text);
      const auto data = open_dataset(folder.str(text));
      CHECK(data->format() == shards.format);
      const std::vector<testing::RecordCopy> records = testing::read_all(*data);
      REQUIRE(records.size() >= 2);
      REQUIRE(records.size() % 2 == 0);
      const std::size_t half = records.size() / 2;
      for (std::size_t i = 0; i < half; ++i) CHECK(records[i] == records[half + i]);
      RecordBuffer record;
      for (std::uint64_t id = 0; id < data->size(); ++id) {
        if (shards.labels) CHECK(data->known_label(id) == records[id].label);
        if (shards.sizes) CHECK(data->known_size(id) == testing::read_size(*data, id, record));
      }
    }
  }
}

TEST_CASE("a format says what #label chooses, unless it has one kind of labels") {
  for (const TwoShards& shards : two_shards()) {
    INFO(shards.format);
    const TemporaryFolder folder;
    for (const char number : {'0', '1'}) shards.write(folder.path(), number);
    const std::string path = folder.str(shards.glob);
    if (open_dataset(path)->label_choice().empty())
      CHECK_THROWS_WITH(open_dataset(path + "#label=none"), Catch::Contains("has no options"));
    else
      CHECK(open_dataset(path + "#label=none")->fields().size() == 1);
  }
}

TEST_CASE("a shard of another format is rejected by name, with both formats") {
  const TemporaryFolder folder;
  const auto put = [&](const char* from, const char* to) { fs::copy(fixture(from), folder.path() / to); };
  put("webdataset/cls.tar", "a.tar");
  put("recordio/plain.rec", "a.rec");
  put("../tfrecord/imagenet.tfrecord.gz", "a.tfrecord");
  put("parquet/plain.parquet", "a.parquet");
  put("npy/images.npy", "a.npy");
  put("idx/train-images-idx3-ubyte", "a.idx3");
  const auto check = [&](const std::string& list, const std::string& file, const std::string& is,
                         const std::string& expected) {
    INFO(list);
    CHECK_THAT(testing::error_message([&] { return open_dataset(folder.str(list)); }),
               Catch::Contains(folder.str(file) + ": it begins as " + is + "; expected " + expected));
  };
  for (int twice = 0; twice < 2; ++twice) {  // the second time the first shard has an index
    check("{a.tar,a.rec}", "a.rec", "recordio", "webdataset");
    check("{a.tar,a.tfrecord}", "a.tfrecord", "tfrecord", "webdataset");
    check("{a.rec,a.tar}", "a.tar", "webdataset", "recordio");
    check("{a.rec,a.npy}", "a.npy", "npy", "recordio");
    check("{a.tfrecord,a.parquet}", "a.parquet", "parquet", "tfrecord");
    check("{a.tfrecord,a.idx3}", "a.idx3", "idx", "tfrecord");
  }
}

TEST_CASE("the manifest of a pack is not a shard") {
  const TemporaryFolder folder;
  fs::copy(fixture("webdataset/cls.tar"), folder.path() / "a-0.tar");
  folder.write("manifest.json", R"({"unstarve": 1, "shards": [{"file": "a-0.tar"}], "classes": ["x", "y", "z"]})");
  CHECK(open_dataset(folder.str("*"))->size() == 5);
}

}  // namespace
}  // namespace unstarve
