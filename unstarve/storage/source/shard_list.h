#pragma once
// From what the user writes to the list of files that make up one data set.
//
//   data/train.tar               one file
//   data/train-*.tar             a glob: *, ?, [a-z], sorted bytewise; hidden files are not matched by a leading
//                                *, nor what lies beside shards and is none: index sidecars (*.unstarve-index), the
//                                x.idx of a matched x.rec, a manifest.json among matches that are no *.json
//   data/train-{000..007}.tar    a range; the first number's width is kept; it may run downwards
//   data/{train,extra}.tar       alternatives, and any number of braces, the last one turning fastest
//   s3://bucket/train-{0..7}.tar braces work for URLs, too
//   s3://bucket/2024/train-*.tar wildcards in keys of s3:// and gs://, by the rules of the files' (a * does not match a
//                                '/'), after the braces; not in the bucket's name. http(s):// has no list of its files
//                                to match with, so a '*' in the path is refused (%2A where it belongs to a name)
//   runs/*/  s3://bucket/runs/*/ folders, each to be opened as one
//
// A text that names an existing file, folder or, where it has wildcards, object as it stands is that one, whatever
// characters it has. "Folders" of buckets (keys that end in '/') are no shards.
// Threads: free functions. Failure: Error(kArgument) for unpaired braces, more than kMaxShards files, or wildcards
//          where they are not known; Error(kInput) for a glob that matches nothing; Error(kIo) for a folder or bucket
//          that cannot be read; Error(kMissing) for a bucket in a build without libcurl. Whether the files of a brace
//          range exist is not looked at here. Messages leave out what may be secret in an http(s):// URL.
// Cost:    a wildcard in a key lists its level, and the levels below of the folders that match (object_glob.h), 1000
//          keys and folders per round trip.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

// Larger than any published data set has; stops {0..99999999999} from filling the memory.
inline constexpr std::size_t kMaxShards = 1'000'000;

// Of our own sidecars, which lie beside the data and are matched by "train-*", but are no shards.
inline constexpr std::string_view kIndexSuffix = ".unstarve-index";

// Whether `text` has braces, or wildcards where they would be looked at. Pure: does not look whether a file of that
// very name exists.
[[nodiscard]] bool is_pattern(const std::string& text) noexcept;

// Leaves out the x.idx of an x.rec in `files`, and the manifest.json of a folder of which `files` has others than
// *.json. `files` are sorted bytewise, and stay so. Pure.
void drop_companions(std::vector<std::string>& files);

// Braces alone: pure text. A text without braces gives itself.
[[nodiscard]] std::vector<std::string> expand_braces(const std::string& text);

// The files that `text` names: itself, or those its braces and wildcards stand for. Never empty.
[[nodiscard]] std::vector<std::string> list_shards(const std::string& text);

}  // namespace unstarve
