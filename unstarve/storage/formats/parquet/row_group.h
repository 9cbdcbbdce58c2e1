#pragma once
// One row group of a Parquet file, decoded: what the cache holds.
//
// Ownership: owns the memory its images lie in, but for those that lie in the mapped file (whose map outlives it).
// Threads:   const once it is made.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/aligned.h"

namespace unstarve {

struct RowGroup {
  std::vector<std::span<const std::uint8_t>> images;  // per row; data() is null where the row has none
  std::vector<std::int64_t> labels;                   // per row; empty without a label column; -1: none
  std::vector<std::string> label_names;               // instead of `labels` until the names are numbered; "": none
  std::vector<AlignedBytes> blocks;
  std::uint64_t block_bytes = 0;    // of `blocks`
  std::uint64_t dropped_bytes = 0;  // stored ones of other columns that were brought along

  // What keeping it costs.
  [[nodiscard]] std::uint64_t memory_bytes() const {
    return sizeof(RowGroup) + images.capacity() * sizeof(images[0]) + labels.capacity() * sizeof(labels[0]) +
           block_bytes;
  }
};

}  // namespace unstarve
