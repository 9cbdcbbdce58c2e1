#pragma once
// Memory of the arrays that functions return, kept for later results when arrays are deleted.
//
// A new block of the size of an image costs a page fault per 4 KiB, more than many operations; a DataLoader's worker
// deletes the images of a batch together.
// Ownership: each thread keeps up to kKeptBytes of the blocks that were given back in it.
// Threads:   any; no lock, so that a forked process can continue to use it.

#include <cstddef>
#include <memory>

#include "unstarve/core/memory/aligned.h"

namespace unstarve::python {

inline constexpr std::size_t kKeptBytes = std::size_t{64} << 20;

// A block of at least `bytes`, with undefined contents.
[[nodiscard]] std::unique_ptr<AlignedBytes> take_result_memory(std::size_t bytes);
void give_result_memory(std::unique_ptr<AlignedBytes> memory) noexcept;

}  // namespace unstarve::python
