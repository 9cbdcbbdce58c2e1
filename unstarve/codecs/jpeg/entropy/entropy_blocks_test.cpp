// Compares the innermost loop of every instruction set with a decoder that reads bit by bit, over random codes: valid
// blocks, blocks that end with their last coefficient or exceed it, unknown codes, truncated data.
#include "unstarve/codecs/jpeg/entropy/entropy_blocks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <span>
#include <vector>

#include "unstarve/codecs/jpeg/entropy/entropy_bytes.h"
#include "unstarve/codecs/jpeg/entropy/huffman_test_support.h"
#include "unstarve/codecs/jpeg/entropy/mcu_row.h"
#include "unstarve/core/memory/guarded_memory.h"
#include "unstarve/core/testing/simd_test_support.h"

namespace unstarve {
namespace {

using testing::read_symbol;
using testing::Symbol;

constexpr std::size_t kBlocks = 150, kAfterEnd = 4;  // more than are skipped at a time
constexpr std::int16_t kUntouched = 12345;
// The limit passed to decode_blocks(), in bytes after the data, and the bytes it may read after that.
constexpr std::size_t kLimit = 8, kReadable = 56 + 8;
static_assert(kLimit + kReadable <= EntropyBytes::kSlack);

// One component with one block per MCU.
struct Scan {
  HuffmanCodes dc, ac;
  std::vector<std::uint8_t> bytes;
  std::size_t bits = 0;

  void write(std::uint32_t value, int count) {
    for (int i = count - 1; i >= 0; --i, ++bits) {
      if (bits / 8 == bytes.size()) bytes.push_back(0);
      bytes[bits / 8] = static_cast<std::uint8_t>(bytes[bits / 8] | (value >> i & 1) << (7 - bits % 8));
    }
  }
  [[nodiscard]] std::uint64_t at(std::size_t bit) const {
    std::uint64_t stream = 0;
    for (std::size_t i = 0; i < 64; ++i, ++bit) {
      const bool one = bit / 8 < bytes.size() && (bytes[bit / 8] >> (7 - bit % 8) & 1) != 0;
      stream = stream << 1 | (one ? 1 : 0);
    }
    return stream;
  }
};

struct Expected {
  bool right = true;
  std::vector<std::array<std::int16_t, 64>> blocks;  // in zigzag order, with DC values, not differences
  std::size_t bits = 0;
};

Expected read_plainly(const Scan& scan, std::size_t blocks) {
  Expected expected;
  std::int32_t dc = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    std::array<std::int16_t, 64> values{};
    for (int number = -1; number < 63;) {
      const Symbol symbol = read_symbol(number < 0 ? scan.dc : scan.ac, scan.at(expected.bits), number >= 0);
      expected.bits += static_cast<std::size_t>(symbol.code_bits + symbol.value_bits);
      if (symbol.code_bits == 0 || expected.bits > scan.bits) expected.right = false;
      if (!expected.right || symbol.ends) break;
      number += number < 0 ? 1 : symbol.run + 1;
      if (number > 63) {
        expected.right = false;
        break;
      }
      if (number == 0) dc += symbol.value;
      values[static_cast<std::size_t>(number)] = static_cast<std::int16_t>(number == 0 ? dc : symbol.value);
    }
    if (!expected.right) break;
    expected.blocks.push_back(values);
  }
  return expected;
}

struct Code {
  std::uint32_t code = 0;
  int bits = 0;
  std::uint8_t symbol = 0;
};

std::vector<Code> codes_of(const HuffmanCodes& codes) {
  std::vector<Code> all;
  std::uint32_t code = 0;
  for (int bits = 1; bits <= 16; ++bits, code <<= 1) {
    for (int i = 0; i < codes.counts[static_cast<std::size_t>(bits)]; ++i) {
      all.push_back({code++, bits, codes.symbols[all.size()]});
    }
  }
  return all;
}

// No blocks yet.
Scan random_codes(Random& random) {
  Scan scan;
  do {
    scan.dc = testing::random_codes(random, false);
    scan.ac = testing::random_codes(random, true);
  } while (codes_of(scan.dc).empty() || codes_of(scan.ac).size() < 20);
  // Blocks that end early, and blocks with a last coefficient.
  const auto symbols = codes_of(scan.ac).size();
  scan.ac.symbols[random.below(static_cast<std::uint32_t>(symbols))] = 0x00;
  scan.ac.symbols[random.below(static_cast<std::uint32_t>(symbols))] = static_cast<std::uint8_t>(1 + random.below(10));
  return scan;
}

// Blocks of random symbols that fit; with `wrong`, sometimes one that does not; truncated for some `ends_early`.
Scan random_blocks(Scan scan, Random& random, bool wrong, bool ends_early) {
  const std::vector<Code> dc = codes_of(scan.dc), ac = codes_of(scan.ac);
  const auto one_of = [&](const std::vector<Code>& codes) {
    return codes[random.below(static_cast<std::uint32_t>(codes.size()))];
  };
  const auto write = [&](const Code& code, int value_bits) {
    scan.write(code.code, code.bits);
    scan.write(random.bits(), value_bits);
  };
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const Code first = one_of(dc);
    write(first, first.symbol);
    const bool full = random.below(4) == 0;
    for (int number = 0; number < 63;) {
      const Code code = one_of(ac);
      const int value_bits = code.symbol & 15, run = code.symbol >> 4;
      const bool ends = value_bits == 0 && run != 15;
      const bool fits = ends ? !full : number + run + 1 <= 63;
      if (!fits && !(wrong && random.below(400) == 0)) continue;
      write(code, value_bits);
      if (ends) break;
      number += run + 1;
    }
  }
  if (wrong && random.below(2) == 0) scan.write(random.bits(), 32);
  if (ends_early) scan.bits = scan.bits * random.below(100) / 100;
  scan.bytes.resize((scan.bits + 7) / 8);
  return scan;
}

