#include "unstarve/storage/bytes/zstd_decoder.h"

#include <catch2/catch.hpp>
#include <thread>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/testing/compressed_text.h"
#include "unstarve/storage/testing/damaged_points.h"
#include "unstarve/storage/testing/zstd_text.h"

namespace unstarve {
namespace {

using namespace unstarve::testing;

std::string frames_of(const std::string& text, std::size_t each, const ZstdSettings& settings = {}) {
  std::string stored;
  for (std::size_t at = 0; at < text.size(); at += each) stored += zstandard(text.substr(at, each), settings);
  return stored;
}

std::uint64_t points_in(const std::string& points) { return load_little<std::uint64_t>(bytes_of(points).data() + 8); }

// The output before the end or the damage, and the message of the damage.
std::pair<std::string, std::string> drained(const std::string& stored, Access access) {
  const MemoryBytes source(stored, access);
  const auto forward = inflate_forward(source, Compression::kZstd);
  std::string text;
  try {
    for (;;) {
      const auto piece = forward->at(text.size(), 1);
      if (piece.empty()) return {text, ""};
      text += text_of(piece);
    }
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::kInput);
    return {text, error.what()};
  }
}

TEST_CASE("Zstandard is recognised by its first bytes, also after skippable frames") {
  const std::string frame = zstandard("some words");
  CHECK(begins_as_zstd(bytes_of(frame)));
  CHECK(begins_as_zstd(bytes_of(skippable_frame("1234") + skippable_frame("") + frame)));
  CHECK_FALSE(begins_as_zstd(bytes_of(skippable_frame("1234"))));
  CHECK_FALSE(begins_as_zstd(bytes_of(skippable_frame("1234").substr(0, 11))));
  CHECK_FALSE(begins_as_zstd(bytes_of(frame.substr(0, 3))));
  CHECK_FALSE(begins_as_zstd({}));
  CHECK(detect_compression(bytes_of(frame)) == Compression::kZstd);
  // The first block is longer than the head.
  const std::string text = mixed(500'000);
  const std::string stored = zstandard(text);
  const auto head = inflate_head(MemoryBytes(stored), bytes_of(stored).first(4096), 5000);
  REQUIRE(head.has_value());
  CHECK((text_of(*head) == text.substr(0, 5000)));
  CHECK_THAT(
      error_message([&] { return inflate_head(MemoryBytes(stored.substr(0, 100)), bytes_of(stored).first(100), 9); }),
      Catch::Contains("decompress memory: the Zstandard stream is damaged near offset 100: it ends within a"));
}

TEST_CASE("random reads decode one frame from its start, several from their own starts") {
  const std::string text = mixed(5'500'000);
  const auto access = GENERATE(Access::kMapped, Access::kRanges);
  const std::size_t each = GENERATE(std::size_t{5'500'000}, std::size_t{700'000});
  const IndexedStream stream = index_stream(frames_of(text, each), access);
  REQUIRE(stream.output->size() == text.size());
  CHECK(points_in(stream.points) == (each < text.size() ? 3 : 0));  // every second frame: a MiB apart
  Random random(22, 0, 0, 0);
  for (int i = 0; i < 60; ++i) {
    const std::size_t offset = random.below(static_cast<std::uint32_t>(text.size()));
    const std::size_t length =
        std::min<std::size_t>(random.below(i % 10 == 0 ? 5'000'000 : 3000), text.size() - offset);
    CHECK((read_text(*stream.output, offset, length) == text.substr(offset, length)));
  }
  std::string in_turn;
  for (std::size_t offset = 0; offset < text.size(); offset += 10'000) {
    in_turn += read_text(*stream.output, offset, std::min<std::size_t>(10'000, text.size() - offset));
  }
  CHECK((in_turn == text));
  CHECK(read_text(*stream.output, text.size(), 0).empty());
  CHECK_THROWS_AS(read_text(*stream.output, text.size() - 1, 2), Error);
  std::vector<std::string> parts(3, std::string(4, '\0'));
  const auto range = [&](std::size_t part, std::uint64_t offset) {
    return ReadRange{offset, {reinterpret_cast<std::uint8_t*>(parts[part].data()), 4}};
  };
  const std::vector<ReadRange> ranges = {range(0, 4'000'000), range(1, 7), range(2, 2'000'000)};
  stream.output->read_many(ranges);
  CHECK((parts == std::vector<std::string>{text.substr(4'000'000, 4), text.substr(7, 4), text.substr(2'000'000, 4)}));
}

// Counts how often the front of the stream is read: a new decoder reads it again.
class CountedBytes final : public ByteSource {
 public:
  explicit CountedBytes(const std::string& bytes) : inside_(bytes, Access::kRanges) {}
  const std::string& name() const noexcept override { return inside_.name(); }
  std::uint64_t size() const noexcept override { return inside_.size(); }
  SourceStamp stamp() const noexcept override { return inside_.stamp(); }
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
    if (offset == 0) ++begun;
    inside_.read(offset, out);
  }
  mutable std::atomic<int> begun{0};

 private:
  MemoryBytes inside_;
};

std::shared_ptr<const ByteSource> output_without_points(std::shared_ptr<const ByteSource> source, std::size_t size,
                                                        std::string& points) {
  append_little(points, std::uint64_t{size});
  append_little(points, std::uint64_t{0});
  return open_inflated(std::move(source), Compression::kZstd, bytes_of(points));
}

TEST_CASE("reading one frame nearly in order decodes it once") {
  const std::string text = mixed(12'000'000);
  const auto source = std::make_shared<CountedBytes>(zstandard(text));
  std::string points;
  const auto output = output_without_points(source, text.size(), points);
  constexpr std::size_t kEach = 50'000;
  for (std::size_t i = 0; i < text.size() / kEach; ++i) {
    const std::size_t offset = kEach * (i / 60 * 60 + (i % 60) * 7 % 60);  // out of order by up to 3 MB
    CHECK((read_text(*output, offset, kEach) == text.substr(offset, kEach)));
  }
  CHECK((read_text(*output, 9'000'000, 100) == text.substr(9'000'000, 100)));
  CHECK(source->begun == 1);
  CHECK((read_text(*output, 5'000'000, 100) == text.substr(5'000'000, 100)));  // no longer in the history
  CHECK(source->begun == 2);
}

TEST_CASE("threads read one frame concurrently") {
  const std::string text = mixed(3'000'000);
  std::string points;
  const auto output = output_without_points(std::make_shared<MemoryBytes>(zstandard(text)), text.size(), points);
  std::atomic<std::size_t> next{0};
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < 300; i = next++) {
        const std::size_t offset = (i < 200 ? i : i * 7 % 300) * 10'000;
        if (read_text(*output, offset, 10'000) != text.substr(offset, 10'000)) ++wrong;
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
}

TEST_CASE("frames of different kinds are decoded in sequence") {
  const std::string text = mixed(40'000);
  const std::string stored = skippable_frame("12 bytes here") + zstandard(text.substr(0, 10'000)) + zstandard("") +
                             skippable_frame("") + zstandard(text.substr(10'000), {19, 0, true}) +
                             skippable_frame(std::string(100'000, 's'));
  for (const Access access : {Access::kMapped, Access::kRanges}) {
    CHECK((drained(stored, access) == std::pair{text, std::string()}));
  }
  CHECK((drained(zstandard(""), Access::kMapped) == std::pair{std::string(), std::string()}));
}

TEST_CASE("a truncated stream gives the output before the cut, and an error unless cut between frames") {
  const std::string text = mixed(600);
  const std::vector<std::string> parts = {zstandard(text.substr(0, 300)), skippable_frame("abc"),
                                          zstandard(text.substr(300), {3, 0, true})};
  const std::string whole = parts[0] + parts[1] + parts[2];
  for (std::size_t length = 1; length < whole.size(); ++length) {
    INFO(length);
    for (const Access access : {Access::kMapped, Access::kRanges}) {
      const auto [got, why] = drained(whole.substr(0, length), access);
      CHECK(text.starts_with(got));
      const bool between = length == parts[0].size() || length == parts[0].size() + parts[1].size();
      if (length >= parts[0].size()) CHECK(got.size() >= 300);
      if (between)
        CHECK(why.empty());
      else
        CHECK_THAT(why, Catch::Contains("decompress memory: the Zstandard stream is damaged near offset ") &&
                            Catch::Contains(": it ends within"));
    }
  }
}

TEST_CASE("a changed byte is an error, and with a checksum never gives other output") {
  const std::string text = mixed(3000);
  const std::string stored = frames_of(text, 1500, {3, 0, true});
  int errors = 0;
  for (std::size_t at = 0; at < stored.size(); ++at) {
    std::string bad = stored;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    const auto [got, why] = drained(bad, at % 2 == 0 ? Access::kMapped : Access::kRanges);
    if (!why.empty()) {
      ++errors;
      continue;
    }
    INFO(at);
    CHECK((got == text));  // meaningless bits
  }
  CHECK(errors > static_cast<int>(stored.size() * 9 / 10));
}

TEST_CASE("output before damage within a frame is readable") {
  const std::string text = mixed(1'000'000);
  std::string stored = zstandard(text);
  stored.resize(stored.size() / 2);
  const auto [got, why] = drained(stored, Access::kMapped);
  CHECK(got.size() > 300'000);
  CHECK(got.size() % (128 << 10) == 0);  // every whole block
  CHECK((text.starts_with(got)));
  const IndexedStream stream = [&] {
    IndexedStream made{std::make_shared<MemoryBytes>(stored), Compression::kZstd, "", nullptr};
    const auto forward = inflate_forward(*made.source, Compression::kZstd);
    CHECK_THROWS_AS(forward->at(0, text.size()), Error);
    made.points = forward->take_points();
    made.output = open_inflated(made.source, Compression::kZstd, bytes_of(made.points));
    return made;
  }();
  REQUIRE(stream.output->size() == got.size());
  CHECK((read_text(*stream.output, got.size() - 100, 100) == text.substr(got.size() - 100, 100)));
  CHECK((read_text(*stream.output, 0, got.size()) == got));
}

TEST_CASE("undecodable frames are rejected with the reason") {
  const std::string text = mixed(1000);
  const auto why = [](const std::string& stored) { return drained(stored, Access::kRanges).second; };
  const std::string front = zstandard(text);
  CHECK_THAT(why(front + zstandard(text, {3, 28, false})),
             Catch::Contains("decompress memory: the frame at offset " + std::to_string(front.size()) +
                             " needs a window of more than 2^27 bytes; compress it again without --long"));
  CHECK(why(zstandard(text, {3, kMaxZstdWindowLog, false})).empty());
  CHECK_THAT(why(std::string("\x28\xb5\x2f\xfd\x01\x00\x07\x01\x00\x00", 10)),
             Catch::Contains("the frame at offset 0 needs a dictionary"));
  CHECK_THAT(why(front + "garbage"), Catch::Contains("damaged near offset " + std::to_string(front.size()) +
                                                     ": expected the beginning of a frame"));
  CHECK_THAT(why(front + std::string("\x27\xb5\x2f\xfd\x00\x00\x00\x00", 8)),
             Catch::Contains("expected the beginning of a frame"));
  CHECK_THAT(why(front + "\x28\xb5"), Catch::Contains("it ends within the first bytes of a frame"));
}

TEST_CASE("damaged points are reported") {
  const std::string text = mixed(2'500'000);
  const IndexedStream stream = index_stream(frames_of(text, 1'100'000), Access::kMapped);
  REQUIRE(points_in(stream.points) == 2);
  check_damaged_points(stream, text, stream.points.size());
}

}  // namespace
}  // namespace unstarve
