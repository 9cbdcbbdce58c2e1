#include "unstarve/ops/store/store.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/ops/store/convert.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using testing::Arrangement;
using testing::between;
using testing::Pixels;

constexpr std::uint8_t kGuard = 0xA5;

TEST_CASE("a store gives the reference's bits on every instruction set, and nothing beyond the sample") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Random random(5, 0, 0, 0);
    for (int trial = 0; trial < 600; ++trial) {
      // Some are wider than the staging buffer; sides cross the widths of vectors.
      const bool wide = trial % 60 == 0;
      const Size size{wide ? between(random, 4000, 9000) : between(random, 1, 100), between(random, 1, wide ? 3 : 80)};
      const Pixels pixels(size, static_cast<Arrangement>(random.below(3)), random);
      const Frame frame = testing::random_window(pixels.view, random);
      const StoreFormat format{static_cast<ElementType>(random.below(4)), static_cast<Layout>(random.below(2)),
                               random.below(2) == 0 ? kImagenetNormalisation : kCifar10Normalisation};
      const Storer storer(format);
      const std::size_t bytes = storer.sample_bytes(frame.size());
      // Aligned only to the element in half of the trials.
      const std::size_t shift = random.below(2) == 0 ? 0 : random.below(16) * element_bytes(format.type);
      AlignedBytes actual(bytes + shift + 64), expected(bytes + 64);
      std::memset(actual.data(), kGuard, bytes + shift + 64);
      INFO("window " << frame.width << "x" << frame.height << " type " << static_cast<int>(format.type) << " layout "
                     << static_cast<int>(format.layout) << " shift " << shift);
      storer.store(frame, actual.data() + shift);
      storer.store_reference(frame, expected.data());
      REQUIRE(std::memcmp(actual.data() + shift, expected.data(), bytes) == 0);
      for (std::size_t i = 0; i < shift; ++i) REQUIRE(actual.data()[i] == kGuard);
      for (std::size_t i = 0; i < 64; ++i) REQUIRE(actual.data()[shift + bytes + i] == kGuard);
    }
  });
}

// Bytes between two inaccessible pages, adjacent to one of them.
class GuardedBytes {
 public:
  GuardedBytes(std::size_t size, bool at_end) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t inner = (size + page - 1) / page * page;
    length_ = inner + 2 * page;
    void* const memory = ::mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    base_ = static_cast<std::uint8_t*>(memory);
    REQUIRE(::mprotect(base_ + page, inner, PROT_READ | PROT_WRITE) == 0);
    data_ = base_ + page + (at_end ? inner - size : 0);
  }
  ~GuardedBytes() { ::munmap(base_, length_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  [[nodiscard]] std::uint8_t* data() const { return data_; }

 private:
  std::uint8_t* base_ = nullptr;
  std::uint8_t* data_ = nullptr;
  std::size_t length_ = 0;
};

TEST_CASE("small planar images are stored with the reference's bits, and no byte beyond them is read") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Random random(6, 0, 0, 0);
    for (int trial = 0; trial < 400; ++trial) {
      const int side = random.below(2) == 0 ? 32 : 64;
      const Size source{between(random, 1, 80), between(random, 1, 80)};
      const std::size_t plane = static_cast<std::size_t>(source.width) * static_cast<std::size_t>(source.height);
      const GuardedBytes bytes(kChannels * plane, random.below(2) == 0);
      for (std::size_t i = 0; i < kChannels * plane; ++i) bytes.data()[i] = static_cast<std::uint8_t>(random.bits());
      Frame frame({bytes.data(), source.width, source.height, source.width, 1, static_cast<std::ptrdiff_t>(plane)});
      frame.fill = {1, 2, 250};
      if (random.below(2) == 0) frame.mirror();
      frame.crop({between(random, -side - 2, source.width + 2), between(random, -side - 2, source.height + 2), side,
                  between(random, 1, 70)});
      const Storer storer({static_cast<ElementType>(1 + random.below(3)), Layout::kNchw, kCifar10Normalisation});
      const std::size_t size = storer.sample_bytes(frame.size());
      AlignedBytes actual(size + 64), expected(size);
      std::memset(actual.data(), kGuard, size + 64);
      INFO("source " << source.width << "x" << source.height << " window " << frame.width << "x" << frame.height
                     << " at " << frame.left << " " << frame.top << (frame.mirrored ? " mirrored" : ""));
      CacheFetch ahead({bytes.data(), plane});
      storer.store(frame, actual.data(), &ahead);
      storer.store_reference(frame, expected.data());
      REQUIRE(std::memcmp(actual.data(), expected.data(), size) == 0);
      for (std::size_t i = 0; i < 64; ++i) REQUIRE(actual.data()[size + i] == kGuard);
    }
  });
}

