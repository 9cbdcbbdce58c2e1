// Compares the look-up tables with a decoder that reads bit by bit, as in T.81's figure F.16.
#include "unstarve/codecs/jpeg/entropy/huffman_table.h"

#include <catch2/catch.hpp>
#include <memory>

#include "unstarve/codecs/jpeg/entropy/huffman_test_support.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

using testing::random_codes;
using testing::read_symbol;
using testing::Symbol;

// The entry for a stream. If it is in a second table, the first table's bits are consumed.
struct Found {
  HuffmanEntry entry;
  int before = 0;  // bits consumed
};

Found entry_for(const HuffmanTable& table, std::uint64_t stream) {
  const HuffmanEntry entry = table.entries().at(stream >> (64 - HuffmanTable::kBits));
  if (entry.first != HuffmanEntry::kSecond) return {entry};
  REQUIRE(entry.bits == HuffmanTable::kBits);
  const std::uint64_t index = stream << HuffmanTable::kBits >> entry.value_from;
  return {table.entries().at(static_cast<std::uint64_t>(entry.value_base) + index), HuffmanTable::kBits};
}

struct Built {
  const HuffmanTable& table;
  const HuffmanCodes& codes;
  bool ac, with_pairs;
};

// The entries that were found.
struct Counts {
  int pairs = 0, seconds = 0, none = 0;
};

void check_entry(const Built& built, std::uint64_t stream, Counts& counts) {
  const Symbol first = read_symbol(built.codes, stream, built.ac);
  const Found found = entry_for(built.table, stream);
  const HuffmanEntry entry = found.entry;
  if (first.code_bits == 0) {
    ++counts.none;
    REQUIRE(entry.first == HuffmanEntry::kNoCode);
    return;
  }
  const int first_bits = first.code_bits + first.value_bits;
  REQUIRE(entry.first == (first.ends ? 1 : first.run + 1));
  REQUIRE(found.before + 64 - entry.value_from == first_bits);
  const std::uint64_t mask = (std::uint64_t{1} << entry.value_bits) - 1;
  REQUIRE(static_cast<int>(stream << found.before >> entry.value_from & mask) + entry.value_base == first.value);
  if (found.before > 0) {
    ++counts.seconds;
    REQUIRE(found.before + entry.bits <= 27);
  } else {
    REQUIRE(entry.bits <= HuffmanTable::kMostBits);
  }
  if (found.before + entry.bits == first_bits) {
    REQUIRE(entry.both == first.onward());
    REQUIRE(entry.second == 0);
    return;
  }
  ++counts.pairs;
  REQUIRE(built.with_pairs);
  REQUIRE_FALSE(first.ends);
  const Symbol second = read_symbol(built.codes, stream << first_bits, built.ac);
  REQUIRE(entry.bits == first_bits + second.code_bits + second.value_bits);
  REQUIRE(entry.both == first.run + 1 + second.onward());
  REQUIRE(entry.second == second.value);
}

}  // namespace

TEST_CASE("a Huffman entry of one or two symbols equals reading bit by bit", "[codecs]") {
  const auto table = std::make_unique<HuffmanTable>();
  Counts counts;
  for (std::uint32_t round = 0; round < 80; ++round) {
    Random random(31, 0, round, 0);
    const bool ac = round % 4 != 3;
    const bool with_pairs = ac && round % 2 == 0;
    const HuffmanCodes codes = random_codes(random, ac);
    REQUIRE(table->build(codes, ac, with_pairs));
    for (int i = 0; i < 3000; ++i) {
      std::uint64_t stream = std::uint64_t{random.bits()} << 32 | random.bits();
      // Long codes begin with ones and are rare in random bits.
      if (i % 3 == 0) stream |= ~(~std::uint64_t{0} >> random.below(16));
      check_entry({*table, codes, ac, with_pairs}, stream, counts);
    }
  }
  CHECK(counts.pairs > 1000);
  CHECK(counts.seconds > 1000);
  CHECK(counts.none > 1000);
}

TEST_CASE("second tables have room for the largest possible codes", "[codecs]") {
  // 256 codes of more than 10 bits, divided in all ways between two lengths, and some of every length; shorter codes
  // before them use the remaining code space.
  const auto table = std::make_unique<HuffmanTable>();
  Counts counts;
  for (std::size_t bits = 9; bits <= 16; ++bits) {
    for (int here = 0; here <= 252; here += 7) {
      for (const bool filled : {false, true}) {
        HuffmanCodes codes;
        int left = 252;
        codes.counts[bits] = static_cast<std::uint8_t>(here);
        left -= here;
        for (std::size_t other = 10; other <= 16 && left > 0; ++other) {
          if (other == bits) continue;
          const int count = other == 16 ? left : std::min(left, 1 + here % 13);
          codes.counts[other] = static_cast<std::uint8_t>(codes.counts[other] + count);
          left -= count;
        }
        // Codes of 1 to 4 bits leave a sixteenth, which 252 codes of 9 bits exceed.
        if (filled && bits > 9)
          for (std::size_t few = 1; few <= 4; ++few) codes.counts[few] = 1;
        for (std::size_t i = 0; i < 256; ++i) codes.symbols[i] = static_cast<std::uint8_t>(i % 16 << 4 | i % 11);
        int room = 1 << 16;
        for (std::size_t n = 1; n <= 16; ++n) room -= codes.counts[n] << (16 - n);
        INFO(bits << " bits: " << here);
        REQUIRE(table->build(codes, true, true) == (room > 0));
        if (room <= 0) continue;
        Random random(32, 0, static_cast<std::uint32_t>(here), 0);
        for (int i = 0; i < 100; ++i) {
          std::uint64_t stream = std::uint64_t{random.bits()} << 32 | random.bits();
          if (filled) stream |= std::uint64_t{15} << 60;
          check_entry({*table, codes, true, true}, stream, counts);
        }
      }
    }
  }
  CHECK(counts.seconds > 1000);
}

TEST_CASE("invalid codes, and values that 8-bit files cannot contain, are rejected", "[codecs]") {
  const auto dc = std::make_unique<HuffmanTable>();
  const auto ac = std::make_unique<HuffmanTable>();
  HuffmanCodes three_of_one_bit;
  three_of_one_bit.counts[1] = 3;
  CHECK_FALSE(ac->build(three_of_one_bit, true, true));
  // A code of all ones, short and of maximum length.
  for (const std::size_t last : {std::size_t{2}, std::size_t{16}}) {
    HuffmanCodes full;
    for (std::size_t bits = 1; bits <= last; ++bits) full.counts[bits] = 1;
    CHECK(ac->build(full, true, true));
    full.counts[last] = 2;
    CHECK_FALSE(ac->build(full, true, true));
  }
  HuffmanCodes too_many;
  too_many.counts[15] = 200;
  too_many.counts[16] = 200;
  CHECK_FALSE(ac->build(too_many, true, true));
  HuffmanCodes wide;
  wide.counts[2] = 1;
  wide.symbols[0] = 12;
  CHECK_FALSE(dc->build(wide, false, false));
  CHECK_FALSE(ac->build(wide, true, false));
  wide.symbols[0] = 11;
  CHECK(dc->build(wide, false, false));
  CHECK_FALSE(ac->build(wide, true, false));
  // A rejected table is not mistaken for the one built before.
  wide.symbols[0] = 12;
  CHECK_FALSE(dc->build(wide, false, false));
  CHECK_FALSE(dc->build(wide, false, false));
}

}  // namespace unstarve
