#include "unstarve/storage/source/object_glob.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

using Names = std::vector<std::string>;

// A bucket with these keys; records each list request.
struct Bucket {
  Names urls;
  Names lists;

  ObjectLister lister() {
    return {[this](const std::string& prefix) {
              lists.push_back("level " + prefix);
              RemoteLevel level;
              std::set<std::string> folders;
              for (const std::string& url : urls) {
                if (!url.starts_with(prefix)) continue;
                const std::size_t slash = url.find('/', prefix.size());
                if (slash == std::string::npos)
                  level.objects.push_back({url, 1});
                else
                  folders.insert(url.substr(0, slash + 1));
              }
              level.folders.assign(folders.begin(), folders.end());
              return level;
            },
            [this](const std::string& prefix) {
              lists.push_back("all " + prefix);
              std::vector<RemoteObject> objects;
              for (const std::string& url : urls) {
                if (url.starts_with(prefix)) objects.push_back({url, 1});
              }
              return objects;
            }};
  }
};

Bucket bucket() {
  return {
      {"s3://b/2023/a/x.tar", "s3://b/2024/a/t-0.tar", "s3://b/2024/a/t-1.tar", "s3://b/2024/b/t-0.tar",
       "s3://b/2024/b/c/t-9.tar", "s3://b/2024/.h/t-0.tar", "s3://b/2024/od*/t-0.tar", "s3://b/top.tar",
       "s3://b/2024/[1]/t-*.tar", "s3://b/2024/a/", "s3://b/2025/a/t-7.tar", "s3://b/2025/a/t-7.tar.unstarve-index"},
      {}};
}

TEST_CASE("objects match as files do") {
  const Names urls = {"s3://b/d/t-10.tar", "s3://b/d/t-2.tar",      "s3://b/d/t-2.tar.unstarve-index",
                      "s3://b/d/.t-3.tar", "s3://b/d/t-/x.tar",     "s3://b/d/",
                      "s3://b/d/u*.tar",   "s3://b/d/under/t-1.tar"};
  CHECK(match_objects("s3://b/d/t-*.tar", urls) == Names{"s3://b/d/t-10.tar", "s3://b/d/t-2.tar"});
  CHECK(match_objects("s3://b/d/*-?.tar", urls) == Names{"s3://b/d/t-2.tar"});
  CHECK(match_objects("s3://b/d/*/*.tar", urls) == Names{"s3://b/d/t-/x.tar", "s3://b/d/under/t-1.tar"});
  CHECK(match_objects("s3://b/d/t-[0-1]*", urls) == Names{"s3://b/d/t-10.tar"});
  CHECK(match_objects("s3://b/*", urls).empty());
  CHECK(match_objects("s3://b/d/*", urls) == Names{"s3://b/d/t-10.tar", "s3://b/d/t-2.tar", "s3://b/d/u*.tar"});
  CHECK(match_objects("s3://b/d/u*.tar", urls) == Names{"s3://b/d/u*.tar"});
  CHECK(match_objects("s3://b/d/u\\*.tar", urls) == Names{"s3://b/d/u*.tar"});
  CHECK(match_objects("s3://b/d/.t*", urls) == Names{"s3://b/d/.t-3.tar"});
}

TEST_CASE("expanding level by level finds the same objects as matching all") {
  for (const std::string key : {"*",
                                "*/*",
                                "*/*/*",
                                "2024/*/t-0.tar",
                                "202[34]/a/*",
                                "202?/*/t-*.tar",
                                "*/a/t-7.tar",
                                "*/b/c/*",
                                "2024/.*/*",
                                "2024/*/*.tar",
                                "2024/od\\*/*",
                                "2024/od*/t-0.tar",
                                "2024/[1]/t-*.tar",
                                "2024\\/a/*",
                                "2024/*/",
                                "*/",
                                "*/?/",
                                "202[34]/*/c/",
                                "2024/o*\\*/",
                                "2024\\/*/",
                                "2024/.*/",
                                "*.tar",
                                "2024/a/t-[0-9].tar",
                                "[!x]*/?/[!y]*"}) {
    const std::string pattern = "s3://b/" + key;
    INFO(pattern);
    Bucket all = bucket();
    const Names expected = match_objects(pattern, all.urls);
    Names found;
    try {
      found = glob_objects(pattern, all.lister());
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
      CHECK_THAT(error.what(), Catch::StartsWith("list " + pattern + ": none of the "));
    }
    CHECK(found == expected);
  }
}

