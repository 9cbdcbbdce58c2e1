#include "unstarve/storage/source/shard_list.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/testing/temporary_folder.h"

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

TEST_CASE("alternatives combine; the last brace varies fastest") {
  CHECK(expand_braces("{a,b}") == Names{"a", "b"});
  CHECK(expand_braces("{a,b}-{0..1}") == Names{"a-0", "a-1", "b-0", "b-1"});
  CHECK(expand_braces("x{,s}") == Names{"x", "xs"});
  CHECK(expand_braces("{a,b{1..2}}c") == Names{"ac", "b1c", "b2c"});
  CHECK(expand_braces("s3://bucket/t-{0..1}.tar") == Names{"s3://bucket/t-0.tar", "s3://bucket/t-1.tar"});
}

TEST_CASE("malformed braces and too many files are rejected") {
  for (const char* text : {"a{", "a{0..1", "{{a}", "{0..1000000}", "{0..18446744073709551615}",
                           "{0..999}{0..999}{0..1}", "{18446744073709551615..0}"}) {
    INFO(text);
    CHECK_THAT(testing::error_message([&] { return expand_braces(text); }, ErrorKind::kArgument),
               Catch::Contains(text));
  }
  CHECK(expand_braces("a}b") == Names{"a}b"});
}

TEST_CASE("globs are sorted and leave out hidden files and indexes") {
  TemporaryFolder folder;
  for (const char* name : {"b-10.tar", "b-2.tar", "a-1.tar", ".b-3.tar", "b-2.tar.unstarve-index"}) {
    folder.write(name, "x");
  }
  CHECK(list_shards(folder.str("b-*")) == Names{folder.str("b-10.tar"), folder.str("b-2.tar")});
  CHECK(list_shards(folder.str("?-[0-1]*.tar")) == Names{folder.str("a-1.tar"), folder.str("b-10.tar")});
  CHECK(list_shards(folder.str("{b-2,a-*}.tar")) == Names{folder.str("b-2.tar"), folder.str("a-1.tar")});
  CHECK(list_shards(folder.str("none-{0..1}.tar")).size() == 2);  // existence is not checked
  CHECK_THROWS_AS(list_shards(folder.str("none-*")), Error);
}

std::string why_not(const std::string& text) {
  try {
    (void)list_shards(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kArgument);
    return error.what();
  }
  return "no error";
}

TEST_CASE("wildcards in URLs are supported in keys of buckets only") {
  for (const char* text : {"s3://b/t-*.tar", "gs://b/t-?.tar", "s3://b/[ab].tar", "https://h/*.tar", "s3://b/{a,b}"}) {
    INFO(text);
    CHECK(is_pattern(text));
  }
  for (const char* text : {"s3://b/t.tar", "https://h/t.tar?a=*", "http://[::1]:80/a", "https://h/a%2A.tar"}) {
    INFO(text);
    CHECK_FALSE(is_pattern(text));
    CHECK(list_shards(text) == Names{text});
  }
  CHECK_THAT(why_not("s3://buck*/t.tar"), Catch::Contains("list s3://buck*/t.tar: wildcards are supported in keys"));
  CHECK_THAT(why_not("s3://b?c/t.tar"), Catch::Contains("not in the bucket's name"));
  CHECK_THAT(why_not("https://me:sec/ret@h/*.tar"), Catch::Contains("list https://h/*.tar: an http"));
  CHECK_THAT(why_not("gs://b[a]"), Catch::Contains("not in the bucket's name"));
  CHECK_THAT(why_not("https://me:secret@h/{a,b}*.tar?key=hidden"),
             Catch::Contains("list https://h/a*.tar?...: an http(s) server lists no files"));
  CHECK_THAT(why_not("https://me:secret@h/{a.tar?key=hidden"), Catch::Contains("list https://h/{a.tar?...: the brace"));
}

TEST_CASE("a file of exactly this name has precedence") {
  TemporaryFolder folder;
  folder.write("odd{0..3}[a]*.tar", "x");
  CHECK(list_shards(folder.str("odd{0..3}[a]*.tar")) == Names{folder.str("odd{0..3}[a]*.tar")});
  CHECK(list_shards("plain") == Names{"plain"});
  CHECK(list_shards("https://host/a?b=[c]") == Names{"https://host/a?b=[c]"});
  CHECK(list_shards("gs://b/{a,b}.tar") == Names{"gs://b/a.tar", "gs://b/b.tar"});
  CHECK(is_pattern("a*"));
  CHECK_FALSE(is_pattern("http://h/a?x=1"));
}

TEST_CASE("globs leave out files next to shards that are not shards") {
  const auto without_companions = [](Names files) {
    drop_companions(files);
    return files;
  };
  CHECK(without_companions({"a.idx", "a.rec", "b.idx"}) == Names{"a.rec", "b.idx"});
  CHECK(without_companions({"d/a.tar", "d/manifest.json"}) == Names{"d/a.tar"});
  CHECK(without_companions({"d/a.tar", "e/manifest.json"}) == Names{"d/a.tar", "e/manifest.json"});
  CHECK(without_companions({"manifest.json"}) == Names{"manifest.json"});
  CHECK(without_companions({"index.json", "manifest.json"}) == Names{"index.json", "manifest.json"});
  CHECK(without_companions({"s3://b/a.idx", "s3://b/a.rec", "s3://b/manifest.json"}) == Names{"s3://b/a.rec"});

  const TemporaryFolder folder;
  for (const char* const name : {"a.idx", "a.rec", "manifest.json"}) folder.write(name, "x");
  CHECK(list_shards(folder.str("*")) == Names{folder.str("a.rec")});
  CHECK(list_shards(folder.str("a.{idx,rec}")).size() == 2);  // explicit names are kept
}

}  // namespace
}  // namespace unstarve
