#include "unstarve/storage/index/repairing_index.h"

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/random.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/index/record_files.h"
#include "unstarve/storage/source/open_bytes.h"
#include "unstarve/storage/testing/temporary_folder.h"
#include "unstarve/storage/testing/tfrecord_bytes.h"

namespace unstarve {
namespace {

using namespace unstarve::testing;
namespace fs = std::filesystem;

// Records of one length, named by their number, of three classes; number 2 is damaged.
class BlockFormat final : public RecordFormat {
 public:
  explicit BlockFormat(std::size_t length) : length_(length) {}
  std::string name() const override { return "blocks"; }
  int scan_version() const override { return 1; }
  void scan(ForwardBytes& bytes, RecordSink& sink) const override {
    ++scans;
    for (std::uint64_t number = 0; number < most; ++number) {
      const std::uint64_t offset = number * length_;
      if (bytes.at(offset, length_).size() < length_) return;
      const std::string name = "r" + std::to_string(number);
      if (number == 2) {
        sink.add_damaged(offset, length_, "the third is bad");
      } else {
        sink.add({offset, length_, static_cast<std::int64_t>(number % 3), "", name, {}});
      }
    }
  }
  void fill(std::span<const std::uint8_t> stored, const IndexRecord&, AlignedBytes&, Value& image) const override {
    image.bytes = stored;
  }
  mutable std::atomic<int> scans{0};
  mutable std::atomic<std::uint64_t> most{~std::uint64_t{0}};

 private:
  std::size_t length_;
};

std::string noise(std::size_t bytes) {
  Random random(5, 0, 0, 0);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random.below(256));
  return text;
}

RecordFiles open_repairing(const std::string& shard, const std::shared_ptr<const RecordFormat>& format) {
  return RecordFiles({{shard, nullptr}}, format);
}

// The contents of the records and their index.
std::string everything(const Dataset& data) {
  std::string text;
  RecordBuffer record;
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    text += data.location(id) + ": ";
    try {
      data.read(id, record);
      text += std::to_string(record.values[1].integer) + " ";
      text.append(record.values[0].bytes.begin(), record.values[0].bytes.end());
    } catch (const Error& error) {
      text += error.what();
    }
    text += "\n";
  }
  return text;
}

void flip(std::string& bytes, std::size_t at) { bytes[at] = static_cast<char>(bytes[at] ^ 0x55); }

TEST_CASE("every flipped byte of an index is repaired on use") {
  TemporaryFolder folder;
  folder.write("a", noise(4 * 10));
  const fs::path sidecar = folder.path() / "a.unstarve-index";
  const std::string expected = everything(open_repairing(folder.str("a"), std::make_shared<BlockFormat>(4)));
  const std::string whole = read_text_file(sidecar);
  int quiet = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bad = whole;
    flip(bad, at);
    write_file_atomically(sidecar, bad);
    const auto format = std::make_shared<BlockFormat>(4);
    const RecordFiles data = open_repairing(folder.str("a"), format);
    INFO("offset " << at);
    CHECK(everything(data) == expected);
    CHECK(data.notes().empty());
    CHECK(format->scans <= 1);
    if (format->scans == 0) {
      ++quiet;
      CHECK(whole[at] == 0);  // only padding between sections is unused
    } else {
      CHECK(read_text_file(sidecar) == whole);
    }
  }
  CHECK(quiet < 40);
}

TEST_CASE("damaged seek points of a compressed shard are repaired on use") {
  constexpr std::size_t kLength = 500'000;
  TemporaryFolder folder;
  folder.write("a.gz", deflated(noise(kLength * 10), 31, 1));
  const fs::path sidecar = folder.path() / "a.gz.unstarve-index";
  const std::string expected = everything(open_repairing(folder.str("a.gz"), std::make_shared<BlockFormat>(kLength)));
  const std::string whole = read_text_file(sidecar);
  const IndexView view(bytes_of(whole), "whole");
  const auto points = view.part("points").value();
  REQUIRE(points.size() > 4 * kInflateWindow);
  const auto begin = static_cast<std::size_t>(points.data() - bytes_of(whole).data());
  // Sizes and the first two points, then samples.
  std::vector<std::size_t> offsets;
  for (std::size_t at = 0; at < 16 + 80; at += 3) offsets.push_back(begin + at);
  for (std::size_t at = 200; at < points.size(); at += points.size() / 8) offsets.push_back(begin + at);
  for (const std::size_t at : offsets) {
    std::string bad = whole;
    flip(bad, at);
    write_file_atomically(sidecar, bad);
    const auto format = std::make_shared<BlockFormat>(kLength);
    INFO("offset " << at - begin << " of the points");
    const RecordFiles data = open_repairing(folder.str("a.gz"), format);
    // Backwards, since a decoder that moves forward needs no points.
    RecordBuffer record;
    for (std::uint64_t id = data.size(); id-- > 0;) {
      if (id != 2) data.read(id, record);
    }
    CHECK(everything(data) == expected);
    CHECK(format->scans <= 1);
  }
}

