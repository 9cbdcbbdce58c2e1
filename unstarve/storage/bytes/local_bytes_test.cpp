#include "unstarve/storage/bytes/local_bytes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/bytes/forward_bytes.h"
#include "unstarve/storage/source/open_bytes.h"
#include "unstarve/storage/testing/memory_bytes.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::Access;
using testing::MemoryBytes;
using testing::TemporaryFolder;

void check_rejected(const std::string& path, ErrorKind kind, const std::string& part) {
  CHECK_THAT(testing::error_message([&] { return open_bytes(path); }, kind),
             Catch::Contains(part) && Catch::Contains(path));
}

TEST_CASE("a local file is read by ranges and mapped") {
  TemporaryFolder folder;
  const std::string text = "0123456789";
  folder.write("x", text);
  const auto bytes = open_bytes(folder.str("x"));
  CHECK(bytes->name() == folder.str("x"));
  CHECK(bytes->size() == 10);
  CHECK(bytes->stamp().bytes == 10);
  CHECK(bytes->stamp().changed_ns > 0);
  std::array<std::uint8_t, 4> out{};
  bytes->read(3, out);
  CHECK(std::string(out.begin(), out.end()) == "3456");
  bytes->read(10, std::span(out).first(0));
  CHECK_THROWS_AS(bytes->read(7, out), Error);
  CHECK_THROWS_AS(bytes->read(~std::uint64_t{0}, out), Error);
  std::array<std::uint8_t, 2> other{};
  const std::array<ReadRange, 2> ranges{{{0, std::span(out)}, {8, std::span(other)}}};
  bytes->read_many(ranges);
  CHECK(std::string(out.begin(), out.end()) == "0123");
  CHECK(std::string(other.begin(), other.end()) == "89");
  CHECK(std::string(bytes->mapped().begin(), bytes->mapped().end()) == text);
}

TEST_CASE("bytes after the end of a mapped file are readable, also at a page boundary") {
  TemporaryFolder folder;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (const std::size_t size : {std::size_t{1}, page - 1, page, 3 * page}) {
    folder.write("x", std::string(size, 'a'));
    const LocalBytes bytes(folder.str("x"));
    const std::uint8_t* const end = bytes.mapped().data() + size;
    unsigned sum = 0;
    for (std::size_t i = 0; i < kReadableAfter; ++i) sum += end[i];
    CHECK(sum == 0);
  }
}

TEST_CASE("anything but a regular file is rejected with its path") {
  TemporaryFolder folder;
  check_rejected(folder.str("none"), ErrorKind::kIo, "No such file");
  check_rejected(folder.str(), ErrorKind::kIo, "Is a directory");
  REQUIRE(::mkfifo(folder.str("pipe").c_str(), 0600) == 0);
  check_rejected(folder.str("pipe"), ErrorKind::kIo, "not a regular file");
  folder.write("empty", "");
  CHECK(open_bytes(folder.str("empty"))->size() == 0);
  CHECK(open_bytes(folder.str("empty"))->mapped().empty());
}

TEST_CASE("forward reads return the same bytes with and without a map") {
  std::string text;
  for (int i = 0; i < 3'000'000; ++i) text += static_cast<char>(i * 31 >> 8 ^ i);
  text += std::string(kForwardPieceBytes, 'z') + "the end";
  const MemoryBytes source(text, GENERATE(Access::kMapped, Access::kRanges));
  const auto forward = read_forward(source);
  const auto at = [&](std::uint64_t offset, std::size_t length) {
    const auto bytes = forward->at(offset, length);
    return std::string(bytes.begin(), bytes.end());
  };
  CHECK(forward->name() == "memory");
  for (const std::size_t length : {1u, 12u, 1u << 20, 9u << 20}) CHECK(at(5, length) == text.substr(5, length));
  CHECK(at(kForwardPieceBytes - 3, 10) == text.substr(kForwardPieceBytes - 3, 10));
  CHECK(at(text.size() - 7, 100) == "the end");
  CHECK(at(text.size(), 1).empty());
  CHECK(at(text.size() + 5, 1).empty());
  const MemoryBytes nothing("");
  CHECK(read_forward(nothing)->at(0, 1).empty());
}

}  // namespace
}  // namespace unstarve
