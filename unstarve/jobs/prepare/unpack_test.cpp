#include "unstarve/jobs/prepare/unpack.h"

#include <archive.h>
#include <archive_entry.h>

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/storage/testing/temporary_folder.h"

using namespace unstarve;
namespace fs = std::filesystem;

namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

void write_archive(const fs::path& path, const Members& members, bool zip = false, bool gzip = false) {
  archive* out = archive_write_new();
  REQUIRE((zip ? archive_write_set_format_zip(out) : archive_write_set_format_ustar(out)) == ARCHIVE_OK);
  if (gzip) REQUIRE(archive_write_add_filter_gzip(out) == ARCHIVE_OK);
  REQUIRE(archive_write_open_filename(out, path.c_str()) == ARCHIVE_OK);
  for (const auto& [name, body] : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0600);
    archive_entry_set_size(entry, static_cast<la_int64_t>(body.size()));
    REQUIRE(archive_write_header(out, entry) == ARCHIVE_OK);
    REQUIRE(archive_write_data(out, body.data(), body.size()) == static_cast<la_ssize_t>(body.size()));
    archive_entry_free(entry);
  }
  REQUIRE(archive_write_close(out) == ARCHIVE_OK);
  archive_write_free(out);
}

UnpackRules rules_of(const std::string& name) {
  return {.name = name, .member = "", .inside = "", .leave_out = {}, .limit_bytes = 1 << 20};
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(folder));
  }
  std::sort(files.begin(), files.end());
  return files;
}

const Members kMembers = {{"top/a/1.jpg", "one"},   {"top/b/2.jpg", std::string(3000, 'x')},
                          {"other/3.jpg", "three"}, {"top/__MACOSX/._1", "mac"},
                          {"top/.DS_Store", "mac"}, {"top/no/4.jpg", "four"}};

}  // namespace

TEST_CASE("unpack: the selected folder of tar and zip, without skipped names") {
  const unstarve::testing::TemporaryFolder folder;
  for (const auto& [name, zip, gzip] :
       {std::tuple{"a.tar", false, false}, {"a.tar.gz", false, true}, {"a.zip", true, false}}) {
    INFO(name);
    write_archive(folder.path() / name, kMembers, zip, gzip);
    UnpackRules rules = rules_of(name);
    rules.inside = "top";
    rules.leave_out = {"no"};
    const fs::path out = folder.path() / (std::string(name) + ".out");
    const UnpackCount count = unpack_archive(folder.path() / name, rules, out);
    CHECK(files_in(out) == std::vector<std::string>{"a/1.jpg", "b/2.jpg"});
    CHECK(read_text_file(out / "b/2.jpg") == std::string(3000, 'x'));
    CHECK(count.files == 2);
    CHECK(count.bytes == 3003);
  }
}

TEST_CASE("unpack: names outside the folder are rejected, and nothing is written there") {
  const unstarve::testing::TemporaryFolder folder;
  const fs::path out = folder.path() / "deep/out";
  for (const char* name : {"../up.jpg", "a/../../up.jpg", "/tmp/unstarve-up.jpg", "top/../../up.jpg"}) {
    for (const bool zip : {false, true}) {
      INFO(name << zip);
      const std::string file = zip ? "a.zip" : "a.tar";
      write_archive(folder.path() / file, {{name, "x"}}, zip);
      UnpackRules rules = rules_of(file);
      rules.inside = "elsewhere";  // also for unwanted members
      CHECK_THROWS_WITH(unpack_archive(folder.path() / file, rules, out), Catch::Contains("outside the folder"));
      CHECK_FALSE(fs::exists(folder.path() / "deep/up.jpg"));
      CHECK_FALSE(fs::exists("/tmp/unstarve-up.jpg"));
    }
  }
}

TEST_CASE("unpack: no more than the limit") {
  const unstarve::testing::TemporaryFolder folder;
  write_archive(folder.path() / "a.tar.gz", {{"1", std::string(600'000, 'a')}, {"2", std::string(600'000, 'a')}}, false,
                true);
  CHECK_THROWS_WITH(unpack_archive(folder.path() / "a.tar.gz", rules_of("a.tar.gz"), folder.path() / "out"),
                    Catch::Contains("bomb"));
  UnpackRules rules = rules_of("a.tar.gz");
  rules.limit_bytes = 1'200'000;
  CHECK(unpack_archive(folder.path() / "a.tar.gz", rules, folder.path() / "out").bytes == 1'200'000);
}

TEST_CASE("unpack: a truncated archive is rejected or ends after a complete member") {
  const unstarve::testing::TemporaryFolder folder;
  write_archive(folder.path() / "whole.tar", {{"1", "one"}, {"2", std::string(700, 'x')}});
  const std::string whole = read_text_file(folder.path() / "whole.tar");
  for (std::size_t length = 0; length < 3000; length += 37) {
    folder.write("cut.tar", whole.substr(0, length));
    const fs::path out = folder.path() / "out";
    fs::remove_all(out);
    try {
      (void)unpack_archive(folder.path() / "cut.tar", rules_of("cut.tar"), out);
      for (const std::string& file : files_in(out)) {
        CHECK(read_text_file(out / file) == (file == "1" ? "one" : std::string(700, 'x')));
      }
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
    }
  }
}

TEST_CASE("unpack: each archive of an archive gets a folder, and a second call continues") {
  const unstarve::testing::TemporaryFolder folder;
  write_archive(folder.path() / "n1.tar", {{"1.jpg", "one"}});
  write_archive(folder.path() / "n2.tar", {{"2.jpg", "two"}});
  write_archive(folder.path() / "all.tar", {{"n1.tar", read_text_file(folder.path() / "n1.tar")},
                                            {"n2.tar", read_text_file(folder.path() / "n2.tar")}});
  UnpackRules rules = rules_of("all.tar");
  rules.each = true;
  const fs::path out = folder.path() / "out";
  folder.write("out/n1/1.jpg", "was there");
  folder.write("out/n2.unpacking/left", "half");
  const UnpackCount count = unpack_archive(folder.path() / "all.tar", rules, out);
  CHECK(count.files == 1);
  CHECK(files_in(out) == std::vector<std::string>{"n1/1.jpg", "n2/2.jpg"});
  CHECK(read_text_file(out / "n1/1.jpg") == "was there");
}

TEST_CASE("unpack: a compressed file loses its extension; a damaged tar is not treated as a single file") {
  const unstarve::testing::TemporaryFolder folder;
  folder.write("plain.csv", "a,b\n");
  CHECK(unpack_archive(folder.path() / "plain.csv", rules_of("plain.csv"), folder.path() / "out").bytes == 4);
  CHECK(read_text_file(folder.path() / "out/plain.csv") == "a,b\n");
  folder.write("text.tar", std::string(5000, 'x'));
  CHECK_THROWS_AS(unpack_archive(folder.path() / "text.tar", rules_of("text.tar"), folder.path() / "out"), Error);
}
