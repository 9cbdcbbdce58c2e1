#include "unstarve/diagnose/cupti/buffer_pool.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <vector>

namespace unstarve {
namespace {

TEST_CASE("buffers for CUPTI are limited, and used again") {
  BufferPool pool;
  std::vector<std::uint8_t*> given;
  for (std::size_t i = 0; i < BufferPool::kMostBuffers; ++i) {
    given.push_back(pool.give());
    REQUIRE(given.back() != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(given.back()) % 8 == 0);  // CUPTI's alignment
    std::memset(given.back(), 1, BufferPool::kBufferBytes);
  }
  CHECK(std::set<std::uint8_t*>(given.begin(), given.end()).size() == given.size());
  CHECK(pool.give() == nullptr);
  pool.take_back(given.back());
  CHECK(pool.give() == given.back());
  CHECK(pool.give() == nullptr);
  for (std::uint8_t* const buffer : given) pool.take_back(buffer);  // most of them are freed
  given.clear();
  for (std::size_t i = 0; i < BufferPool::kMostBuffers; ++i) given.push_back(pool.give());
  CHECK(std::set<std::uint8_t*>(given.begin(), given.end()).size() == BufferPool::kMostBuffers);
  CHECK(given.back() != nullptr);
  CHECK(pool.give() == nullptr);
  for (std::uint8_t* const buffer : given) pool.take_back(buffer);
}

}  // namespace
}  // namespace unstarve
