#pragma once
// A batch on its way through a device: what the host sends. Borrows all of its memory.

#include <cstdint>
#include <span>

#include "unstarve/pipeline/plan/sample_extent.h"

namespace unstarve {

struct DeviceBatch {
  std::span<const std::uint64_t> ids;
  // Device memory: uint8, ids.size() x height x width x 3, followed by room for decoded_bytes(files).
  std::uint8_t* source;
  // One entry per sample if a decoder decodes some of them on the device, otherwise empty.
  std::span<const FileExtent> files{};
  const std::uint8_t* host = nullptr;  // with files: the batch in host memory, read until the call returns
};

}  // namespace unstarve
