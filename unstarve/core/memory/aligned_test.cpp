#include "unstarve/core/memory/aligned.h"
#include "unstarve/core/memory/sanitizers.h"

#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace unstarve {
namespace {

bool is_aligned(const AlignedBytes& block) { return reinterpret_cast<std::uintptr_t>(block.data()) % 64 == 0; }

TEST_CASE("a block grows by at least half and never shrinks, on both sides of where it is mapped") {
  AlignedBytes block;
  CHECK(block.capacity() == 0);
  for (const std::size_t bytes : {1UL, 64UL, 65UL, AlignedBytes::kMapped - 64, AlignedBytes::kMapped - 1,
                                  AlignedBytes::kMapped, AlignedBytes::kMapped + 1, 3'000'000UL, 100UL}) {
    CAPTURE(bytes);
    const std::size_t before = block.capacity();
    block.reserve_discard(bytes);
    CHECK(block.capacity() >= bytes);
    CHECK(block.capacity() % 64 == 0);
    if (block.capacity() != before) CHECK(block.capacity() >= before + before / 2);
    CHECK(is_aligned(block));
    std::memset(block.data(), 1, block.capacity());
  }
}

TEST_CASE("a size that no memory has, such as a negative one, is an error") {
  AlignedBytes block;
  for (const std::ptrdiff_t bytes : {-1, -40})
    CHECK_THROWS_AS(block.reserve_discard(static_cast<std::size_t>(bytes)), std::bad_alloc);
}

TEST_CASE("a moved-from block is empty and can be reused") {
  for (const std::size_t bytes : {std::size_t{100}, 2 * AlignedBytes::kMapped}) {
    AlignedBytes block(bytes);
    block.data()[0] = 7;
    AlignedBytes other = std::move(block);
    CHECK(other.data()[0] == 7);
    CHECK(block.capacity() == 0);  // NOLINT(bugprone-use-after-move)
    block.reserve_discard(10);
    CHECK(block.data() != nullptr);
    other = {};
    CHECK(other.capacity() == 0);
  }
}

// Bytes inside and outside of [begin, begin + bytes) for which huge pages were requested ("hg", proc_pid_smaps(5)).
std::pair<std::size_t, std::size_t> huge_page_bytes(const void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory), end = begin + bytes;
  std::pair<std::size_t, std::size_t> huge;
  std::uintptr_t first = 0, last = 0;
  std::ifstream file("/proc/self/smaps");
  for (std::string line; std::getline(file, line);) {
    unsigned long from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) first = from, last = to;
    if (!line.starts_with("VmFlags:") || line.find(" hg") == std::string::npos || last <= begin || first >= end)
      continue;
    huge.first += std::min(last, end) - std::max(first, begin);
    huge.second += (first < begin ? begin - first : 0) + (last > end ? last - end : 0);
  }
  return huge;
}

// Whether smaps reports this flag; qemu-user's own smaps does not.
bool reports_huge_pages() {
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  const bool reported =
      ::madvise(memory, kBytes, MADV_HUGEPAGE) == 0 && huge_page_bytes(memory, kBytes).first == kBytes;
  ::munmap(memory, kBytes);
  return reported;
}

TEST_CASE("a mapped block requests huge pages only completely within itself") {
#if UNSTARVE_ASAN
  return;  // nothing is mapped there
#endif
  if (!reports_huge_pages()) {
    WARN("SKIPPED, this kernel does not report requests for huge pages");
    return;
  }
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  for (const std::size_t bytes : {AlignedBytes::kMapped, kHuge - 4096, kHuge, kHuge + 4096, 5 * kHuge + 8192}) {
    CAPTURE(bytes);
    const AlignedBytes block(bytes);
    const auto [inside, outside] = huge_page_bytes(block.data(), block.capacity());
    CHECK(inside % kHuge == 0);
    CHECK(inside + 2 * kHuge > bytes);
    CHECK(inside <= bytes);
    CHECK(outside == 0);
  }
}

// Bytes of anonymous memory of the process.
std::size_t resident() {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word)
    if (word == "RssAnon:") {
      std::size_t kilobytes = 0;
      file >> kilobytes;
      return kilobytes * 1024;
    }
  FAIL("/proc/self/status: no RssAnon");
  return 0;
}

TEST_CASE("freeing a large block returns its memory to the system") {
#if UNSTARVE_ASAN || defined(__SANITIZE_THREAD__)
  SUCCEED("sanitizers retain freed memory");
#else
  constexpr std::size_t kBytes = 8 * AlignedBytes::kMapped;
  const auto touched = [] {
    AlignedBytes block(kBytes);
    std::memset(block.data(), 1, kBytes);
    return block;
  };
  (void)touched();  // a heap would serve blocks of this size itself from now on
  std::vector<AlignedBytes> blocks, later;
  for (int i = 0; i < 20; ++i) {
    blocks.push_back(touched());
    later.emplace_back(100);
  }
  const std::size_t before = resident();
  blocks.clear();
  CHECK(resident() + 15 * kBytes <= before);
#endif
}

}  // namespace
}  // namespace unstarve
