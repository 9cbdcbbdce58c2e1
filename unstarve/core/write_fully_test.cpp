#include "unstarve/core/write_fully.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/file_size_limit.h"

namespace unstarve {
namespace {

std::vector<std::uint8_t> some(std::size_t count) { return std::vector<std::uint8_t>(count, 'x'); }

}  // namespace

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
