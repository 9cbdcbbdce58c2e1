#include "unstarve/storage/index/record_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/index/record_index.h"
#include "unstarve/storage/testing/memory_bytes.h"
#include "unstarve/storage/testing/temporary_folder.h"
#include "unstarve/storage/testing/tfrecord_bytes.h"

namespace unstarve {
namespace {

using namespace unstarve::testing;
namespace fs = std::filesystem;

// One record per line: "label text", "label" a number or a name, "!" for a record that is damaged.
class LineFormat final : public RecordFormat {
 public:
  explicit LineFormat(std::string variant = "", int version = 1) : variant_(std::move(variant)), version_(version) {}
  std::string name() const override { return "lines"; }
  int scan_version() const override { return version_; }
  std::string variant() const override { return variant_; }
  void scan(ForwardBytes& bytes, RecordSink& sink) const override {
    ++scans;
    const auto all = bytes.at(0, 1 << 20);
    const std::string text(all.begin(), all.end());
    for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string line = text.substr(begin, end - begin);
      const std::string label = line.substr(0, line.find(' '));
      if (label == "!") {
        sink.add_damaged(begin, line.size(), "bad line");
      } else if (label == "!!") {
        throw Error(ErrorKind::kInput, "stop");
      } else {
        const bool number = label.find_first_not_of("0123456789") == std::string::npos;
        sink.add({begin,
                  line.size(),
                  number ? std::optional<std::int64_t>(std::stoll(label)) : std::nullopt,
                  number ? "" : std::string_view(label),
                  line,
                  {}});
      }
    }
  }
  void fill(std::span<const std::uint8_t> stored, const IndexRecord&, AlignedBytes&, Value& image) const override {
    image.bytes = stored;
  }
  mutable std::atomic<int> scans{0};

 private:
  std::string variant_;
  int version_;
};

// The cache folder of the index for as long as it lives.
class CacheFolder {
 public:
  explicit CacheFolder(const std::string& path) { ::setenv("XDG_CACHE_HOME", path.c_str(), 1); }
  ~CacheFolder() { ::unsetenv("XDG_CACHE_HOME"); }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
};

std::shared_ptr<const RecordFiles> open(const std::vector<std::string>& names,
                                        const std::shared_ptr<const RecordFormat>& format) {
  std::vector<Shard> shards;
  for (const std::string& name : names) shards.push_back({name, nullptr});
  return std::make_shared<RecordFiles>(std::move(shards), format);
}

std::string text_of(const Dataset& data, std::uint64_t id) {
  RecordBuffer record;
  data.read(id, record);
  return {record.values.at(0).bytes.begin(), record.values.at(0).bytes.end()};
}

std::int64_t label_of(const Dataset& data, std::uint64_t id) {
  RecordBuffer record;
  data.read(id, record);
  return record.values.at(1).integer;
}

std::size_t files_below(const fs::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) count += entry.is_regular_file() ? 1 : 0;
  return count;
}

TEST_CASE("an index is made once and found again") {
  TemporaryFolder folder;
  folder.write("a", "0 x\n1 y\n");
  folder.write("b", "2 z\n");
  const auto first = std::make_shared<LineFormat>();
  const auto data = open({folder.str("a"), folder.str("b")}, first);
  CHECK(first->scans == 2);
  CHECK(data->size() == 3);
  CHECK(data->classes() == std::vector<std::string>{"0", "1", "2"});
  CHECK(data->stored_bytes() == 12);
  CHECK(data->notes().empty());
  CHECK(fs::exists(folder.path() / "a.unstarve-index"));
  CHECK(data->location(1) == folder.str("a") + " 1 y record 1 at offset 4");

  const auto second = std::make_shared<LineFormat>();
  const auto again = open({folder.str("a"), folder.str("b")}, second);
  CHECK(second->scans == 0);
  for (std::uint64_t id = 0; id < 3; ++id) CHECK(text_of(*again, id) == text_of(*data, id));
  CHECK(files_below(folder.path()) == 4);
}

TEST_CASE("an index of changed data, of another version or damaged is rebuilt") {
  TemporaryFolder folder;
  folder.write("a", "0 x\n1 y\n");
  (void)open({folder.str("a")}, std::make_shared<LineFormat>());
  const auto scans_now = [&](const std::shared_ptr<const LineFormat>& format) {
    const auto data = open({folder.str("a")}, format);
    CHECK(data->size() == 2);
    return format->scans.load();
  };
  CHECK(scans_now(std::make_shared<LineFormat>()) == 0);
  folder.write("a", "0 x\n1 z\n");
  fs::last_write_time(folder.path() / "a", fs::last_write_time(folder.path() / "a") + std::chrono::seconds(2));
  CHECK(scans_now(std::make_shared<LineFormat>()) == 1);
  CHECK(text_of(*open({folder.str("a")}, std::make_shared<LineFormat>()), 1) == "1 z");
  CHECK(scans_now(std::make_shared<LineFormat>("", 2)) == 1);
  CHECK(scans_now(std::make_shared<LineFormat>("", 2)) == 0);
  // Another variant has a separate index and does not replace it.
  CHECK(scans_now(std::make_shared<LineFormat>("label=z", 2)) == 1);
  CHECK(scans_now(std::make_shared<LineFormat>("label=z", 2)) == 0);
  CHECK(scans_now(std::make_shared<LineFormat>("", 2)) == 0);
  folder.write("a.unstarve-index", "rubbish");
  CHECK(scans_now(std::make_shared<LineFormat>("", 2)) == 1);
  CHECK(scans_now(std::make_shared<LineFormat>("", 2)) == 0);
}

