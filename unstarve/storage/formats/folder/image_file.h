#pragma once
// Image files, read whole: one, or several at once. Threads: free functions.
//
// Failure: Error(kIo), and Error(kInput) for an empty file, one larger than kMaxImageBytes and what is no file; the
// message has data.location(id).

#include <cstdint>
#include <span>

#include "unstarve/core/aligned.h"
#include "unstarve/storage/bytes/file_descriptor.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// Larger than any image that the decoders accept (kMaxPixels as raw RGB is 805 MB): guards the caller's memory.
inline constexpr std::uint64_t kMaxImageBytes = std::uint64_t{1} << 30;

// Where record `id` of `data` lies: `path` below the open folder `folder`, which an absolute path does not need.
struct ImagePath {
  int folder;
  const char* path;
  const Dataset* data;
  std::uint64_t id;
};

// An open file of 1 .. kMaxImageBytes bytes.
struct ImageFile {
  FileDescriptor file;
  std::size_t bytes = 0;
};
[[nodiscard]] ImageFile open_image_file(const ImagePath& path);

// Into `storage`, with room behind it for the vector code of the decoders.
[[nodiscard]] std::span<const std::uint8_t> read_image_file(const ImagePath& path, AlignedBytes& storage);

// Into records[i].storage, many reads in flight; the files, ids and records are equally many. For messages: `data`.
void read_image_files(std::span<const ImageFile> files, const Dataset& data, std::span<const std::uint64_t> ids,
                      std::span<RecordBuffer> records);

}  // namespace unstarve
