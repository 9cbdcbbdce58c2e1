#include "unstarve/codecs/common/image_arena.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>

namespace unstarve {

TEST_CASE("an arena's blocks are aligned, disjoint and followed by 64 writable bytes", "[codecs]") {
  ImageArena arena;
  std::uint8_t* previous_end = nullptr;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{1000}}) {
    auto* memory = static_cast<std::uint8_t*>(arena.allocate(bytes));
    REQUIRE(memory != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
    CHECK(memory >= previous_end);
    std::memset(memory, 1, bytes + 64);
    previous_end = memory + bytes + 64;
  }
}

TEST_CASE("an arena grows to the largest image and then allocates nothing", "[codecs]") {
  ImageArena arena;
  const auto image = [&arena] {
    for (int i = 0; i < 50; ++i) REQUIRE(arena.allocate(100'000) != nullptr);
    arena.reset();
  };
  image();
  const std::size_t capacity = arena.capacity();
  CHECK(capacity >= 5'000'000);
  void* first = arena.allocate(1);
  arena.reset();
  image();
  CHECK(arena.capacity() == capacity);
  CHECK(arena.allocate(1) == first);
}

TEST_CASE("an arena returns null for an impossible request and stays usable", "[codecs]") {
  ImageArena arena;
  CHECK(arena.allocate(SIZE_MAX) == nullptr);
  CHECK(arena.allocate(std::size_t{1} << 40) == nullptr);
  CHECK(arena.allocate(10) != nullptr);
}

}  // namespace unstarve
