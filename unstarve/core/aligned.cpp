#include "unstarve/core/aligned.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "unstarve/core/guarded_memory.h"

namespace unstarve {
namespace {

constexpr std::align_val_t kAlignment{64};

// Every block as large as was asked for, to the next 64 bytes, in front of a page that must not be touched.
#ifdef UNSTARVE_GUARD_PAGES
constexpr bool kGuarded = true;
#else
constexpr bool kGuarded = false;
#endif

// AddressSanitizer guards the ends of the heap's blocks alone. GCC says by a macro that it is there, Clang otherwise.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kMaps = false;
#elif defined(__has_feature)
constexpr bool kMaps = !__has_feature(address_sanitizer);
#else
constexpr bool kMaps = true;
#endif

bool is_mapped(std::size_t bytes) { return kMaps && !kGuarded && bytes >= AlignedBytes::kMapped; }

std::uint8_t* map(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
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
  const std::size_t old = capacity(), wanted = kGuarded ? bytes : std::max(bytes, old + old / 2);
  const std::size_t grown = capacity_for(wanted);
  memory_.reset();
  std::uint8_t* const memory = kGuarded           ? map_guarded(grown)
                               : is_mapped(grown) ? map(grown)
                                                  : static_cast<std::uint8_t*>(::operator new(grown, kAlignment));
  memory_ = std::unique_ptr<std::uint8_t, Free>(memory, Free(grown));
}

}  // namespace unstarve
