#include "unstarve/core/file_transfer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <string>
#include <vector>

#include "unstarve/core/testing/file_size_limit.h"

namespace unstarve {
namespace {

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::vector<std::uint8_t> some(std::size_t count) { return std::vector<std::uint8_t>(count, 'x'); }

}  // namespace

TEST_CASE("bytes written at an offset are read there, and the file position is unchanged") {
  const int file = ::memfd_create("unstarve-transfer", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  const Transfer written = write_at(file, 5, bytes_of("photo"));
  CHECK(written.bytes == 5);
  CHECK(written.error == 0);
  CHECK(::lseek(file, 0, SEEK_CUR) == 0);

  std::vector<std::uint8_t> out(4);
  const Transfer whole = read_at(file, 6, out);
  CHECK(whole.bytes == 4);
  CHECK(whole.error == 0);
  CHECK(out == bytes_of("hoto"));

  const Transfer cut = read_at(file, 8, out);  // two bytes before the end
  CHECK(cut.bytes == 2);
  CHECK(cut.error == 0);
  CHECK(out == bytes_of("toto"));
  CHECK(read_whole(file, 6, out));
  CHECK_FALSE(read_whole(file, 8, out));
  CHECK(read_at(file, 100, out).bytes == 0);
  CHECK(read_at(file, 0, {}).error == 0);
  ::close(file);
}

TEST_CASE("a partial transfer reports its error and the bytes transferred") {
  std::vector<std::uint8_t> bytes(10'000, 'x');
  CHECK(read_at(-1, 0, bytes).error == EBADF);
  CHECK_FALSE(read_whole(-1, 0, bytes));
  CHECK(write_at(-1, 0, bytes).error == EBADF);
  const int file = ::memfd_create("unstarve-transfer", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  {
    const testing::FileSizeLimit limit(4096);
    const Transfer stopped = write_at(file, 8, bytes);
    CHECK(stopped.bytes == 4088);
    CHECK(stopped.error == EFBIG);
  }
  ::close(file);
}

TEST_CASE("bytes are written at their offset, and the file position is unchanged") {
  const std::string name = "a/file";
  const int file = ::memfd_create("unstarve-write", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  write_fully(file, name, 5, some(3));
  write_fully(file, name, 0, {});
  char found[9] = "........";
  CHECK(::read(file, found, 8) == 8);
  CHECK(std::string(found, 8) == std::string("\0\0\0\0\0xxx", 8));

  // Like a full disk: a short write, then one that fails.
  {
    const testing::FileSizeLimit limit(4096);
    CHECK_THROWS_WITH(write_fully(file, name, 8, some(10'000)),
                      Catch::StartsWith("write " + name + ": File too large after 4096 bytes; the limit ") &&
                          Catch::EndsWith(" (RLIMIT_FSIZE) is 4096 bytes"));
  }
  ::close(file);
}

TEST_CASE("errors other than lack of space have no further detail") {
  CHECK_THROWS_WITH(write_fully(-1, "no/file", 0, some(1)), "write no/file: Bad file descriptor");
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  CHECK_THROWS_WITH(write_fully(full, "/dev/full", 0, some(1)),
                    Catch::StartsWith("write /dev/full: No space left on device after 0 bytes; "));
  ::close(full);
}

}  // namespace unstarve
