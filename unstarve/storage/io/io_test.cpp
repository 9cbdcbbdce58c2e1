#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/random.h"
#include "unstarve/storage/io/batch_reader.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

std::vector<std::uint8_t> made_up(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  Random random(1, 0, size, 0);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.bits());
  return bytes;
}

// The readers available on this machine: io_uring may be rejected.
std::vector<std::unique_ptr<BatchReader>> readers(int depth) {
  std::vector<std::unique_ptr<BatchReader>> all;
  all.push_back(open_batch_reader(BatchReaderKind::kThreads, depth));
  try {
    all.push_back(open_batch_reader(BatchReaderKind::kUring, depth));
    CHECK(uring_error() == 0);
  } catch (const Error& error) {
    WARN(error.what());
    CHECK(error.kind() == ErrorKind::kMissing);
    CHECK(std::string(error.what()).ends_with(std::strerror(uring_error())));
  }
  all.push_back(open_batch_reader(BatchReaderKind::kBest, depth));
  return all;
}

std::set<int> ring_descriptors() {
  std::set<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) == "anon_inode:[io_uring]")
      found.insert(std::stoi(entry.path().filename()));
  }
  return found;
}

}  // namespace

TEST_CASE("a batch of reads fills every range at any depth", "[storage]") {
  const testing::TemporaryFolder folder;
  const auto bytes = made_up(300'000);
  folder.write("file", std::span<const std::uint8_t>(bytes));
  const FileDescriptor file(::open(folder.str("file").c_str(), O_RDONLY | O_CLOEXEC));
  for (const int depth : {1, 3, 64}) {
    for (const auto& reader : readers(depth)) {
      INFO(reader->name() << ", depth " << depth);
      for (std::uint32_t round = 0; round < 5; ++round) {
        Random random(2, 0, round, 0);
        std::vector<std::vector<std::uint8_t>> memory(round * 40);
        std::vector<FileRead> reads;
        for (auto& out : memory) {
          out.resize(random.below(9000));
          reads.push_back({file.get(), random.below(300'000), out, -1});
        }
        reader->read(reads);
        for (const FileRead& read : reads) {
          const std::size_t there = std::min<std::size_t>(read.out.size(), bytes.size() - read.offset);
          REQUIRE(read.result == static_cast<std::int64_t>(there));
          REQUIRE(std::equal(read.out.begin(), read.out.begin() + static_cast<std::ptrdiff_t>(there),
                             bytes.begin() + static_cast<std::ptrdiff_t>(read.offset)));
        }
      }
    }
  }
}

TEST_CASE("reads end by pread if the kernel no longer serves the ring, also those of later calls", "[storage]") {
  if (uring_error() != 0) return;
  const testing::TemporaryFolder folder;
  folder.write("file", "0123456789");
  const FileDescriptor file(::open(folder.str("file").c_str(), O_RDONLY | O_CLOEXEC));
  const FileDescriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::set<int> others = ring_descriptors();
  const auto reader = open_batch_reader(BatchReaderKind::kUring, 4);
  // As a program that closes descriptors it does not know.
  for (const int ring : ring_descriptors())
    if (!others.contains(ring)) REQUIRE(::dup2(null.get(), ring) >= 0);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::uint8_t> memory(60);
    std::vector<FileRead> reads;
    for (std::size_t i = 0; i < 6; ++i) reads.push_back({file.get(), 0, std::span(memory).subspan(10 * i, 10), 0});
    reader->read(reads);
    for (const FileRead& read : reads) CHECK(read.result == 10);
    CHECK(std::string(memory.end() - 10, memory.end()) == "0123456789");
  }
}

TEST_CASE("a failing read reports the reason and does not affect the others", "[storage]") {
  const testing::TemporaryFolder folder;
  folder.write("file", "0123456789");
  const FileDescriptor file(::open(folder.str("file").c_str(), O_RDONLY | O_CLOEXEC));
  const FileDescriptor directory(::open(folder.str().c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  for (const auto& reader : readers(4)) {
    INFO(reader->name());
    std::uint8_t a[4], b[4], c[4];
    FileRead reads[] = {{file.get(), 2, a, 0}, {directory.get(), 0, b, 0}, {file.get(), 8, c, 0}};
    reader->read(reads);
    CHECK(reads[0].result == 4);
    CHECK(reads[1].result == -EISDIR);
    CHECK(reads[2].result == 2);
    CHECK(a[0] == '2');
    CHECK(c[1] == '9');
  }
  CHECK_THROWS_AS(open_batch_reader(BatchReaderKind::kBest, 0), Error);
  CHECK_THROWS_AS(open_batch_reader(BatchReaderKind::kBest, 5000), Error);
}

}  // namespace unstarve
