#pragma once
// One image file, read whole. Threads: free function.

#include <cstdint>
#include <span>

#include "unstarve/core/aligned.h"
#include "unstarve/storage/dataset.h"

namespace unstarve {

// Larger than any image that the decoders accept (kMaxPixels as raw RGB is 805 MB): guards the caller's memory.
inline constexpr std::uint64_t kMaxImageBytes = std::uint64_t{1} << 30;

// Reads the file `path` below the open folder `folder` (which an absolute path does not need) into `storage`, with room
// behind it for the vector code of the decoders. Failure: Error(kIo), and Error(kInput) for an empty file, one larger
// than kMaxImageBytes and what is no file; the message has data.location(id).
[[nodiscard]] std::span<const std::uint8_t> read_image_file(int folder, const char* path, const Dataset& data,
                                                            std::uint64_t id, AlignedBytes& storage);

}  // namespace unstarve
