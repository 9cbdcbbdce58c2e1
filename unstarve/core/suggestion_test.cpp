#include "unstarve/core/suggestion.h"

#include <catch2/catch.hpp>

namespace unstarve {

TEST_CASE("the distance of two names counts changed characters") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("size", "size") == 0);
  CHECK(edit_distance("sise", "size") == 1);
  CHECK(edit_distance("resizee", "resize") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("trian", "train") == 1);
}

TEST_CASE("the nearest known name is suggested, unless all are far away") {
  const std::vector<std::string> known{"batch", "size", "memory_limit_mb", "resize", "a"};
  CHECK(suggestion("batsh", known) == ". Did you mean 'batch'?");
  CHECK(suggestion("resizee", known) == ". Did you mean 'resize'?");
  CHECK(suggestion("memory_limit", known) == ". Did you mean 'memory_limit_mb'?");
  CHECK(suggestion("num_workers", known).empty());
  CHECK(suggestion("b", known).empty());
  CHECK(suggestion("", known).empty());
}

}  // namespace unstarve
