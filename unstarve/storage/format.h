#pragma once
// What a storage format gives to open_dataset(): a row of one constant table (open.cpp). A new format is one file with
// these two functions and one row.
//
// Threads: plain data and pure functions.

#include <memory>
#include <string>

#include "unstarve/storage/dataset.h"
#include "unstarve/storage/folder_scan.h"

namespace unstarve {

// What lies at the path that was given, looked at once for all formats.
struct Source {
  std::string text;  // as given: a path, or "name:key=value,..."
  bool exists = false;
  bool folder = false;
  FolderListing listing;  // of a folder, without hidden entries
};

struct Format {
  const char* name;     // in messages: "image folder"
  const char* expects;  // what makes it be recognised, in a few words
  // Cheap, by names and lengths; must not throw. Two formats that recognise the same source make it ambiguous.
  bool (*recognises)(const Source& source);
  // Throws as open_dataset(). `split` is "" for everything.
  std::shared_ptr<const Dataset> (*open)(const Source& source, const std::string& split);
};

// Looks at `text`. Throws Error(kIo) when a folder cannot be read; a missing path is told by `exists`.
[[nodiscard]] Source look_at(const std::string& text);

// "3 folders (a, b, c), 2 files (x.bin, README)": what a folder holds, for messages; the first few names of each kind.
[[nodiscard]] std::string describe(const FolderListing& listing);

}  // namespace unstarve
