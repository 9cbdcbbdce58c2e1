// Compares entropy coding, packing and byte stuffing with plain loops over bits, on every instruction set.
#include "unstarve/codecs/jpeg/encode/entropy_encoder.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "unstarve/codecs/jpeg/encode/byte_stuffing.h"
#include "unstarve/codecs/jpeg/encode/standard_tables.h"
#include "unstarve/core/random.h"
#include "unstarve/core/simd_test_support.h"

namespace unstarve {
namespace {

using Bytes = std::vector<std::uint8_t>;

// One character per bit, encoded as T.81 specifies.
struct PlainEncoder {
  std::string bits;

  void put(std::uint32_t value, int count) {
    for (int i = count - 1; i >= 0; --i) bits += static_cast<char>('0' + (value >> i & 1));
  }
  // The code of `symbol` (annex C).
  void put_code(const HuffmanCodes& codes, int symbol) {
    std::uint32_t code = 0;
    std::size_t number = 0;
    for (int length = 1; length <= 16; ++length, code <<= 1) {
      for (int i = 0; i < codes.counts[static_cast<std::size_t>(length)]; ++i, ++code, ++number) {
        if (codes.symbols[number] == symbol) return put(code, length);
      }
    }
    FAIL("no code for symbol " << symbol);
  }
  void put_value(const HuffmanCodes& codes, int run, int value) {
    const int size = std::bit_width(static_cast<unsigned>(std::abs(value)));
    put_code(codes, run << 4 | size);
    put(static_cast<std::uint32_t>(value < 0 ? value - 1 : value), size);
  }
  void put_block(const std::int16_t* values, int before, bool chroma) {
    put_value(chroma ? kDcChrominanceCodes : kDcLuminanceCodes, 0, values[0] - before);
    const HuffmanCodes& codes = chroma ? kAcChrominanceCodes : kAcLuminanceCodes;
    int run = 0;
    for (int i = 1; i < 64; ++i) {
      if (values[i] == 0) {
        ++run;
        continue;
      }
      for (; run > 15; run -= 16) put_code(codes, 0xF0);
      put_value(codes, run, values[i]);
      run = 0;
    }
    if (run > 0) put_code(codes, 0);
  }
  [[nodiscard]] Bytes bytes() const {
    std::string filled = bits;
    while (filled.size() % 8 != 0) filled += '1';
    Bytes result;
    for (std::size_t i = 0; i < filled.size(); i += 8) {
      result.push_back(static_cast<std::uint8_t>(std::stoi(filled.substr(i, 8), nullptr, 2)));
    }
    return result;
  }
};

// Few or many values, small or up to the limits, so that runs of all lengths occur.
void fill(Random& random, ZigzagRow& row, std::size_t blocks) {
  row.resize(blocks);
  for (std::size_t b = 0; b < blocks; ++b) {
    std::int16_t* values = row.values() + 64 * b;
    const std::uint32_t one_in = 1u << random.below(8);
    const std::uint32_t most = random.below(4) == 0 ? 1023 : 1 + random.below(70);
    std::uint64_t nonzero = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t limit = i == 0 ? 1024 : most;
      const bool here = i == 0 || random.below(one_in) == 0;
      values[i] =
          static_cast<std::int16_t>(here ? static_cast<int>(random.below(2 * limit)) - static_cast<int>(limit) : 0);
      if (i > 0 && values[i] == -1024) values[i] = -1023;
      nonzero |= std::uint64_t{values[i] != 0} << i;
    }
    row.nonzero()[b] = nonzero;
  }
}

struct Scan {
  std::array<ZigzagRow, 4> rows;  // luma, luma's second row, Cb, Cr
  McuRowBlocks row;
};

// One row of MCUs; `blocks`: luma blocks per row.
void fill(Random& random, Scan& scan, std::size_t horizontal, std::size_t vertical, std::size_t blocks,
          std::size_t block_rows) {
  const std::size_t mcus = (blocks + horizontal - 1) / horizontal;
  for (std::size_t i = 0; i < 4; ++i) fill(random, scan.rows[i], i < 2 ? blocks : mcus);
  scan.row[0] = {{&scan.rows[0], &scan.rows[1]}, horizontal, vertical, blocks, block_rows};
  for (std::size_t c = 1; c < 3; ++c) scan.row[c] = {{&scan.rows[c + 1], nullptr}, 1, 1, mcus, 1};
}

}  // namespace

