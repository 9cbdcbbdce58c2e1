#pragma once
// The data at a path, pattern or URL given by the user: listed and read once, then examined by every format.
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
  std::string text;                // as given: a path, a pattern, a URL, or "name:key=value,..."
  std::string path;                // the same without "#key=value,..."
  std::string option_text;         // "#key=value,...", or empty
  SourceOptions options{""};       // parsed from it
  bool declines_labels = false;    // for formats with one kind of labels; others have the option label=none
  bool exists = false;             // a local file or folder of exactly this name, or a non-empty folder of a bucket
  bool folder = false;             // local, or of a bucket: then `path` is its URL without a trailing '/'
  FolderListing listing;           // of a folder, without hidden entries
  std::vector<std::string> files;  // the files that a path, pattern or URL names, in order; empty for a folder
  // The folders that a pattern names; `files` is empty then, and open_dataset() concatenates the folders.
  std::vector<std::string> folders;
  // The first of `files` that identifies its format, else the first that is not empty: open, with its first
  // bytes as stored and after decompression (equal to `head` if compression is kNone).
  std::shared_ptr<const ByteSource> first;
  std::string first_path;  // as open_bytes() takes it: a URL with its password
  std::vector<std::uint8_t> head;
  Compression compression = Compression::kNone;
  std::vector<std::uint8_t> content;
};

// Throws Error(kIo) if the data cannot be read, Error(kInput) for a Zstandard stream that cannot be decoded from its
// start. A missing path is not an error: see `exists` and `files`.
[[nodiscard]] Source inspect_source(const std::string& text);

// Lists a folder of a bucket: `url` without a trailing '/'. Leaves out keys that are not file names (the folder's own
// key, keys with "//") and what folder_scan.h leaves out.
[[nodiscard]] FolderListing list_bucket_folder(const std::string& url);

// "3 folders (a, b, c), 2 files (x.bin, README)": the contents of a folder for messages; the first few names of each
// kind.
[[nodiscard]] std::string describe(const FolderListing& listing);

// Emits a notice: a folder of published files was opened without a split, so training and test data are read.
void report_both_splits(const std::string& shown);

// The shards of `source`: the files of a folder that `is_shard` accepts by name, else all files that the text names. A
// file belongs to a split if its name contains the split as a word, in any case ("x-train.tfrecord-00000-of-8",
// "Val_3.tar"). Throws Error(kInput) if a folder has several splits and `split` is empty, Error(kArgument) for a split
// without files.
[[nodiscard]] std::vector<Shard> choose_shards(const Source& source, const std::string& split,
                                               bool (*is_shard)(std::string_view name));

// The first kHeadBytes of a file, decompressed. Throws Error(kIo), and Error(kInput) as inflate_head().
[[nodiscard]] std::vector<std::uint8_t> content_front(const ByteSource& file);

// Whether first bytes can identify a format: an empty shard has none, and a tar without members has only zeros.
[[nodiscard]] bool identifies_format(std::span<const std::uint8_t> content) noexcept;

// Whether `is_content` accepts the first bytes of the folder's first non-empty file whose name `is_shard` accepts. A
// file that cannot be read counts as accepted: opening it then reports the reason.
[[nodiscard]] bool folder_begins(const Source& source, bool (*is_shard)(std::string_view name),
                                 bool (*is_content)(std::span<const std::uint8_t> front));

}  // namespace unstarve
