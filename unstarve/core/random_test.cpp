#include "unstarve/core/random.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

using unstarve::philox4x32_10;
using unstarve::Random;

using Block = std::array<std::uint32_t, 4>;

// The known answers published with the Random123 library (kat_vectors, philox4x32 with 10 rounds).
TEST_CASE("Philox returns the published known answers") {
  CHECK(philox4x32_10({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a stream is a function of its name, and every part of the name matters") {
  const auto draws = [](Random random) {
    std::vector<std::uint32_t> bits(9);
    for (auto& b : bits) b = random.bits();
    return bits;
  };
  const auto base = draws(Random(1, 2, 3, 4));
  CHECK(base == draws(Random(1, 2, 3, 4)));
  std::set<std::vector<std::uint32_t>> all{base};
  all.insert(draws(Random(2, 2, 3, 4)));
  all.insert(draws(Random(1ull << 32 | 1, 2, 3, 4)));
  all.insert(draws(Random(1, 3, 3, 4)));
  all.insert(draws(Random(1, 2, 4, 4)));
  all.insert(draws(Random(1, 2, 1ull << 32 | 3, 4)));
  all.insert(draws(Random(1, 2, 3, 5)));
  CHECK(all.size() == 7);
}

TEST_CASE("a copy of a stream continues from the original's position") {
  Random random(7, 0, 0, 0);
  (void)random.bits();
  Random copy = random;
  for (int i = 0; i < 10; ++i) CHECK(copy.bits() == random.bits());
}

TEST_CASE("a stream leads to those of the other draws of its sample, from their beginning") {
  Random random(1, 2, 3, 4);
  CHECK(random.draw() == 2);
  for (int position = 0; position < 10; ++position) {
    for (const std::uint32_t draw : {0u, 2u, 7u}) {
      Random other = random.of_draw(draw), expected(1, draw, 3, 4);
      CHECK(other.draw() == draw);
      for (int i = 0; i < 9; ++i) CHECK(other.bits() == expected.bits());
    }
    (void)random.bits();
  }
}

TEST_CASE("uniform stays in [0, 1), is exact in float and has the right moments") {
  Random random(11, 0, 0, 0);
  constexpr int kDraws = 100000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform();
    if (!(u >= 0 && u < 1) || static_cast<double>(static_cast<float>(u)) != u) FAIL("bad draw " << u);
    sum += u;
    squares += u * u;
  }
  // Standard errors are 0.0009 and 0.0009; the draws are fixed, so this test is deterministic.
  CHECK(sum / kDraws == Approx(0.5).margin(0.004));
  CHECK(squares / kDraws == Approx(1.0 / 3).margin(0.004));
}

TEST_CASE("streams of other purposes differ from those of operations") {
  const auto first = [](std::uint32_t operation) { return Random(1, 2, 3, operation).bits(); };
  std::set<std::uint32_t> values;
  for (std::uint32_t operation = 0; operation < 64; ++operation) values.insert(first(operation));
  for (std::uint32_t i = 0; i < 64; ++i) values.insert(first(kBatchOperationStreams + i));
  values.insert(first(kDecodeDeviceStream));
  values.insert(first(kOrderStream));
  CHECK(values.size() == 64 + 64 + 2);
}

TEST_CASE("below() returns every value equally often and nothing else") {
  Random random(5, 0, 0, 0);
  for (const std::uint32_t n : {1u, 2u, 3u, 7u, 10u}) {
    std::vector<int> seen(n);
    for (int i = 0; i < 20000; ++i) ++seen.at(random.below(n));
    const auto [least, most] = std::minmax_element(seen.begin(), seen.end());
    CHECK(*least > 20000 / static_cast<int>(n) * 9 / 10);
    CHECK(*most < 20000 / static_cast<int>(n) * 11 / 10 + 1);
  }
  for (int i = 0; i < 1000; ++i) CHECK(random.below(1u << 31) < 1u << 31);
}

// 2^32 is 8/3 of 3 * 2^29: without rejection the values of three residues modulo 3 would share 3 : 3 : 2.
TEST_CASE("below() is unbiased if the range does not divide 2^32") {
  Random random(6, 0, 0, 0);
  int residues[3] = {};
  for (int i = 0; i < 30000; ++i) ++residues[random.below(3u << 29) % 3];
  for (const int count : residues) CHECK(count == Approx(10000).margin(400));
}

TEST_CASE("gamma draws have mean and variance equal to the shape") {
  Random random(4, 0, 0, 0);
  for (const double shape : {0.3, 1.0, 4.0}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 20'000;
    for (int i = 0; i < kDraws; ++i) {
      const double draw = draw_gamma(shape, random);
      REQUIRE(draw >= 0);
      sum += draw;
      squares += draw * draw;
    }
    const double mean = sum / kDraws;
    CHECK(mean == Approx(shape).epsilon(0.05));
    CHECK(squares / kDraws - mean * mean == Approx(shape).epsilon(0.1));
  }
}
