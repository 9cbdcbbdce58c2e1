#pragma once
// From what the user writes to the list of files that make up one data set.
//
//   data/train.tar               one file
//   data/train-*.tar             a glob: *, ?, [a-z], sorted bytewise; hidden files are not matched by a leading
//                                *, index sidecars (*.unstarve-index) not at all
//   data/train-{000..007}.tar    a range; the first number's width is kept; it may run downwards
//   data/{train,extra}.tar       alternatives, and any number of braces, the last one turning fastest
//   s3://bucket/train-{0..7}.tar braces work for URLs, too
//
// Wildcards in URLs are refused.
//
// A text that names an existing file or folder as it stands is that file, whatever characters it has.
// Threads: free functions. Failure: Error(kArgument) for unpaired braces or more than kMaxShards files, Error(kInput)
//          for a glob that matches nothing, Error(kIo) for a folder that cannot be read. Whether the files of a
//          brace range exist is not looked at here.

#include <cstddef>
#include <string>
#include <vector>

namespace unstarve {

// Larger than any published data set has; stops {0..99999999999} from filling the memory.
inline constexpr std::size_t kMaxShards = 1'000'000;

// Whether `text` has braces or wildcards. Pure: does not look whether a file of that very name exists.
[[nodiscard]] bool is_pattern(const std::string& text) noexcept;

// Braces alone: pure text. A text without braces gives itself.
[[nodiscard]] std::vector<std::string> expand_braces(const std::string& text);

// The files that `text` names: itself, or those its braces and wildcards stand for. Never empty.
[[nodiscard]] std::vector<std::string> list_shards(const std::string& text);

}  // namespace unstarve
