#include "unstarve/core/memory/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace unstarve {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

}  // namespace

std::uint8_t* map_guarded(std::size_t bytes) {
  const std::size_t usable = whole_pages(bytes);
  void* const pages =
      ::mmap(nullptr, usable + page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  auto* const first = static_cast<std::uint8_t*>(pages);
  if (::mprotect(first + usable, page_bytes(), PROT_NONE) != 0) {
    ::munmap(pages, usable + page_bytes());
    throw std::bad_alloc();
  }
  return first + (usable - bytes);
}

void unmap_guarded(std::uint8_t* memory, std::size_t bytes) noexcept {
  const std::size_t usable = whole_pages(bytes);
  ::munmap(memory + bytes - usable, usable + page_bytes());
}

}  // namespace unstarve
