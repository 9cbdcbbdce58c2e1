#include "unstarve/jobs/prepare/catalogue.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "unstarve/core/error.h"

using namespace unstarve;

namespace {

std::string catalogue_with(const std::string& entry) {
  return R"({"unstarve_catalogue": 1, "datasets": [)" + entry + "]}";
}

std::string archive_with(const std::string& keys) {
  return catalogue_with(R"({"name": "a", "title": "A", "layout": "files", "archives": [{)" + keys + "}]}");
}

}  // namespace

TEST_CASE("catalogue: printed JSON can be parsed") {
  const std::vector<CatalogueEntry> known = known_datasets();
  const std::string json = to_json(known);
  const std::vector<CatalogueEntry> again = parse_catalogue(json, "again");
  REQUIRE(again.size() == known.size());
  CHECK(to_json(again) == json);
  CHECK(to_text(again) == to_text(known));
}

TEST_CASE("catalogue: every known dataset has a home page, a licence and distinct archives") {
  std::set<std::string> names;
  for (const CatalogueEntry& entry : known_datasets()) {
    INFO(entry.name);
    CHECK(names.insert(entry.name).second);
    CHECK(entry.home.starts_with("http"));
    CHECK_FALSE(entry.licence.empty());
    CHECK(entry.classes > 0);
    std::set<std::string> files;
    for (const PublishedArchive& archive : entry.archives) CHECK(files.insert(archive.file).second);
    // Archives without a URL have a note that explains why.
    const bool all_urls =
        std::all_of(entry.archives.begin(), entry.archives.end(), [](const auto& a) { return !a.url.empty(); });
    CHECK((all_urls || !entry.note.empty()));
  }
  CHECK(names.size() == 9);
}

TEST_CASE("catalogue: errors name the location") {
  CHECK_THROWS_WITH(parse_catalogue("{", "f"), Catch::Contains("catalogue f"));
  CHECK_THROWS_WITH(parse_catalogue("[]", "f"), Catch::Contains("not an object"));
  CHECK_THROWS_WITH(parse_catalogue(R"({"unstarve_catalogue": 2, "datasets": []})", "f"), Catch::Contains("not 1"));
  CHECK_THROWS_WITH(parse_catalogue(catalogue_with(R"({"name": "a"})"), "f"),
                    Catch::Contains("datasets[0]: \"title\""));
  CHECK_THROWS_WITH(
      parse_catalogue(catalogue_with(R"({"name": "a", "title": "A", "layout": "tarred", "archives": []})"), "f"),
      Catch::Contains("expected one of files, imagenet, coco, open-images"));
  CHECK_THROWS_WITH(parse_catalogue(catalogue_with(R"({"name": "a", "title": "A", "layout": "files"})"), "f"),
                    Catch::Contains("no archives"));
  CHECK_THROWS_WITH(parse_catalogue(archive_with(R"("file": "x", "md6": "")"), "f"),
                    Catch::Contains("unknown key \"md6\""));
  CHECK_THROWS_WITH(parse_catalogue(archive_with(R"("file": "x", "md5": "12")"), "f"),
                    Catch::Contains("32 lower-case"));
  CHECK_THROWS_WITH(parse_catalogue(archive_with(R"("file": "x", "bytes": -1)"), "f"), Catch::Contains("integer"));
  CHECK_THROWS_WITH(parse_catalogue(archive_with(R"("file": "../x")"), "f"), Catch::Contains("not a file name"));
  CHECK_THROWS_WITH(parse_catalogue(archive_with(R"("file": "x", "to": "../up")"), "f"),
                    Catch::Contains("outside its folder"));
  CHECK_THROWS_WITH(parse_catalogue(archive_with(R"("file": "x", "split": "train")"), "f"),
                    Catch::Contains("not in \"splits\""));
  CHECK(parse_catalogue(archive_with(R"("file": "x", "inside": "a/b/")"), "f")[0].archives[0].inside == "a/b");
}

TEST_CASE("catalogue: the error for an unknown name lists the known ones") {
  CHECK_THROWS_WITH(find_dataset(known_datasets(), "cifar-10"), Catch::Contains("cifar10, cifar100, mnist"));
  CHECK(find_dataset(known_datasets(), "coco").title == "COCO 2017");
}