TEST_CASE("if the folder cannot be written, the index is in the cache folder, else in memory") {
  TemporaryFolder folder, cache;
  folder.write("a", "0 x\n1 y\n");
  // A folder with the name of the sidecar prevents even root from writing it.
  folder.folder("a.unstarve-index/x");
  {
    const CacheFolder set(cache.str());
    const auto first = std::make_shared<LineFormat>();
    const auto data = open({folder.str("a")}, first);
    CHECK(first->scans == 1);
    CHECK(data->notes().empty());
    CHECK(files_below(cache.path()) == 1);
    const auto second = std::make_shared<LineFormat>();
    CHECK(text_of(*open({folder.str("a")}, second), 1) == "1 y");
    CHECK(second->scans == 0);
  }
  cache.write("file", "x");
  const CacheFolder set(cache.str("file"));  // no folder can be made below a file
  const auto third = std::make_shared<LineFormat>();
  const auto data = open({folder.str("a")}, third);
  CHECK(third->scans == 1);
  CHECK(text_of(*data, 1) == "1 y");
  REQUIRE(data->notes().size() == 1);
  CHECK_THAT(data->notes()[0], Catch::Contains("file"));
}

TEST_CASE("damaged records have ids, and a scan that stops loses the rest of its shard") {
  TemporaryFolder folder;
  folder.write("a", "0 x\n! bad\n1 y\n!! stop\n2 z\n");
  folder.write("b", "0 w\n");
  const auto data = open({folder.str("a"), folder.str("b")}, std::make_shared<LineFormat>());
  REQUIRE(data->size() == 5);
  CHECK(text_of(*data, 0) == "0 x");
  CHECK_THAT(error_message([&] { (void)text_of(*data, 1); }), Catch::Contains("record 1 at offset 4: bad line"));
  CHECK(text_of(*data, 2) == "1 y");
  CHECK_THAT(error_message([&] { (void)text_of(*data, 3); }),
             Catch::Contains("stop; the rest of the shard cannot be read"));
  CHECK(text_of(*data, 4) == "0 w");

  folder.write("c", "! a\n! b\n");
  CHECK_THAT(error_message([&] { (void)open({folder.str("c")}, std::make_shared<LineFormat>()); }),
             Catch::Contains("none of its 2 records can be read; the first: bad line"));
  folder.write("d", "");
  CHECK_THAT(error_message([&] { (void)open({folder.str("d")}, std::make_shared<LineFormat>()); }),
             Catch::Contains("it holds no record"));
  // Many records of an empty first shard.
  CHECK(open({folder.str("d"), folder.str("b")}, std::make_shared<LineFormat>())->size() == 1);
  CHECK_THROWS_AS(open({folder.str("b"), folder.str("none")}, std::make_shared<LineFormat>()), Error);
}

TEST_CASE("classes with names have equal numbers in all shards") {
  TemporaryFolder folder;
  folder.write("a", "newt x\ncat y\n");
  folder.write("b", "dog z\nnewt w\n");
  const auto data = open({folder.str("a"), folder.str("b")}, std::make_shared<LineFormat>());
  CHECK(data->classes() == std::vector<std::string>{"cat", "dog", "newt"});
  CHECK(label_of(*data, 0) == 2);
  CHECK(label_of(*data, 1) == 0);
  CHECK(label_of(*data, 2) == 1);
  CHECK(label_of(*data, 3) == 2);
  folder.write("c", "3 x\n");
  CHECK_THAT(error_message([&] {
               (void)open({folder.str("a"), folder.str("c")}, std::make_shared<LineFormat>());
             }),
             Catch::Contains("classes are numbers in " + folder.str("c") + " and names in " + folder.str("a")));
}

TEST_CASE("many shards are indexed by several threads and keep their order") {
  TemporaryFolder folder;
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) {
    const std::string name = "s" + std::to_string(i);
    std::string text;
    for (int k = 0; k < i % 4; ++k) text += std::to_string(i) + " " + std::to_string(k) + "\n";
    folder.write(name, text);
    names.push_back(folder.str(name));
  }
  const auto data = open(names, std::make_shared<LineFormat>());
  REQUIRE(data->size() == 90);
  std::uint64_t id = 0;
  for (int i = 0; i < 60; ++i) {
    for (int k = 0; k < i % 4; ++k) CHECK(text_of(*data, id++) == std::to_string(i) + " " + std::to_string(k));
  }
}

TEST_CASE("an index that refers outside of its shard is an error, not a read beyond it") {
  TemporaryFolder folder;
  folder.write("a", "0 x\n1 y\n");
  const std::string bytes = build_index(*open_bytes(folder.str("a")), LineFormat());
  const IndexView whole(bytes_of(bytes), "x");
  std::vector<IndexPart> parts;
  for (const char* name : {"made-by", "summary", "damage"}) {
    const auto part = whole.part(name);
    parts.push_back({name, std::string(part->begin(), part->end())});
  }
  for (const IndexRecord& bad :
       {IndexRecord{6, 3, 0, 0, 0, 0}, IndexRecord{9, 0, 0, 0, 0, 0}, IndexRecord{~std::uint64_t{0}, 2, 0, 0, 0, 0},
        IndexRecord{1, ~std::uint64_t{0}, 0, 0, 0, 0}}) {
    write_file_atomically(folder.path() / "a.unstarve-index", index_bytes(whole.data(), std::vector{bad}, {}, parts));
    const auto data = open({folder.str("a")}, std::make_shared<LineFormat>());
    CHECK(data->size() == 1);
    CHECK_THAT(error_message([&] { (void)text_of(*data, 0); }), Catch::Contains("its index gives it"));
  }
}

}  // namespace
}  // namespace unstarve
