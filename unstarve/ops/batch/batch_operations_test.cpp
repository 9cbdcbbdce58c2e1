#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/ops/batch/mixing.h"
#include "unstarve/ops/store/element_bits.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;

// A batch with targets whose sample i has the value i * 10 + channel everywhere.
struct TestBatch {
  TestBatch(std::size_t samples, ElementType type, Layout layout) {
    const std::size_t elements = std::size_t{kChannels} * 12 * 20;
    memory.resize(samples * elements * element_bytes(type));
    targets.resize(samples * kClasses);
    pixels = {memory.data(), samples, {20, 12}, type, layout, targets, kClasses};
    std::vector<std::int64_t> labels;
    for (std::size_t i = 0; i < samples; ++i) {
      labels.push_back(static_cast<std::int64_t>(i % kClasses));
      for (std::size_t e = 0; e < elements; ++e) {
        const std::size_t channel = layout == Layout::kNchw ? e / 240 : e % kChannels;
        set(i * elements + e, static_cast<float>(i * 10 + channel));
      }
    }
    write_one_hot(labels, kClasses, targets);
  }
  void set(std::size_t at, float value) {
    if (pixels.type == ElementType::kUint8) memory[at] = static_cast<std::uint8_t>(value);
    if (pixels.type == ElementType::kFloat32) std::memcpy(memory.data() + 4 * at, &value, 4);
    const auto high = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
    if (pixels.type == ElementType::kBfloat16) std::memcpy(memory.data() + 2 * at, &high, 2);
  }
  float get(std::size_t at) const {
    if (pixels.type == ElementType::kUint8) return memory[at];
    float value = 0;
    if (pixels.type == ElementType::kFloat32) {
      std::memcpy(&value, memory.data() + 4 * at, 4);
      return value;
    }
    std::uint16_t high = 0;
    std::memcpy(&high, memory.data() + 2 * at, 2);
    return std::bit_cast<float>(std::uint32_t{high} << 16);
  }
  // The value of sample i at (x, y).
  float at(std::size_t i, std::size_t channel, std::size_t y, std::size_t x) const {
    const std::size_t base = i * pixels.sample_elements();
    return get(base +
               (pixels.layout == Layout::kNchw ? (channel * 12 + y) * 20 + x : (y * 20 + x) * kChannels + channel));
  }

  static constexpr std::size_t kClasses = 7;
  std::vector<std::uint8_t> memory;
  std::vector<float> targets;
  BatchPixels pixels;
};

OpSpec defaults(std::string_view name) { return {std::string(name), {}}; }

TEST_CASE("targets remain rows of probabilities after every batch operation") {
  for (const BatchOperationInfo& info : batch_operations()) {
    TestBatch batch(9, ElementType::kFloat32, Layout::kNchw);
    Random random(1, 2, 3, 4);
    make_batch_operation(defaults(info.name))->apply(batch.pixels, random);
    for (std::size_t i = 0; i < 9; ++i) {
      const auto row = std::span(batch.targets).subspan(i * TestBatch::kClasses, TestBatch::kClasses);
      CHECK(std::accumulate(row.begin(), row.end(), 0.0f) == Approx(1));
    }
  }
}

TEST_CASE("label smoothing leaves 1 - epsilon and distributes the rest") {
  TestBatch batch(2, ElementType::kUint8, Layout::kNchw);
  Random random(0, 0, 0, 0);
  make_batch_operation({"label_smoothing", {{"epsilon", {0.14}}}})->apply(batch.pixels, random);
  CHECK(batch.targets[0] == Approx(0.88));
  CHECK(batch.targets[1] == Approx(0.02));
}

TEST_CASE("mixup blends every sample with the original of the one before it, by the weight of the targets") {
  for (const ElementType type : {ElementType::kUint8, ElementType::kFloat32, ElementType::kBfloat16}) {
    TestBatch batch(6, type, Layout::kNhwc);
    Random random(7, 0, 0, 0);
    make_batch_operation({"mixup", {{"alpha", {1}}}})->apply(batch.pixels, random);
    const float weight = batch.targets[TestBatch::kClasses + 1];  // sample 1's own class
    CHECK(weight > 0.01f);
    CHECK(weight < 0.99f);
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t before = (i + 5) % 6;
      CHECK(batch.targets[i * TestBatch::kClasses + i] == Approx(weight));
      CHECK(batch.targets[i * TestBatch::kClasses + before] == Approx(1 - weight));
      const float expected =
          weight * static_cast<float>(i * 10 + 2) + (1 - weight) * static_cast<float>(before * 10 + 2);
      const double allowed = type == ElementType::kFloat32 ? 1e-4 : type == ElementType::kUint8 ? 0.51 : 0.2;
      CHECK(batch.at(i, 2, 11, 19) == Approx(expected).margin(allowed));
      CHECK(batch.at(i, 2, 0, 0) == batch.at(i, 2, 11, 19));
    }
  }
}