TEST_CASE("large interleaved images in uint8 are stored unchanged, without a byte beyond them") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Random random(7, 0, 0, 0);
    for (int trial = 0; trial < 60; ++trial) {
      const Size source{between(random, 140, 200), between(random, 140, 200)};
      const std::ptrdiff_t gap = random.below(3) == 0 ? between(random, 1, 9) : 0;
      const std::ptrdiff_t row = std::ptrdiff_t{source.width} * kChannels + gap;
      const std::size_t size_of_source = static_cast<std::size_t>(row * source.height - gap);
      const GuardedBytes bytes(size_of_source, random.below(2) == 0);
      for (std::size_t i = 0; i < size_of_source; ++i) bytes.data()[i] = static_cast<std::uint8_t>(random.bits());
      Frame frame({bytes.data(), source.width, source.height, row, kChannels, 1});
      frame.fill = {1, 2, 250};
      if (random.below(4) == 0) frame.mirror();
      const int top = between(random, -1, 2);  // mostly whole rows
      const int left = random.below(3) == 0 ? between(random, -2, 3) : 0;
      frame.crop({left, top, source.width - std::abs(left), source.height - between(random, 0, 3)});
      const Storer storer({ElementType::kUint8, Layout::kNhwc, {}});
      const std::size_t size = storer.sample_bytes(frame.size()), shift = random.below(65);
      AlignedBytes actual(shift + size + 64), expected(size);
      std::memset(actual.data(), kGuard, shift + size + 64);
      storer.store(frame, actual.data() + shift);
      storer.store_reference(frame, expected.data());
      REQUIRE(std::memcmp(actual.data() + shift, expected.data(), size) == 0);
      for (std::size_t i = 0; i < shift; ++i) REQUIRE(actual.data()[i] == kGuard);
      for (std::size_t i = 0; i < 64; ++i) REQUIRE(actual.data()[shift + size + i] == kGuard);
    }
  });
}

TEST_CASE("float32 is (pixel / 255 - mean) / std") {
  Image image({2, 1});
  const std::uint8_t bytes[] = {0, 128, 255, 7, 8, 9};
  std::memcpy(image.data(), bytes, sizeof(bytes));
  const Storer storer({ElementType::kFloat32, Layout::kNchw, kImagenetNormalisation});
  float out[6];
  storer.store(Frame(image.view()), out);
  for (int c = 0; c < 3; ++c) {
    for (int x = 0; x < 2; ++x) {
      const auto k = static_cast<std::size_t>(c);
      const double expected =
          (bytes[x * 3 + c] / 255.0 - kImagenetNormalisation.mean[k]) / kImagenetNormalisation.std[k];
      REQUIRE(out[c * 2 + x] == Approx(expected).margin(1e-6));
    }
  }
}

TEST_CASE("bfloat16 rounds to nearest even") {
  REQUIRE(bfloat16_bits(1.0f) == 0x3F80);
  REQUIRE(bfloat16_bits(-2.0f) == 0xC000);
  REQUIRE(bfloat16_bits(1.0f + 0x1p-8f) == 0x3F80);             // a tie: the even neighbour is below
  REQUIRE(bfloat16_bits(1.0f + 0x1p-7f + 0x1p-8f) == 0x3F82);   // a tie: the even neighbour is above
  REQUIRE(bfloat16_bits(1.0f + 0x1p-8f + 0x1p-20f) == 0x3F81);  // just over the tie
  REQUIRE(bfloat16_bits(0.0f) == 0);
}

TEST_CASE("every float16 survives a round trip") {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7C00) == 0x7C00) continue;  // infinite, or not a number
    REQUIRE(float16_bits(from_float16(static_cast<std::uint16_t>(bits))) == bits);
  }
  REQUIRE(from_float16(0x3C00) == 1.0f);
  REQUIRE(from_float16(0x8001) == -0x1p-24f);
  REQUIRE(from_float16(0x7C00) == std::numeric_limits<float>::infinity());
}

TEST_CASE("float16 values beyond the range are infinite, in vectors as in the reference") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Image image({64, 9});
    for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(i * 7);
    // 0 .. 255 become 0 .. 100,000, and values whose float16 are subnormal.
    for (const float deviation : {1e-5f, 3000.0f}) {
      const Storer storer({ElementType::kFloat16, Layout::kNchw, {{0, 0, 0}, {deviation, deviation, deviation}}});
      std::vector<std::uint16_t> actual(image.bytes()), expected(image.bytes());
      storer.store(Frame(image.view()), actual.data());
      storer.store_reference(Frame(image.view()), expected.data());
      REQUIRE(actual == expected);
      if (deviation < 1) REQUIRE(std::count(actual.begin(), actual.end(), 0x7C00) > 100);
    }
  });
}

TEST_CASE("a std of zero or a value that is not finite is rejected") {
  StoreFormat format;
  SECTION("zero") { format.normalisation.std[1] = 0; }
  SECTION("tiny") { format.normalisation.std[1] = std::numeric_limits<float>::denorm_min(); }
  SECTION("nan") { format.normalisation.mean[2] = std::numeric_limits<float>::quiet_NaN(); }
  REQUIRE_THROWS_AS(Storer(format), Error);
}

}  // namespace
}  // namespace unstarve
