#include "unstarve/storage/formats/webdataset/tar_scanner.h"

#include <catch2/catch.hpp>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/testing/forward_memory.h"
#include "unstarve/storage/testing/tar_text.h"

namespace unstarve {
namespace {

using testing::TarText;

std::vector<TarEvent> scan(const std::string& archive) {
  testing::ForwardMemory bytes({reinterpret_cast<const std::uint8_t*>(archive.data()), archive.size()});
  TarScanner scanner(bytes);
  std::vector<TarEvent> events;
  for (;;) {
    TarEvent event;
    scanner.next(event);
    if (event.kind == TarEvent::Kind::kEnd) return events;
    if (event.kind == TarEvent::Kind::kFile) {
      const std::string_view body(reinterpret_cast<const char*>(event.body.data()), event.body.size());
      REQUIRE(body == std::string_view(archive).substr(event.data, event.bytes));
    }
    event.body = {};
    events.push_back(event);
  }
}

// "name:body" for files, "name is a hard link" for links, "!reason" for damage.
std::vector<std::string> scanned_lines(const std::string& archive) {
  std::vector<std::string> lines;
  for (const TarEvent& event : scan(archive)) {
    if (event.kind == TarEvent::Kind::kFile)
      lines.push_back(event.name + ":" + archive.substr(event.data, event.bytes));
    else
      lines.push_back(event.kind == TarEvent::Kind::kLink ? event.name + " is " + event.reason : "!" + event.reason);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST_CASE("members of every tar format are found at their offsets") {
  TarText tar;
  tar.file("a.jpg", "one").file("b.jpg", std::string(512, 'b')).file("empty", "").file("c.jpg", std::string(513, 'c'));
  CHECK(scanned_lines(tar.text()) ==
        Lines{"a.jpg:one", "b.jpg:" + std::string(512, 'b'), "empty:", "c.jpg:" + std::string(513, 'c')});
  CHECK(scan(tar.text())[1].header == 1024);
  CHECK(scan(tar.text())[1].data == 1536);

  const std::string prefix(150, 'p');
  CHECK(scanned_lines(TarText().posix(prefix, "x.jpg", "1").end()) == Lines{prefix + "/x.jpg:1"});
  // The GNU format has other fields in the bytes of the prefix.
  CHECK(scanned_lines(TarText().gnu(prefix, "x.jpg", "1").end()) == Lines{"x.jpg:1"});
  CHECK(scanned_lines(TarText().v7("old.jpg", "1").v7("folder/", "").end()) == Lines{"old.jpg:1"});

  const std::string long_name = std::string(300, 'n') + ".jpg";
  CHECK(scanned_lines(TarText().long_name(long_name).file("cut", "1").file("b", "2").end()) ==
        Lines{long_name + ":1", "b:2"});
  CHECK(scanned_lines(TarText().pax({{"path", long_name}, {"mtime", "1.5"}}).file("cut", "1").file("b", "2").end()) ==
        Lines{long_name + ":1", "b:2"});
  CHECK(scanned_lines(TarText().pax({{"size", "3"}}).file("a", "123", '0', 0).file("b", "2").end()) ==
        Lines{"a:123", "b:2"});
  CHECK(scanned_lines(TarText().global({{"comment", "0123"}}).file("a", "1").end()) == Lines{"a:1"});
  CHECK(scanned_lines(TarText().binary_size("a", "123").end()) == Lines{"a:123"});
}

TEST_CASE("members that are not regular files are skipped, links are reported") {
  TarText tar;
  tar.file("folder", "", '5').file("link", "", '2', 77).file("hard", "", '1', 77).file("pipe", "", '6');
  tar.file("unknown", "body", 'Z').file("a", "1", '7').file("b", "2", '\0');
  CHECK(scanned_lines(tar.end()) == Lines{"link is a symbolic link", "hard is a hard link", "a:1", "b:2"});
  CHECK(scanned_lines(TarText().long_name("far").file("x", "", '2').file("../y", "", '1').end()) ==
        Lines{"far is a symbolic link"});
}

TEST_CASE("concatenated archives and archives without closing blocks are read completely") {
  const std::string a = TarText().file("a", "1").end();
  const std::string b = TarText().file("b", "2").end();
  CHECK(scanned_lines(a + b) == Lines{"a:1", "b:2"});
  CHECK(scanned_lines(TarText().file("a", "1").text()) == Lines{"a:1"});
  CHECK(scanned_lines(std::string(10240, '\0')).empty());
  CHECK(scanned_lines("").empty());
}

TEST_CASE("damage affects only its own member") {
  const std::string whole = TarText().file("a", "1").file("b", "2").file("c", "3").end();
  std::string bad = whole;
  bad[1024 + 20] ^= 1;  // in b's header
  const std::vector<TarEvent> events = scan(bad);
  REQUIRE(events.size() == 3);
  CHECK(events[1].kind == TarEvent::Kind::kDamage);
  CHECK(events[1].header == 1024);
  CHECK(events[1].bytes == 1024);
  CHECK(events[1].reason == "the header checksum is wrong");
  CHECK(events[2].name == "c");

  bad = whole;
  std::fill_n(bad.begin() + 1024, 512, 'x');
  CHECK(scanned_lines(bad) == Lines{"a:1", "!the header checksum is wrong and the magic 'ustar' is missing", "c:3"});
}

TEST_CASE("members that cannot be read are reported with the reason") {
  const auto only = [](const std::string& archive) {
    const Lines lines = scanned_lines(archive);
    REQUIRE(lines.size() == 2);
    CHECK(lines[1] == "good:1");
    return lines[0];
  };
  CHECK(only(TarText().file("../up.jpg", "x").file("good", "1").end()) ==
        "!member name '../up.jpg': absolute, or leaves the folder through '..'");
  CHECK_THAT(only(TarText().file("/etc/passwd", "x").file("good", "1").end()), Catch::Contains("absolute, or leaves"));
  CHECK_THAT(only(TarText().file("a/../../b", "x").file("good", "1").end()), Catch::Contains("leaves the folder"));
  CHECK_THAT(only(TarText().file("s", "x", 'S').file("good", "1").end()), Catch::Contains("sparse"));
  CHECK_THAT(only(TarText().sparse_with_map("s", "x").file("good", "1").end()), Catch::Contains("sparse"));
  CHECK_THAT(only(TarText().pax({{"GNU.sparse.major", "1"}}).file("s", "x").file("good", "1").end()),
             Catch::Contains("sparse"));
  CHECK_THAT(only(TarText().raw('x', "99 path=a\n").file("good", "1").end()), Catch::Contains("pax record"));
  CHECK_THAT(only(TarText().raw('x', "9 size=x\n").file("good", "1").end()), Catch::Contains("pax size 'x'"));
  CHECK_THAT(only(TarText().pax({{"path", std::string("a\0b", 3)}}).file("good", "1").end()), Catch::Contains("NUL"));
  // A right checksum with a wrong size: all following bytes count as the body of the member.
  const Lines wrong =
      scanned_lines(TarText().file("a", "1").file("big", "x", '0', std::uint64_t{1} << 32).file("b", "2").end());
  REQUIRE(wrong.size() == 2);
  CHECK_THAT(wrong[1], Catch::Contains("the header declares 4294967296 bytes"));
}

TEST_CASE("unusual names that stay in their folder are accepted") {
  CHECK(scanned_lines(TarText().file("./a", "1").file("a..b/c..", "2").file("...", "3").end()) ==
        Lines{"./a:1", "a..b/c..:2", "...:3"});
}

TEST_CASE("a truncated archive keeps its complete members and reports the rest") {
  const std::string whole = TarText()
                                .file("a", "1")
                                .pax({{"path", "long/b"}})
                                .file("b", std::string(700, 'b'))
                                .long_name("long/c")
                                .file("c", "3")
                                .end();
  const Lines expected = {"a:1", "long/b:" + std::string(700, 'b'), "long/c:3"};
  REQUIRE(scanned_lines(whole) == expected);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Lines lines = scanned_lines(whole.substr(0, length));
    for (const TarEvent& event : scan(whole.substr(0, length))) CHECK(event.header + event.bytes <= length);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i][0] == '!')
        CHECK(i + 1 == lines.size());
      else
        CHECK(lines[i] == expected[i]);
    }
  }
}