TEST_CASE("runs of elements are blended to the same bits on every instruction set") {
  testing::on_every_target([](const std::string& target) {
    Random random(17, 0, 0, 0);
    for (const ElementType type :
         {ElementType::kUint8, ElementType::kFloat32, ElementType::kBfloat16, ElementType::kFloat16}) {
      for (const float weight : {0.0F, 0.3F, 0.5F, 0.9371F, 1.0F}) {
        INFO(target << ", " << element_bytes(type) << " bytes, weight " << weight);
        for (const std::size_t count : {std::size_t{1}, std::size_t{15}, std::size_t{64}, std::size_t{1003}}) {
          // Values in -8..8 and in -4e-6..4e-6, where float16 has fewer bits; for uint8 all values.
          const std::size_t bytes = count * element_bytes(type);
          std::vector<std::uint8_t> from(bytes), to(bytes);
          for (auto* run : {&from, &to}) {
            for (std::size_t i = 0; i < count; ++i) {
              const auto value = static_cast<float>(random.uniform(-8, 8) * (random.below(4) == 0 ? 0x1p-21 : 1));
              std::uint8_t* const at = run->data() + i * element_bytes(type);
              const std::uint16_t half = type == ElementType::kFloat16 ? float16_bits(value) : bfloat16_bits(value);
              if (type == ElementType::kUint8) *at = static_cast<std::uint8_t>(random.bits());
              if (type == ElementType::kFloat32) std::memcpy(at, &value, sizeof(value));
              if (element_bytes(type) == sizeof(half)) std::memcpy(at, &half, sizeof(half));
            }
          }
          std::vector<std::uint8_t> expected = to;
          blend_reference(type, from.data(), weight, count, expected.data());
          blend(type, from.data(), weight, count, to.data());
          REQUIRE(to == expected);
        }
      }
    }
  });
}

TEST_CASE("cutmix pastes a box of the sample before, and the targets have its area") {
  std::set<float> weights;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Layout layout = seed % 2 ? Layout::kNchw : Layout::kNhwc;
    const ElementType type = seed % 3 ? ElementType::kFloat32 : ElementType::kUint8;
    TestBatch batch(4, type, layout);
    Random random(seed, 0, 0, 0);
    make_batch_operation(defaults("cutmix"))->apply(batch.pixels, random);
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t before = (i + 3) % 4;
      std::size_t pasted = 0, left = 20, right = 0, top = 12, bottom = 0;
      for (std::size_t y = 0; y < 12; ++y) {
        for (std::size_t x = 0; x < 20; ++x) {
          const float value = batch.at(i, 1, y, x);
          const bool other = value == static_cast<float>(before * 10 + 1);
          REQUIRE((other || value == static_cast<float>(i * 10 + 1)));
          if (!other) continue;
          ++pasted;
          left = std::min(left, x);
          right = std::max(right, x + 1);
          top = std::min(top, y);
          bottom = std::max(bottom, y + 1);
        }
      }
      if (pasted > 0) REQUIRE(pasted == (right - left) * (bottom - top));
      CHECK(batch.targets[i * TestBatch::kClasses + i] == Approx(1 - static_cast<double>(pasted) / 240).margin(1e-6));
    }
    weights.insert(batch.targets[0]);
  }
  CHECK(weights.size() > 50);
}

TEST_CASE("with probability 0, or alone in its batch, a sample is unchanged") {
  for (const char* name : {"mixup", "cutmix"}) {
    for (const std::size_t samples : {1, 5}) {
      TestBatch batch(samples, ElementType::kFloat32, Layout::kNchw),
          before(samples, ElementType::kFloat32, Layout::kNchw);
      Random random(3, 0, 0, 0);
      make_batch_operation({name, {{"probability", {samples == 1 ? 1.0 : 0.0}}}})->apply(batch.pixels, random);
      CHECK(batch.memory == before.memory);
      CHECK(batch.targets == before.targets);
    }
  }
}

TEST_CASE("weights are drawn from Beta(alpha, alpha)") {
  for (const double alpha : {0.2, 1.0, 3.0}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 40'000;
    for (int i = 0; i < kDraws; ++i) {
      Random random(11, 0, static_cast<std::uint64_t>(i), 0);
      const double draw = draw_beta(alpha, random);
      REQUIRE(draw >= 0);
      REQUIRE(draw <= 1);
      sum += draw;
      squares += (draw - 0.5) * (draw - 0.5);
    }
    // Mean 1/2, variance 1 / (4 (2 alpha + 1)); six standard errors.
    const double variance = 1 / (4 * (2 * alpha + 1));
    CHECK(std::abs(sum / kDraws - 0.5) < 6 * std::sqrt(variance / kDraws));
    CHECK(std::abs(squares / kDraws / variance - 1) < 0.05);
  }
}

TEST_CASE("invalid batch operations are rejected with the known ones") {
  CHECK_THROWS_WITH(make_batch_operation(defaults("mixdown")),
                    Contains("known: one_hot, label_smoothing, mixup, cutmix"));
  CHECK_THROWS_WITH(make_batch_operation({"mixup", {{"alpha", {0}}}}), Contains("alpha"));
  CHECK_THROWS_WITH(make_batch_operation({"label_smoothing", {{"epsilon", {1.5}}}}), Contains("epsilon"));
  CHECK_THROWS_WITH(make_batch_operation({"one_hot", {{"classes", {3}}}}), Contains("classes"));
}

}  // namespace
}  // namespace unstarve