TEST_CASE("blocks of any values are encoded as T.81 specifies, and those outside of the image with the fewest bits",
          "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    Random random(51, 0, 0, 0);
    EntropyEncoder encoder;
    for (int round = 0; round < 12; ++round) {
      const std::size_t horizontal = 1 + random.below(2), vertical = horizontal == 1 ? 1 : 1 + random.below(2);
      INFO(target << ", round " << round);
      encoder.begin();
      PlainEncoder plain;
      Bytes out;
      int before[3] = {};
      for (int mcu_row = 0; mcu_row < 2; ++mcu_row) {
        Scan scan;
        const std::size_t blocks = 1 + random.below(40);
        const std::size_t block_rows = 1 + random.below(static_cast<std::uint32_t>(vertical));
        fill(random, scan, horizontal, vertical, blocks, block_rows);
        const std::size_t mcus = (blocks + horizontal - 1) / horizontal;
        for (std::size_t mcu = 0; mcu < mcus; ++mcu) {
          for (std::size_t c = 0; c < 3; ++c) {
            const McuBlocks& part = scan.row[c];
            for (std::size_t i = 0; i < part.horizontal * part.vertical; ++i) {
              const std::size_t x = mcu * part.horizontal + i % part.horizontal, y = i / part.horizontal;
              std::int16_t values[64] = {static_cast<std::int16_t>(before[c])};
              if (x < part.blocks && y < part.block_rows) std::copy_n(part.rows[y]->values() + 64 * x, 64, values);
              plain.put_block(values, before[c], c > 0);
              before[c] = values[0];
            }
          }
        }
        const std::size_t old = out.size();
        out.resize(old + mcus * (horizontal * vertical + 2) * EntropyEncoder::kBlockBytes + EntropyEncoder::kSlack);
        out.resize(old + encoder.append(scan.row, mcus, out.data() + old));
      }
      std::uint8_t last = 0;
      if (encoder.finish(&last) > 0) out.push_back(last);
      const bool same = out == plain.bytes();
      REQUIRE(same);
    }
  });
}

TEST_CASE("symbols of any length are packed without gaps", "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Random random(52, 0, 0, 0);
    BitPacker packer;
    for (const std::uint32_t longest : {1u, 7u, 14u, 26u}) {
      packer.begin();
      PlainEncoder plain;
      Bytes out;
      for (int call = 0; call < 20; ++call) {
        const std::size_t count = random.below(3 * BitPacker::kGroup);
        alignas(64) std::array<std::uint32_t, 4 * BitPacker::kGroup> entries;
        alignas(64) std::array<std::uint64_t, 2 * BitPacker::kGroup> words;
        entries.fill(0xFFFFFFFF);
        for (std::size_t i = 0; i < count; ++i) {
          // Half of the calls use only the longest symbols.
          const std::uint32_t length = call % 2 == 0 ? longest : random.below(longest + 1);
          const std::uint32_t bits = static_cast<std::uint32_t>(random.bits()) & ((1u << length) - 1);
          entries[i] = bits << ScanCodes::kLengthBits | length;
          plain.put(bits, static_cast<int>(length));
        }
        const std::size_t old = out.size();
        out.resize(old + count * 4 + BitPacker::kSlack);
        out.resize(old + packer.append(entries.data(), count, words.data(), out.data() + old));
      }
      std::uint8_t last = 0;
      if (packer.finish(&last) > 0) out.push_back(last);
      const bool same = out == plain.bytes();
      CHECK(same);
    }
  });
}

TEST_CASE("a zero follows each FF at any position", "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Random random(53, 0, 0, 0);
    for (std::size_t count = 0; count < 400; ++count) {
      Bytes source(count), expected;
      const std::uint32_t one_in = 1u << random.below(10);  // from all FF to hardly any
      for (auto& byte : source) {
        byte = random.below(one_in) == 0 ? std::uint8_t{0xFF} : static_cast<std::uint8_t>(random.below(255));
        expected.push_back(byte);
        if (byte == 0xFF) expected.push_back(0);
      }
      Bytes target_bytes(2 * count + kStuffingSlack);
      target_bytes.resize(stuff_bytes(source.data(), count, target_bytes.data()));
      const bool same = target_bytes == expected;
      REQUIRE(same);
    }
  });
}

}  // namespace unstarve