TEST_CASE("threads that find the damage wait for one pass") {
  TemporaryFolder folder;
  folder.write("a", noise(4 * 5000));
  const fs::path sidecar = folder.path() / "a.unstarve-index";
  const std::string expected = everything(open_repairing(folder.str("a"), std::make_shared<BlockFormat>(4)));
  std::string bad = read_text_file(sidecar);
  const IndexRecord last{4 * 4999, 4, 0, 4999 % 3, 0, 0};
  std::string bytes;
  for (const std::uint64_t number : {last.offset, last.length}) {
    for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(number >> shift));
  }
  const std::size_t at = bad.find(bytes);
  REQUIRE(at != std::string::npos);
  flip(bad, at);
  write_file_atomically(sidecar, bad);
  const auto format = std::make_shared<BlockFormat>(4);
  const RecordFiles data = open_repairing(folder.str("a"), format);
  CHECK(format->scans == 0);
  std::array<std::string, 6> found;
  {
    std::vector<std::jthread> threads;
    for (std::string& one : found) threads.emplace_back([&] { one = everything(data); });
  }
  for (const std::string& one : found) CHECK(one == expected);
  CHECK(format->scans == 1);
}

TEST_CASE("a damaged index that cannot be replaced is rebuilt in memory, and a note names the file to delete") {
  TemporaryFolder folder;
  folder.write("a", noise(4 * 10));
  const std::string expected = everything(open_repairing(folder.str("a"), std::make_shared<BlockFormat>(4)));
  std::string bad = read_text_file(folder.path() / "a.unstarve-index");
  const IndexView view(bytes_of(bad), "bad");
  const auto reasons = view.part("damage").value();
  flip(bad, static_cast<std::size_t>(reasons.data() - bytes_of(bad).data()) + 13);
  write_file_atomically(folder.path() / "a.unstarve-index", bad);
  folder.write("file", "x");
  ::setenv("XDG_CACHE_HOME", folder.str("file").c_str(), 1);  // no folder can be made below a file
  const auto format = std::make_shared<BlockFormat>(4);
  const RecordFiles data = open_repairing(folder.str("a"), format);
  // A folder that is not empty prevents even root from renaming to its path.
  fs::rename(folder.path() / "a.unstarve-index", folder.path() / "away");
  folder.folder("a.unstarve-index/x");
  CHECK(everything(data) == expected);
  CHECK(format->scans == 1);
  REQUIRE(data.notes().size() == 1);
  CHECK_THAT(data.notes()[0],
             Catch::Contains("a.unstarve-index is damaged and could not be replaced") && Catch::Contains("Delete it"));
  ::unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("a damaged index of a shard that changed meanwhile is an error") {
  TemporaryFolder folder;
  folder.write("a", noise(4 * 10));
  (void)open_repairing(folder.str("a"), std::make_shared<BlockFormat>(4));
  std::string bad = read_text_file(folder.path() / "a.unstarve-index");
  flip(bad, bad.find("r9"));
  write_file_atomically(folder.path() / "a.unstarve-index", bad);
  const auto format = std::make_shared<BlockFormat>(4);
  const RepairingIndex index(open_bytes(folder.str("a")), format, true);
  CHECK(index.size() == 10);
  CHECK(index.member(8) == "r8");
  format->most = 9;
  CHECK_THAT(testing::error_message([&] { return index.member(9); }),
             Catch::Contains("it has 9 records after 10: the shard has changed"));
}

}  // namespace
}  // namespace unstarve
