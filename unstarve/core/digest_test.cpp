#include "unstarve/core/digest.h"

#include <catch2/catch.hpp>

namespace unstarve {

TEST_CASE("values of FNV-1a never change") {
  CHECK(fnv1a("") == 0xcbf29ce484222325);
  CHECK(fnv1a("a") == 0xaf63dc4c8601ec8c);  // this and the next one from its authors' tables
  CHECK(fnv1a("foobar") == 0x85944171f73967e8);
  CHECK(fnv1a("\xff\x80") == 0x0a9a2607b6f6e56a);
  CHECK(fnv1a("bar", fnv1a("foo")) == fnv1a("foobar"));
  Digest digest;
  CHECK(digest.value() == fnv1a(""));
  digest.add(7);
  digest.add("abc");
  CHECK(digest.value() == 0x05119327513ad0bf);
}

}  // namespace unstarve
