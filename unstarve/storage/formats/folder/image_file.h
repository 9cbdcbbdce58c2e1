#pragma once
// Reads whole image files, one or several concurrently. Threads: free functions.
//
// Failure: Error(kInput) for a file that is missing, empty, larger than kMaxImageBytes, not regular or may not be read;
// Error(kIo) of the file system or the server. The message contains data.location(id).

#include <cstdint>
#include <span>
#include <string>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/memory/aligned.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// Protects the caller's memory. Larger than any image that the decoders accept (kMaxPixels as raw RGB is 805 MB).
inline constexpr std::uint64_t kMaxImageBytes = std::uint64_t{1} << 30;

// The file of record `id` of `data`: `path` relative to the open folder `folder`, or absolute.
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

// Reads into `storage`, followed by the padding that the vector code of the decoders needs.
[[nodiscard]] std::span<const std::uint8_t> read_image_file(const ImagePath& path, AlignedBytes& storage);

// The same for a URL, without a listing: two requests. Error(kInput) also if the server rejects the URL for good
// (RemoteStore::open_record()) or, with `any_host`, if no connection can be made: each URL has a host of its own.
struct RemoteImage {
  std::string url;
  bool any_host = false;
};
[[nodiscard]] std::span<const std::uint8_t> read_remote_image(const RemoteImage& image, const Dataset& data,
                                                              std::uint64_t id, AlignedBytes& storage);

// Reads files[i] into records[i].storage, with many reads in flight. `data` and `ids` are used in messages.
// Precondition: the spans have equal sizes.
void read_image_files(std::span<const ImageFile> files, const Dataset& data, std::span<const std::uint64_t> ids,
                      std::span<RecordBuffer> records);

}  // namespace unstarve
