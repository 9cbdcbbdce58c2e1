#include "unstarve/storage/bytes/decoder_cache.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

// At `position`, with a history of `remembered` bytes.
class StoppedDecoder final : public StreamDecoder {
 public:
  explicit StoppedDecoder(std::uint64_t position, std::uint64_t remembered = 0)
      : StreamDecoder(position), remembered_(remembered) {}
  std::size_t produce(std::span<std::uint8_t>, bool) override { return 0; }
  bool at_seek_point() const noexcept override { return false; }
  SeekPoint seek_point() override { return {}; }
  std::uint64_t oldest() const noexcept override { return out_ - remembered_; }
  std::size_t memory_bytes() const noexcept override { return 100; }

 private:
  std::uint64_t remembered_;
};

std::int64_t taken(DecoderCache& cache, const void* stream, std::uint64_t from, std::uint64_t offset) {
  const auto decoder = cache.take(stream, from, offset);
  return decoder ? static_cast<std::int64_t>(decoder->position()) : -1;
}

TEST_CASE("take() returns the decoder with the least work, once") {
  DecoderCache cache(10'000);
  const int a = 0, b = 0;
  for (const std::uint64_t position : {500u, 100u, 300u}) cache.give(&a, std::make_unique<StoppedDecoder>(position));
  cache.give(&b, std::make_unique<StoppedDecoder>(350));
  CHECK(cache.memory_bytes() == 400);
  CHECK(taken(cache, &a, 0, 400) == 300);
  CHECK(taken(cache, &a, 0, 400) == 100);
  CHECK(taken(cache, &a, 0, 400) == -1);
  CHECK(taken(cache, &a, 501, 600) == -1);  // a seek point is nearer
  CHECK(taken(cache, &a, 500, 500) == 500);
  CHECK(taken(cache, &b, 0, 1000) == 350);
  CHECK(cache.memory_bytes() == 0);
}

TEST_CASE("a decoder with the output in its history is preferred to one that must decode it") {
  DecoderCache cache(10'000);
  const int stream = 0;
  cache.give(&stream, std::make_unique<StoppedDecoder>(100));
  cache.give(&stream, std::make_unique<StoppedDecoder>(700, 200));
  cache.give(&stream, std::make_unique<StoppedDecoder>(600));
  CHECK(taken(cache, &stream, 0, 499) == 100);
  CHECK(taken(cache, &stream, 0, 500) == 700);
  CHECK(taken(cache, &stream, 0, 500) == -1);
}

TEST_CASE("the least recently used decoder is evicted, and dropping a stream drops all its decoders") {
  DecoderCache cache(300);
  const int a = 0, b = 0;
  for (const std::uint64_t position : {1u, 2u}) cache.give(&a, std::make_unique<StoppedDecoder>(position));
  for (const std::uint64_t position : {1u, 2u}) cache.give(&b, std::make_unique<StoppedDecoder>(position));
  CHECK(cache.memory_bytes() == 300);
  CHECK(taken(cache, &a, 0, 1) == -1);
  CHECK(taken(cache, &a, 0, 2) == 2);
  cache.drop(&b);
  CHECK(cache.memory_bytes() == 0);
  cache.drop(&b);
}

}  // namespace
}  // namespace unstarve
