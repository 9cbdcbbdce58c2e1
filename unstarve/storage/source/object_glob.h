#pragma once
// The objects of a bucket that a text with wildcards names, found with few requests.
//
//   s3://bucket/20*/shards/train-*.tar     list the folders "20*", then of each that matches what begins with
//                                          "shards/train-": what lies elsewhere in the bucket is never listed
//   s3://bucket/20*/photos/                with '/' behind: folders
//
// Wildcards match as those of files do (shard_list.h); none matches a '/', so a text goes down level by level, all
// folders of a level that match before any of the next. Where more than kMostFolders match, a list of everything that
// begins as the text does before its first wildcard costs less than one list per folder.
// Threads: free functions. Failure: as the lister's; Error(kInput) where nothing matches.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "unstarve/storage/remote/remote.h"

namespace unstarve {

inline constexpr std::size_t kMostFolders = 64;

// list_level() and list_objects() of remote.h, or a test's.
struct ObjectLister {
  std::function<RemoteLevel(const std::string& prefix_url)> level;
  std::function<std::vector<RemoteObject>(const std::string& prefix_url)> all;
};

// Those of `urls`, objects of buckets, that `pattern` matches, sorted bytewise; `pattern` alone if it is one of them. A
// pattern that ends in '/' matches the folders that they lie in, each once, with '/' behind. Pure.
[[nodiscard]] std::vector<std::string> match_objects(const std::string& pattern, std::vector<std::string> urls);

// Never empty. Precondition: `pattern` is a URL of a bucket with a wildcard or a backslash in its key.
[[nodiscard]] std::vector<std::string> glob_objects(const std::string& pattern, const ObjectLister& lister);

}  // namespace unstarve
