#pragma once
// Expands a URL with wildcards to the matching objects of a bucket, with few requests.
//
//   s3://bucket/20*/shards/train-*.tar     lists the folders "20*", then in each matching folder the objects that begin
//                                          with "shards/train-"; other objects of the bucket are never listed
//   s3://bucket/20*/photos/                with a trailing '/': folders
//
// Wildcards match as in file globs (shard_list.h); none matches a '/', so the pattern is expanded level by level, all
// matching folders of a level before any of the next. If more than kMaxFolders match, all objects that begin with the
// text before the first wildcard are listed instead, which costs less than one list per folder.
// Threads: free functions. Failure: as the lister's; Error(kInput) if nothing matches.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "unstarve/storage/remote/remote.h"

namespace unstarve {

inline constexpr std::size_t kMaxFolders = 64;

// list_level() and list() of a RemoteStore, or a test double.
struct ObjectLister {
  std::function<RemoteLevel(const std::string& prefix_url)> level;
  std::function<std::vector<RemoteObject>(const std::string& prefix_url)> all;
};

// The `urls`, objects of buckets, that match `pattern`, sorted bytewise; only `pattern` if it is one of them. A pattern
// that ends in '/' matches the folders of the objects, each once, with a trailing '/'. Pure.
[[nodiscard]] std::vector<std::string> match_objects(const std::string& pattern, std::vector<std::string> urls);

// Never empty. Precondition: `pattern` is a URL of a bucket with a wildcard or a backslash in its key.
[[nodiscard]] std::vector<std::string> glob_objects(const std::string& pattern, const ObjectLister& lister);

}  // namespace unstarve
