#include "unstarve/core/buffer.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <thread>
#include <vector>

#include "unstarve/core/error.h"

using unstarve::Buffer;
using unstarve::Error;

TEST_CASE("an empty buffer has no bytes and an empty slice") {
  const Buffer empty;
  CHECK(empty.empty());
  CHECK(empty.slice(0, 0).empty());
  CHECK(Buffer::allocate(0).empty());
  CHECK(Buffer::copy_of({}).text().empty());
}

TEST_CASE("fresh memory is aligned, and writable until it is shared") {
  Buffer buffer = Buffer::allocate(100);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
  std::memset(buffer.writable().data(), 'x', 100);
  CHECK(buffer.text() == std::string(100, 'x'));
  {
    const Buffer copy = buffer;  // NOLINT(performance-unnecessary-copy-initialization): it is what shares
    CHECK_THROWS_WITH(buffer.writable(), "write to a buffer of 100 bytes that is shared");
    CHECK(copy.data() == buffer.data());
  }
  CHECK_NOTHROW(buffer.writable());
}

TEST_CASE("a slice keeps the memory alive after the buffer is gone") {
  Buffer slice;
  {
    const Buffer whole = Buffer::take("the whole text, long enough not to live inside the string itself");
    slice = whole.slice(4, 5);
    CHECK(slice.data() == whole.data() + 4);
  }
  CHECK(slice.text() == "whole");
  CHECK(slice.slice(1, 3).text() == "hol");
}

TEST_CASE("foreign memory is released when its last slice goes, and never written") {
  auto owner = std::make_shared<std::vector<std::uint8_t>>(std::vector<std::uint8_t>{1, 2, 3, 4});
  const std::weak_ptr<std::vector<std::uint8_t>> watch = owner;
  Buffer buffer = Buffer::wrap(owner, *owner);
  owner.reset();
  CHECK_THROWS_WITH(buffer.writable(), "write to a buffer of 4 bytes that is not its own memory");
  Buffer slice = buffer.slice(3, 1);
  buffer = {};
  CHECK_FALSE(watch.expired());
  CHECK(slice.bytes()[0] == 4);
  slice = {};
  CHECK(watch.expired());
}

TEST_CASE("a slice out of range is refused, also where offset and length overflow") {
  const Buffer buffer = Buffer::take("abcd");
  CHECK(buffer.slice(4, 0).empty());
  CHECK_THROWS_AS(buffer.slice(5, 0), Error);
  CHECK_THROWS_WITH(buffer.slice(2, 3), "slice of a buffer: 3 bytes from 2 on, of 4 bytes");
  CHECK_THROWS_AS(buffer.slice(1, SIZE_MAX), Error);
  CHECK_THROWS_AS(buffer.slice(SIZE_MAX, 2), Error);
}

TEST_CASE("threads may copy, slice and drop one buffer at once") {
  const Buffer buffer = Buffer::take(std::string(1000, 'a'));
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([buffer] {
        for (std::size_t i = 0; i < 1000; ++i) {
          const Buffer mine = buffer.slice(i, 1);
          if (mine.text() != "a") std::terminate();
        }
      });
    }
  }
  CHECK(buffer.size() == 1000);
}
