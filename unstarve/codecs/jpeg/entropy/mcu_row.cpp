#include "unstarve/codecs/jpeg/entropy/mcu_row.h"

#include <algorithm>

namespace unstarve {
namespace {

void append(EntropyBlocks& list, const McuBlock& block, std::int16_t* values, std::int16_t* second_values) {
  list.dc[list.count] = &block.dc->entries();
  list.ac[list.count] = &block.ac->entries();
  list.lanes[0].values[list.count] = values;
  list.lanes[1].values[list.count++] = second_values;
}

}  // namespace

void McuRow::assign(std::span<const McuBlock> mcu, std::size_t mcus) {
  blocks_ = mcu.size();
  of_component_ = {};
  for (const McuBlock& block : mcu) ++of_component_[static_cast<std::size_t>(block.component)];

  const std::size_t per_list = EntropyBlocks::kMost / blocks_;
  const std::size_t lists = (mcus + per_list - 1) / per_list;
  if (lists_.size() < lists) lists_.resize(lists);
  for (std::size_t i = 0; i < lists; ++i) {
    EntropyBlocks& list = lists_[i];
    list.count = 0;
    for (std::size_t m = i * per_list; m < std::min((i + 1) * per_list, mcus); ++m) {
      for (const McuBlock& block : mcu) {
        const std::size_t number = block.step * m + block.offset;
        append(list, block, block.row->block(number),
               block.second_row != nullptr ? block.second_row->block(number) : nullptr);
      }
    }
  }

  skipped_.count = 0;
  skipped_.skipped = true;
  while (skipped_.count + blocks_ <= kSkipped) {
    for (const McuBlock& block : mcu) {
      const std::size_t at = kSkippedStep * skipped_.count;
      append(skipped_, block, &skipped_values_[0][at], &skipped_values_[1][at]);
    }
  }
}

bool McuRow::sum_up(DcSums& dc, EntropyBlocks::Lane& lane, std::size_t first, std::size_t count) const {
  std::int16_t* const* values = lane.values + first;
  for (std::size_t c = 0; c < dc.size(); values += of_component_[c++]) {
    auto sum = static_cast<std::uint32_t>(dc[c]);
    const auto sum_component = [&](std::size_t of_mcu) __attribute__((always_inline)) {
      for (std::size_t mcu = 0; mcu < count; mcu += blocks_) {
        for (std::size_t block = mcu; block < mcu + of_mcu; ++block) {
          std::int16_t& value = values[block][CoefficientRow::kDc];
          sum += static_cast<std::uint32_t>(value);
          value = static_cast<std::int16_t>(sum);
        }
      }
    };
    switch (of_component_[c]) {  // unrolls the loop for common numbers
      case 1: sum_component(1); break;
      case 4: sum_component(4); break;
      default: sum_component(of_component_[c]);
    }
    dc[c] = static_cast<std::int32_t>(sum);
  }
  std::uint8_t least = 255;
  for (std::size_t i = first; i < first + count; ++i)
    least = std::min(least, static_cast<std::uint8_t>(lane.ends[i] - 1));
  return least >= EntropyBlocks::kEarly - 1;
}

bool McuRow::decode(Stream& stream, EntropyBlocks& blocks, std::size_t first, std::size_t mcus) const {
  const std::size_t begin = first * blocks_;
  const std::size_t count = mcus * blocks_;
  return decode_blocks(stream.bits, blocks, begin, begin + count) && sum_up(stream.dc, blocks.lanes[0], begin, count);
}

bool McuRow::decode_two(Stream& stream, Stream& second, EntropyBlocks& blocks, std::size_t first,
                        std::size_t mcus) const {
  const std::size_t begin = first * blocks_;
  const std::size_t count = mcus * blocks_;
  return decode_blocks_of_two(stream.bits, second.bits, blocks, begin, begin + count) &&
         sum_up(stream.dc, blocks.lanes[0], begin, count) && sum_up(second.dc, blocks.lanes[1], begin, count);
}

template <class Decode>
bool McuRow::each_list(std::size_t first, std::size_t mcus, const Decode& decode) {
  const std::size_t per_list = EntropyBlocks::kMost / blocks_;
  for (const std::size_t last = first + mcus; first < last;) {
    const std::size_t at = first % per_list;
    const std::size_t now = std::min(last - first, per_list - at);
    if (!decode(lists_[first / per_list], at, now)) return false;
    first += now;
  }
  return true;
}

template <class Decode>
bool McuRow::each_skipped(std::size_t mcus, const Decode& decode) {
  const std::size_t most = skipped_.count / blocks_;
  for (std::size_t left = mcus; left > 0;) {
    const std::size_t now = std::min(left, most);
    if (!decode(skipped_, 0, now)) return false;
    left -= now;
  }
  return true;
}

bool McuRow::read(Stream& stream, std::size_t first, std::size_t mcus) {
  return each_list(first, mcus, [&](EntropyBlocks& blocks, std::size_t at, std::size_t now) {
    return decode(stream, blocks, at, now);
  });
}

bool McuRow::read_two(Stream& stream, Stream& second, std::size_t first, std::size_t mcus) {
  return each_list(first, mcus, [&](EntropyBlocks& blocks, std::size_t at, std::size_t now) {
    return decode_two(stream, second, blocks, at, now);
  });
}

bool McuRow::skip(Stream& stream, std::size_t mcus) {
  return each_skipped(
      mcus, [&](EntropyBlocks& blocks, std::size_t at, std::size_t now) { return decode(stream, blocks, at, now); });
}

bool McuRow::skip_two(Stream& stream, Stream& second, std::size_t mcus) {
  return each_skipped(mcus, [&](EntropyBlocks& blocks, std::size_t at, std::size_t now) {
    return decode_two(stream, second, blocks, at, now);
  });
}

}  // namespace unstarve
