#include "unstarve/jobs/prepare/digest.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/storage/testing/temporary_folder.h"

using namespace unstarve;

TEST_CASE("digests: the test suite of RFC 1321 and FIPS 180 examples") {
  const unstarve::testing::TemporaryFolder folder;
  struct Example {
    const char *text, *md5, *sha256;
  };
  const Example examples[] = {
      {"", "d41d8cd98f00b204e9800998ecf8427e", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "900150983cd24fb0d6963f7d28e17f72", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
       "57edf4a22be3c955ac49da2e2107b67a", "f371bc4a311f2b009eef952dd83ca80e2b60026c8e935592d0f9c308453c813e"}};
  for (const Example& example : examples) {
    folder.write("file", example.text);
    std::uint64_t advanced = 0;
    CHECK(digest_file(folder.path() / "file", Checksum::kMd5, [&](std::uint64_t n) { advanced += n; }) == example.md5);
    CHECK(digest_file(folder.path() / "file", Checksum::kSha256) == example.sha256);
    CHECK(advanced == std::string(example.text).size());
  }
  CHECK_THROWS_AS(digest_file(folder.path() / "none", Checksum::kMd5), Error);
}