TEST_CASE("any changed byte of a header affects at most one member") {
  const std::string whole = TarText().file("a", "1").file("b", "2").file("c", "3").end();
  for (std::size_t at = 1024; at < 1024 + 512; ++at) {
    if (at == 1024 + 155) continue;  // after the NUL that ends the checksum: has no meaning
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] + 1);
    const Lines lines = scanned_lines(bad);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == "a:1");
    CHECK(lines[2] == "c:3");
    CHECK(lines[1][0] == '!');
  }
}

TEST_CASE("keys and extensions are those of the webdataset package") {
  const auto extension = [](std::string_view path) {
    const std::size_t at = tar_extension_at(path);
    return at == std::string_view::npos ? "none" : std::string(path.substr(at));
  };
  CHECK(extension("a.jpg") == "jpg");
  CHECK(extension("x/y.z/a.seg.png") == "seg.png");
  CHECK(extension("a.") == "");
  CHECK(extension("a") == "none");
  CHECK(extension(".hidden") == "none");
  CHECK(extension("x.y/a") == "none");
  CHECK(extension("x/.a.b") == "none");

  CHECK(is_tar_metadata("__meta__"));
  CHECK(is_tar_metadata("__meta__/a.jpg"));
  CHECK_FALSE(is_tar_metadata("__meta__.jpg"));
  CHECK_FALSE(is_tar_metadata("a/__meta__"));
  CHECK_FALSE(is_tar_metadata("___"));
}

}  // namespace
}  // namespace unstarve
