#pragma once
// One decoded row group of a Parquet file: an entry of the cache.
//
// Ownership: owns its images, except views of the mapped file, whose map outlives the row group.
// Threads:   const after construction.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/aligned.h"

namespace unstarve {

struct RowGroup {
  std::vector<std::span<const std::uint8_t>> images;  // per row; data() is null if the row has none
  std::vector<std::int64_t> labels;                   // per row; empty without a label column; -1: none
  std::vector<std::string> label_names;               // instead of `labels` until the names are numbered; "": none
  std::vector<AlignedBytes> blocks;
  std::uint64_t block_bytes = 0;    // total size of `blocks`
  std::uint64_t skipped_bytes = 0;  // bytes of other columns that were read and discarded

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return sizeof(RowGroup) + images.capacity() * sizeof(images[0]) + labels.capacity() * sizeof(labels[0]) +
           block_bytes;
  }
};

}  // namespace unstarve
