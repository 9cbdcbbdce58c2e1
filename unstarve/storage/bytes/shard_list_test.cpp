#include "unstarve/storage/bytes/shard_list.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/storage/temporary_folder.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder;
using Names = std::vector<std::string>;

TEST_CASE("brace ranges keep their width and their order") {
  CHECK(expand_braces("a") == Names{"a"});
  CHECK(expand_braces("a-{000..003}.tar") == Names{"a-000.tar", "a-001.tar", "a-002.tar", "a-003.tar"});
  CHECK(expand_braces("{9..11}") == Names{"9", "10", "11"});
  CHECK(expand_braces("{2..0}") == Names{"2", "1", "0"});
  CHECK(expand_braces("{7..7}") == Names{"7"});
  CHECK(expand_braces("{0..18446744073709551615..}") == Names{"0..18446744073709551615.."});
}

TEST_CASE("alternatives combine, the last brace turning fastest") {
  CHECK(expand_braces("{a,b}") == Names{"a", "b"});
  CHECK(expand_braces("{a,b}-{0..1}") == Names{"a-0", "a-1", "b-0", "b-1"});
  CHECK(expand_braces("x{,s}") == Names{"x", "xs"});
  CHECK(expand_braces("{a,b{1..2}}c") == Names{"ac", "b1c", "b2c"});
  CHECK(expand_braces("s3://bucket/t-{0..1}.tar") == Names{"s3://bucket/t-0.tar", "s3://bucket/t-1.tar"});
}

TEST_CASE("braces that make no sense or too many files are refused") {
  for (const char* text : {"a{", "a{0..1", "{{a}", "{0..1000000}", "{0..18446744073709551615}",
                           "{0..999}{0..999}{0..1}", "{18446744073709551615..0}"}) {
    INFO(text);
    try {
      (void)expand_braces(text);
      FAIL("expected an Error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kArgument);
      CHECK_THAT(error.what(), Catch::Contains(text));
    }
  }
  CHECK(expand_braces("a}b") == Names{"a}b"});
}

TEST_CASE("globs are sorted and leave hidden files and indexes out") {
  TemporaryFolder folder;
  for (const char* name : {"b-10.tar", "b-2.tar", "a-1.tar", ".b-3.tar", "b-2.tar.unstarve-index"}) {
    folder.write(name, "x");
  }
  CHECK(list_shards(folder.str("b-*")) == Names{folder.str("b-10.tar"), folder.str("b-2.tar")});
  CHECK(list_shards(folder.str("?-[0-1]*.tar")) == Names{folder.str("a-1.tar"), folder.str("b-10.tar")});
  CHECK(list_shards(folder.str("{b-2,a-*}.tar")) == Names{folder.str("b-2.tar"), folder.str("a-1.tar")});
  CHECK(list_shards(folder.str("none-{0..1}.tar")).size() == 2);  // whether they are there is not looked at
  CHECK_THROWS_AS(list_shards(folder.str("none-*")), Error);
}

TEST_CASE("a file of that very name comes first, and URLs have no wildcards") {
  TemporaryFolder folder;
  folder.write("odd{0..3}[a]*.tar", "x");
  CHECK(list_shards(folder.str("odd{0..3}[a]*.tar")) == Names{folder.str("odd{0..3}[a]*.tar")});
  CHECK(list_shards("plain") == Names{"plain"});
  CHECK(list_shards("https://host/a?b=[c]") == Names{"https://host/a?b=[c]"});
  CHECK(list_shards("gs://b/{a,b}.tar") == Names{"gs://b/a.tar", "gs://b/b.tar"});
  CHECK(is_pattern("a*"));
  CHECK_FALSE(is_pattern("http://h/a?x=1"));
}

}  // namespace
}  // namespace unstarve
