#include "unstarve/core/aligned.h"

#include <catch2/catch.hpp>
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

TEST_CASE("a block that was moved from holds nothing and can be used again") {
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

TEST_CASE("a large block that is freed is the system's again, whatever lies behind it") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SUCCEED("their allocators keep what is freed");
#else
  constexpr std::size_t kBytes = 8 * AlignedBytes::kMapped;
  const auto touched = [] {
    AlignedBytes block(kBytes);
    std::memset(block.data(), 1, kBytes);
    return block;
  };
  (void)touched();  // a heap would serve blocks of this size itself from now on
  std::vector<AlignedBytes> blocks, behind;
  for (int i = 0; i < 20; ++i) {
    blocks.push_back(touched());
    behind.emplace_back(100);
  }
  const std::size_t before = resident();
  blocks.clear();
  CHECK(resident() + 15 * kBytes <= before);
#endif
}

}  // namespace
}  // namespace unstarve
