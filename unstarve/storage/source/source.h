#pragma once
// What is stored at the path, pattern or URL that the user gave: read once, then examined by every format.
//
// Threads: plain data and free functions.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/bytes/inflate.h"
#include "unstarve/storage/source/folder_scan.h"
#include "unstarve/storage/source/open_bytes.h"
#include "unstarve/storage/source/source_options.h"

namespace unstarve {

// The number of bytes of the first file that formats examine.
inline constexpr std::size_t kHeadBytes = 4096;

struct Source {
  std::string text;           // as given: a path, a pattern, a URL, or "name:key=value,..."
  std::string path;           // the same without "#key=value,..."
  SourceOptions options{""};  // what stood behind '#'
  bool exists = false;        // a local file or folder of that very name, or a folder of a bucket that holds something
  bool folder = false;        // local, or of a bucket: `path` is then its URL without a '/' behind
  FolderListing listing;      // of a folder, without hidden entries
  std::vector<std::string> files;  // what a file, pattern or URL names, in order; empty for a folder and for nothing
  // Those that a pattern names where it names such; `files` is empty then, and open_dataset() opens them in turn.
  std::vector<std::string> folders;
  // The first of `files` that tells its format (sniff.h), else that is not empty: open, its first bytes as stored, and
  // those after gzip, zlib or Zstandard was undone (equal to `head` for other files, whose compression is kNone).
  std::shared_ptr<const ByteSource> first;
  std::string first_path;  // as open_bytes() takes it: a URL with its password
  std::vector<std::uint8_t> head;
  Compression compression = Compression::kNone;
  std::vector<std::uint8_t> content;
};

// Looks at `text`. Throws Error(kIo) when what is there cannot be read, Error(kInput) when it is a Zstandard stream
// that cannot be decoded from its start; a missing path is told by `exists` and `files`.
[[nodiscard]] Source look_at(const std::string& text);

// What lies in the folder of a bucket: `url` without '/' behind. Keys that are no names (the folder's own, with '/'
// twice, hidden) are left out.
[[nodiscard]] FolderListing list_bucket_folder(const std::string& url);

// "3 folders (a, b, c), 2 files (x.bin, README)": what a folder holds, for messages; the first few names of each kind.
[[nodiscard]] std::string describe(const FolderListing& listing);

// The shards of `source`: of a folder those files that `is_shard` accepts by name, else all that the text names (their
// content has told the format). A name belongs to a split when it has its name as a word
// ("x-train.tfrecord-00000-of-8", "val_3.tar"); with several splits in one folder one must be chosen. Throws
// Error(kInput) then, and Error(kArgument) for a split that is not there.
[[nodiscard]] std::vector<Shard> choose_shards(const Source& source, const std::string& split,
                                               bool (*is_shard)(std::string_view name));

}  // namespace unstarve
