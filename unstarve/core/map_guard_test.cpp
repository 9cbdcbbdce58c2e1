#include "unstarve/core/map_guard.h"

#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

struct TemporaryFile {
  TemporaryFile() {
    std::string name = (fs::temp_directory_path() / "unstarve-map-XXXXXX").string();
    ::close(::mkstemp(name.data()));
    path = name;
    write_file_atomically(path, std::string(100'000, 'x'), Durability::kRenamed);
  }
  ~TemporaryFile() { fs::remove(path); }
  fs::path path;
};

std::uint64_t touch(std::span<const std::uint8_t> bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 512) sum += *static_cast<const volatile std::uint8_t*>(&bytes[i]);
  return sum;
}

TEST_CASE("reading a file truncated under its map is an error with path and offset") {
  const TemporaryFile file, other;
  const MappedFile cut(file.path);
  const MappedFile whole(other.path);
  check_map(cut.bytes());
  fs::resize_file(file.path, 40'000);
  CHECK(touch(cut.bytes()) < touch(whole.bytes()));
  CHECK_THROWS_WITH(check_map(cut.bytes()), Catch::Contains(file.path.string()) && Catch::Contains("offset 40960"));
  try {
    check_map(cut.bytes().subspan(90'000, 10));
    FAIL("expected an Error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kIo);
  }
  check_map(cut.bytes().first(40'960));
  check_map(whole.bytes());
  const std::string elsewhere = "not of a map";
  check_map(elsewhere.data(), elsewhere.size());
  const MappedFile again(file.path);  // possibly at the same address
  touch(again.bytes());
  check_map(again.bytes());
}

TEST_CASE("a reused map slot does not inherit lost pages") {
  const TemporaryFile file;
  for (int round = 0; round < 3; ++round) {
    write_file_atomically(file.path, std::string(100'000, 'x'), Durability::kRenamed);
    const MappedFile map(file.path);
    touch(map.bytes());
    check_map(map.bytes());
    fs::resize_file(file.path, 0);
    touch(map.bytes());
    CHECK_THROWS_AS(check_map(map.bytes()), Error);
  }
}

}  // namespace
}  // namespace unstarve
