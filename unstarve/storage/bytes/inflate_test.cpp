#include "unstarve/storage/bytes/inflate.h"

#include <catch2/catch.hpp>
#include <thread>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/testing/compressed_text.h"
#include "unstarve/storage/testing/damaged_points.h"
#include "unstarve/storage/testing/tfrecord_bytes.h"

namespace unstarve {
namespace {

using namespace unstarve::testing;

TEST_CASE("compressed streams are recognised by their first bytes") {
  CHECK(detect_compression(bytes_of(deflated("x", 31))) == Compression::kGzip);
  for (int level = 0; level <= 9; ++level) {
    CHECK(detect_compression(bytes_of(deflated("x", 15, level))) == Compression::kZlib);
  }
  CHECK(detect_compression(bytes_of("plain text")) == Compression::kNone);
  CHECK(detect_compression({}) == Compression::kNone);
  const auto head_of = [](const std::string& stored) {
    return inflate_head(MemoryBytes(stored), bytes_of(stored).first(std::min<std::size_t>(stored.size(), 4096)), 4);
  };
  const auto head = head_of(deflated("some words", 31));
  REQUIRE(head.has_value());
  CHECK(std::string(head->begin(), head->end()) == "some");
  CHECK(head_of(deflated("", 15))->empty());
  CHECK_FALSE(head_of("x\x9c this is not").has_value());
  CHECK_FALSE(head_of("\x1f\x8b\x08 nor this, for its flags are reserved").has_value());
}

TEST_CASE("seek points give random access to a compressed stream") {
  const std::string text = mixed(5'500'000);
  const int window_bits = GENERATE(15, 31);
  const auto access = GENERATE(Access::kMapped, Access::kRanges);
  const IndexedStream stream = index_stream(deflated(text, window_bits, 1), access);
  REQUIRE(stream.output->size() == text.size());
  CHECK(load_little<std::uint64_t>(bytes_of(stream.points).data() + 8) >= 3);  // points
  Random random(12, 0, 0, 0);
  for (int i = 0; i < 60; ++i) {
    const std::size_t offset = random.below(static_cast<std::uint32_t>(text.size()));
    const std::size_t length =
        std::min<std::size_t>(random.below(i % 10 == 0 ? 2'000'000 : 3000), text.size() - offset);
    CHECK((read_text(*stream.output, offset, length) == text.substr(offset, length)));
  }
  std::string in_turn;  // each read continues where the last one ended
  for (std::size_t offset = 0; offset < text.size(); offset += 10'000) {
    in_turn += read_text(*stream.output, offset, std::min<std::size_t>(10'000, text.size() - offset));
  }
  CHECK((in_turn == text));
  CHECK(read_text(*stream.output, text.size(), 0).empty());
  CHECK_THROWS_AS(read_text(*stream.output, text.size() - 1, 2), Error);
}

TEST_CASE("threads read one compressed stream concurrently") {
  const std::string text = mixed(3'000'000);
  const IndexedStream stream = index_stream(deflated(text, 31, 1), Access::kMapped);
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (std::uint64_t thread = 0; thread < 12; ++thread) {  // more than there are cursors
    threads.emplace_back([&, thread] {
      Random random(13, 0, thread, 0);
      for (int i = 0; i < 10; ++i) {
        const std::size_t offset = random.below(2'990'000);
        if (read_text(*stream.output, offset, 5000) != text.substr(offset, 5000)) ++wrong;
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
}

TEST_CASE("a gzip file may have several members and trailing zeros") {
  const std::string text = mixed(2'600'000);
  std::string stored;
  for (std::size_t at = 0; at < text.size(); at += 650'000) stored += deflated(text.substr(at, 650'000), 31, 1);
  for (const std::string& trailer : {std::string(), std::string(100'000, '\0')}) {
    const IndexedStream stream = index_stream(stored + trailer, Access::kRanges);
    REQUIRE(stream.output->size() == text.size());
    for (const std::size_t at : {2'500'000u, 649'990u, 0u, 1'299'000u, 1'949'999u}) {
      CHECK((read_text(*stream.output, at, 2000) == text.substr(at, 2000)));
    }
  }
  CHECK_THROWS_AS(index_stream(stored + "garbage", Access::kMapped), Error);
}

TEST_CASE("bytes before damage in a stream are readable") {
  const std::string text = mixed(200'000);
  const std::string stored = deflated(text, 31);
  for (std::string bad : {stored.substr(0, stored.size() / 2), stored.substr(0, stored.size() - 3),
                          stored.substr(0, stored.size() - 8) + "12345678"}) {
    const MemoryBytes source(bad);
    const auto forward = inflate_forward(source, Compression::kGzip);
    std::uint64_t good = 0;
    try {
      for (; !forward->at(good, 100).empty(); good += 100) {
        CHECK(std::string(reinterpret_cast<const char*>(forward->at(good, 100).data()), 100) == text.substr(good, 100));
      }
      FAIL("expected an Error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
      CHECK_THAT(error.what(), Catch::Contains("inflate memory: the compressed stream is damaged near offset"));
    }
    CHECK(good > 50'000);
  }
}

TEST_CASE("damaged seek points are reported") {
  const std::string text = mixed(2'500'000);
  const IndexedStream stream = index_stream(deflated(text, 15, 1), Access::kMapped);
  check_damaged_points(stream, text, 16 + 2 * 40 + 5);
  CHECK_THROWS_AS(open_inflated(stream.source, stream.compression, bytes_of("short")), Error);
}

}  // namespace
}  // namespace unstarve
