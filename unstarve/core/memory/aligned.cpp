#include "unstarve/core/memory/aligned.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "unstarve/core/memory/guarded_memory.h"
#include "unstarve/core/memory/sanitizers.h"

namespace unstarve {
namespace {

constexpr std::align_val_t kAlignment{64};

// In guarded builds, each block has the requested size, rounded up to 64 bytes, and ends at an inaccessible page.
#ifdef UNSTARVE_GUARD_PAGES
constexpr bool kGuarded = true;
#else
constexpr bool kGuarded = false;
#endif

// AddressSanitizer detects overruns of heap blocks only, not of mapped ones.
constexpr bool kMaps = UNSTARVE_ASAN == 0;

bool is_mapped(std::size_t bytes) { return kMaps && !kGuarded && bytes >= AlignedBytes::kMapped; }

// Requests huge pages for those that are completely within the block, so that the block maps no extra memory.
void request_huge_pages(void* memory, std::size_t bytes) {
  constexpr std::uintptr_t kHuge = std::uintptr_t{2} << 20;  // of x86-64, and of 64-bit ARM with pages of 4 KiB
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + kHuge - 1) / kHuge * kHuge, last = (begin + bytes) / kHuge * kHuge;
  if (first >= last) return;
  // An error means that the kernel does not support or allow huge pages, which `unstarve doctor` reports.
  (void)::madvise(static_cast<std::uint8_t*>(memory) + (first - begin), last - first, MADV_HUGEPAGE);
}

std::uint8_t* map(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  request_huge_pages(memory, bytes);
  return static_cast<std::uint8_t*>(memory);
}

}  // namespace

void AlignedBytes::Free::operator()(std::uint8_t* memory) const {
  if (kGuarded) {
    unmap_guarded(memory, bytes);
  } else if (is_mapped(bytes)) {
    ::munmap(memory, bytes);
  } else {
    ::operator delete(memory, kAlignment);
  }
}

std::size_t AlignedBytes::capacity_for(std::size_t bytes) {
  constexpr std::size_t kPage = 4096, kLine = 64;
  const std::size_t unit = bytes >= kMapped && !kGuarded ? kPage : kLine;
  return (bytes + unit - 1) / unit * unit;
}

void AlignedBytes::grow(std::size_t bytes) {
  const std::size_t old = capacity(), needed = kGuarded ? bytes : std::max(bytes, old + old / 2);
  const std::size_t grown = capacity_for(needed);
  if (grown < needed) throw std::bad_alloc();  // a size near the largest number is a negative one
  memory_.reset();
  std::uint8_t* const memory = kGuarded           ? map_guarded(grown)
                               : is_mapped(grown) ? map(grown)
                                                  : static_cast<std::uint8_t*>(::operator new(grown, kAlignment));
  memory_ = std::unique_ptr<std::uint8_t, Free>(memory, Free(grown));
}

}  // namespace unstarve
