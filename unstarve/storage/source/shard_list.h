#pragma once
// Expands the user's text to the list of files of one dataset.
//
//   data/train.tar               one file
//   data/train-*.tar             a glob: *, ?, [a-z], sorted bytewise; a leading * does not match hidden files. Files
//                                next to shards that are not shards are left out: index sidecars (*.unstarve-index),
//                                the x.idx of a matched x.rec, a manifest.json among matches other than *.json
//   data/train-{000..007}.tar    a range; the width of the first number is used for all; it may descend
//   data/{train,extra}.tar       alternatives, and any number of braces; the last one varies fastest
//   s3://bucket/train-{0..7}.tar braces also work in URLs
//   s3://bucket/2024/train-*.tar wildcards in keys of s3://, gs:// and az://, as in file globs (a * does not match a
//                                '/'), expanded after the braces; not in the bucket's name. http(s):// servers list no
//                                files, so a '*' in the path is rejected (write %2A if it belongs to a name)
//   runs/*/  s3://bucket/runs/*/ folders, each opened as one dataset
//
// A text that is the exact name of an existing file, folder or (with wildcards) object is not expanded. "Folders" of
// buckets (keys that end in '/') are not shards.
// Threads: free functions. Failure: Error(kArgument) for unpaired braces, more than kMaxShards files, or wildcards that
//          are not supported; Error(kInput) for a glob without matches; Error(kIo) for a folder or bucket that cannot
//          be read; Error(kMissing) for a bucket in a build without libcurl. The files of a brace range need not exist.
//          Messages leave out the secret parts of an http(s):// URL.
// Cost:    a wildcard in a key lists its level, and the levels below the matching folders (object_glob.h), 1000 keys
//          and folders per round trip.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

// Larger than the number of shards of any published dataset; keeps {0..99999999999} from exhausting memory.
inline constexpr std::size_t kMaxShards = 1'000'000;

// Suffix of index sidecars, which are stored next to the data and match "train-*".
inline constexpr std::string_view kIndexSuffix = ".unstarve-index";

// Whether `text` has braces, or wildcards in a position where they are expanded. Pure: does not check whether a file of
// exactly this name exists.
[[nodiscard]] bool is_pattern(const std::string& text) noexcept;

// Removes the x.idx of an x.rec in `files`, and a manifest.json next to files other than *.json. `files` are sorted
// bytewise and stay sorted. Pure.
void drop_companions(std::vector<std::string>& files);

// Expands braces only: pure text. A text without braces expands to itself.
[[nodiscard]] std::vector<std::string> expand_braces(const std::string& text);

// The files that `text` names: itself, or the expansion of its braces and wildcards. Never empty.
[[nodiscard]] std::vector<std::string> list_shards(const std::string& text);

}  // namespace unstarve