// A scan's bytes before inaccessible memory, and the state for decoding them from the start.
struct GuardedScan {
  explicit GuardedScan(const Scan& scan) : memory(scan.bytes.size() + kLimit + kReadable) {
    std::ranges::copy(scan.bytes, memory.bytes().begin());
    const std::uint8_t* const bytes = memory.bytes().data();
    stream.bits = {0, 0, bytes, bytes + scan.bytes.size() + kLimit};
  }
  [[nodiscard]] std::size_t bits_read() const {
    return static_cast<std::size_t>(stream.bits.next - memory.bytes().data()) * 8 - stream.bits.count;
  }

  GuardedBytes memory;
  McuRow::Stream stream;
};

// Blocks after the last one, which decoding must not modify.
void mark_after_end(CoefficientRow& row) { std::fill(row.block(kBlocks), row.block(kBlocks + kAfterEnd), kUntouched); }
bool untouched_after_end(CoefficientRow& row) {
  return std::all_of(row.block(kBlocks), row.block(kBlocks + kAfterEnd),
                     [](std::int16_t v) { return v == kUntouched; });
}

bool same_values(CoefficientRow& a, CoefficientRow& b) {
  return std::equal(a.block(0), a.block(a.blocks()), b.block(0));
}

}  // namespace

TEST_CASE("blocks of random codes decode as bit by bit on every instruction set", "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    int right = 0, wrong = 0;
    const auto dc = std::make_unique<HuffmanTable>(), ac = std::make_unique<HuffmanTable>();
    const auto row = std::make_unique<McuRow>();
    for (std::uint32_t round = 0; round < 60; ++round) {
      Random random(33, 0, round, 0);
      const Scan scan = random_blocks(random_codes(random), random, round % 2 == 1, round % 8 == 3);
      INFO(target << ", round " << round);
      const Expected expected = read_plainly(scan, kBlocks);

      REQUIRE(dc->build(scan.dc, false, false));
      REQUIRE(ac->build(scan.ac, true, round % 3 != 0));
      CoefficientRow coefficients;
      coefficients.resize(kBlocks + kAfterEnd);
      const McuBlock block{.dc = dc.get(), .ac = ac.get(), .row = &coefficients};
      row->assign(std::span(&block, 1), kBlocks + kAfterEnd);
      mark_after_end(coefficients);

      // In two parts; the first ones skipped as well, which leaves the same state.
      GuardedScan read(scan), skipped(scan);
      const std::size_t part = random.below(kBlocks);
      bool ok = row->read(read.stream, 0, part);
      REQUIRE(row->skip(skipped.stream, part) == ok);
      if (ok) {
        REQUIRE(skipped.bits_read() == read.bits_read());
        REQUIRE(skipped.stream.dc == read.stream.dc);
        ok = row->read(read.stream, part, kBlocks - part);
      }
      ok = ok && read.bits_read() <= scan.bits;
      REQUIRE(ok == expected.right);
      REQUIRE(untouched_after_end(coefficients));
      ok ? ++right : ++wrong;
      if (!ok) continue;
      REQUIRE(read.bits_read() == expected.bits);
      for (std::size_t b = 0; b < kBlocks; ++b) {
        std::array<std::int16_t, 64> zigzag{};
        const std::int16_t* const values = coefficients.block(b);
        for (std::size_t i = 0; i < 64; ++i) zigzag[i] = values[(i + 1) % 64];
        REQUIRE(zigzag == expected.blocks[b]);
      }
    }
    CHECK(right > 30);
    CHECK(wrong > 10);
  });
}

