#include "python/bindings/result_memory.h"

#include <algorithm>
#include <deque>
#include <new>
#include <utility>

namespace unstarve::python {
namespace {

// A block that is larger than the result by more than this factor is not used for it.
constexpr std::size_t kMostExcess = 4;
// Blocks that are examined for a result. Results of one size, the common case, use the first.
constexpr std::ptrdiff_t kExamined = 8;

struct Kept {
  std::deque<std::unique_ptr<AlignedBytes>> blocks;  // the latest first
  std::size_t bytes = 0;
};

Kept& kept() {
  thread_local Kept own;
  return own;
}

}  // namespace

std::unique_ptr<AlignedBytes> take_result_memory(std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 1);
  auto& [blocks, total] = kept();
  const auto end = blocks.begin() + std::min<std::ptrdiff_t>(kExamined, std::ssize(blocks));
  const auto found = std::find_if(blocks.begin(), end, [&](const auto& block) {
    return block->capacity() >= bytes && block->capacity() / kMostExcess <= bytes;
  });
  if (found == end) return std::make_unique<AlignedBytes>(bytes);
  std::unique_ptr<AlignedBytes> block = std::move(*found);
  blocks.erase(found);
  total -= block->capacity();
  return block;
}

void give_result_memory(std::unique_ptr<AlignedBytes> memory) noexcept {
  if (memory->capacity() > kKeptBytes) return;
  auto& [blocks, total] = kept();
  for (; total + memory->capacity() > kKeptBytes; blocks.pop_back()) total -= blocks.back()->capacity();
  const std::size_t capacity = memory->capacity();
  try {
    blocks.push_front(std::move(memory));
    total += capacity;
  } catch (const std::bad_alloc&) {  // the block is freed
  }
}

}  // namespace unstarve::python