TEST_CASE("a bracket does not match a slash, as in file globs") {
  Bucket all = bucket();
  CHECK_THROWS_WITH(glob_objects("s3://b/2024/[a/b]*/t-0.tar", all.lister()), Catch::Contains("none of the"));
}

TEST_CASE("only objects with the literal prefix are listed, level by level") {
  Bucket all = bucket();
  CHECK(glob_objects("s3://b/2024/*/t-*.tar", all.lister()).size() == 5);
  CHECK(all.lists == Names{"level s3://b/2024/", "level s3://b/2024/[1]/t-", "level s3://b/2024/a/t-",
                           "level s3://b/2024/b/t-", "level s3://b/2024/od*/t-"});
  all.lists.clear();
  CHECK(glob_objects("s3://b/*4/b/c/t-9*", all.lister()).size() == 1);
  CHECK(all.lists == Names{"level s3://b/", "level s3://b/2024/b/c/t-9"});
  all.lists.clear();
  CHECK_THROWS_WITH(glob_objects("s3://b/2024/q*/x/*.tar", all.lister()),
                    "list s3://b/2024/q*/x/*.tar: none of the 0 folders that begin with s3://b/2024/q matches");
  CHECK(all.lists == Names{"level s3://b/2024/q"});
}

TEST_CASE("a trailing slash matches folders") {
  Bucket all = bucket();
  const auto globbed = [&](const std::string& key) {
    all.lists.clear();
    return glob_objects("s3://b/" + key, all.lister());
  };
  CHECK(globbed("2024/*/") == Names{"s3://b/2024/[1]/", "s3://b/2024/a/", "s3://b/2024/b/", "s3://b/2024/od*/"});
  CHECK(all.lists == Names{"level s3://b/2024/"});
  CHECK(globbed("*/a/") == Names{"s3://b/2023/a/", "s3://b/2024/a/", "s3://b/2025/a/"});
  CHECK(all.lists == Names{"level s3://b/", "level s3://b/2023/a", "level s3://b/2024/a", "level s3://b/2025/a"});
  CHECK(globbed("2024/*/c/") == Names{"s3://b/2024/b/c/"});
  CHECK(globbed("2024/od*/") == Names{"s3://b/2024/od*/"});
  CHECK_THROWS_WITH(globbed("to*/"), "list s3://b/to*/: none of the 0 folders that begin with s3://b/to matches");
  for (std::size_t i = 0; i <= kMaxFolders; ++i) all.urls.push_back("s3://b/many/" + std::to_string(i) + "/c/x.tar");
  CHECK(globbed("many/*/").size() == kMaxFolders + 1);
  CHECK(globbed("many/*/c*/").size() == kMaxFolders + 1);
  CHECK(all.lists == Names{"level s3://b/many/", "all s3://b/many/"});
}

TEST_CASE("many matching folders are listed with one request") {
  Bucket all = bucket();
  for (std::size_t i = 0; i <= kMaxFolders; ++i) all.urls.push_back("s3://b/many/" + std::to_string(i) + "/x.tar");
  CHECK(glob_objects("s3://b/many/*/x*.tar", all.lister()).size() == kMaxFolders + 1);
  CHECK(all.lists == Names{"level s3://b/many/", "all s3://b/many/"});
  all.lists.clear();
  all.urls.pop_back();
  CHECK(glob_objects("s3://b/many/*/x*.tar", all.lister()).size() == kMaxFolders);
  CHECK(all.lists.size() == 1 + kMaxFolders);
}

}  // namespace
}  // namespace unstarve