TEST_CASE("decoding two rows together equals decoding one after the other on every instruction set", "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    int right = 0, wrong = 0;
    const auto dc = std::make_unique<HuffmanTable>(), ac = std::make_unique<HuffmanTable>();
    const auto row = std::make_unique<McuRow>();
    for (std::uint32_t round = 0; round < 800; ++round) {
      INFO(target << ", round " << round);
      Random random(35, 0, round, 0);
      const Scan codes = random_codes(random);
      REQUIRE(dc->build(codes.dc, false, false));
      REQUIRE(ac->build(codes.ac, true, round % 3 != 0));
      // One of the two is wrong, or the other.
      const bool first_wrong = round % 4 == 1, second_wrong = round % 4 == 3;
      const std::array<Scan, 2> scans{random_blocks(codes, random, first_wrong, first_wrong && round % 8 == 1),
                                      random_blocks(codes, random, second_wrong, second_wrong && round % 8 == 3)};
      const std::size_t part = random.below(kBlocks);

      std::array<CoefficientRow, 2> rows, expected;
      for (std::size_t i = 0; i < 2; ++i) {
        rows[i].resize(kBlocks + kAfterEnd);
        expected[i].resize(kBlocks + kAfterEnd);
        mark_after_end(rows[i]);
        mark_after_end(expected[i]);
      }
      std::array<GuardedScan, 2> separate{GuardedScan(scans[0]), GuardedScan(scans[1])};
      bool ok = true;
      for (std::size_t i = 0; i < 2; ++i) {
        const McuBlock block{.dc = dc.get(), .ac = ac.get(), .row = &expected[i]};
        row->assign(std::span(&block, 1), kBlocks);
        ok = ok && row->read(separate[i].stream, 0, kBlocks) && separate[i].bits_read() <= scans[i].bits;
      }

      const McuBlock block{.dc = dc.get(), .ac = ac.get(), .row = rows.data(), .second_row = &rows[1]};
      row->assign(std::span(&block, 1), kBlocks + kAfterEnd);
      std::array<GuardedScan, 2> read{GuardedScan(scans[0]), GuardedScan(scans[1])};
      // In two parts; the first ones skipped as well, which leaves the same state.
      std::array<GuardedScan, 2> skipped{GuardedScan(scans[0]), GuardedScan(scans[1])};
      bool both = row->read_two(read[0].stream, read[1].stream, 0, part);
      REQUIRE(row->skip_two(skipped[0].stream, skipped[1].stream, part) == both);
      for (std::size_t i = 0; i < 2 && both; ++i) {
        REQUIRE(skipped[i].bits_read() == read[i].bits_read());
        REQUIRE(skipped[i].stream.dc == read[i].stream.dc);
      }
      both = both && row->read_two(read[0].stream, read[1].stream, part, kBlocks - part);
      for (std::size_t i = 0; i < 2; ++i) both = both && read[i].bits_read() <= scans[i].bits;
      REQUIRE(both == ok);
      for (CoefficientRow& read_row : rows) REQUIRE(untouched_after_end(read_row));
      ok ? ++right : ++wrong;
      if (!ok) continue;
      for (std::size_t i = 0; i < 2; ++i) {
        REQUIRE(read[i].bits_read() == separate[i].bits_read());
        REQUIRE(read[i].stream.dc == separate[i].stream.dc);
        REQUIRE(same_values(rows[i], expected[i]));
      }
    }
    CHECK(right > 400);
    CHECK(wrong > 100);
  });
}

TEST_CASE("decoding data without an end stays within its limit on every instruction set", "[codecs]") {
  // Codes of every length, each with a value. No code ends a block, so that each has 64 coefficients.
  HuffmanCodes dc, ac;
  for (std::size_t bits = 1; bits <= 16; ++bits) dc.counts[bits] = ac.counts[bits] = 1;
  dc.symbols.fill(11);
  ac.symbols.fill(10);
  testing::on_every_target([&](const std::string& target) {
    const auto dc_table = std::make_unique<HuffmanTable>(), ac_table = std::make_unique<HuffmanTable>();
    const auto row = std::make_unique<McuRow>();
    for (std::uint32_t round = 0; round < 400; ++round) {
      INFO(target << ", round " << round);
      Random random(34, 0, round, 0);
      REQUIRE(dc_table->build(dc, false, false));
      REQUIRE(ac_table->build(ac, true, round % 2 == 1));
      CoefficientRow coefficients, second;
      coefficients.resize(kBlocks);
      second.resize(kBlocks);
      const McuBlock block{.dc = dc_table.get(), .ac = ac_table.get(), .row = &coefficients, .second_row = &second};
      row->assign(std::span(&block, 1), kBlocks);
      // Noise; more ones mean longer codes.
      const std::size_t data = random.below(100);
      const GuardedBytes memory(data + kLimit + kReadable);
      const std::span<std::uint8_t> bytes = memory.bytes();
      for (std::uint8_t& byte : bytes) {
        for (std::uint32_t i = 0; i <= round % 5; ++i) byte = static_cast<std::uint8_t>(byte | random.bits());
      }
      McuRow::Stream stream{{0, 0, bytes.data(), bytes.data() + data + kLimit}, {}}, skipped = stream;
      McuRow::Stream both = stream, other = stream;
      other.bits.next += random.below(static_cast<std::uint32_t>(data) + 1);
      if (round % 3 == 0) std::swap(both, other);
      CHECK_FALSE(row->read(stream, 0, kBlocks));
      CHECK_FALSE(row->skip(skipped, kBlocks));
      McuRow::Stream skipped_both = both, skipped_other = other;
      CHECK_FALSE(row->read_two(both, other, 0, kBlocks));
      CHECK_FALSE(row->skip_two(skipped_both, skipped_other, kBlocks));
    }
  });
}

}  // namespace unstarve
