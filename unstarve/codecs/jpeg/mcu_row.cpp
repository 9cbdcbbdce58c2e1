#include "unstarve/codecs/jpeg/mcu_row.h"

#include <algorithm>

namespace unstarve {
namespace {

constexpr std::size_t kPlaces = sizeof(EntropyBlocks::places) / sizeof(std::uint16_t);
using Places = std::array<std::uint16_t, kPlaces>;

// From a coefficient's number in zigzag order (T.81, figure 5), and one more, to its place in a group.
constexpr Places kept_places() {
  Places places{};
  places.fill(CoefficientRow::kUnused);
  std::size_t x = 0, y = 0;
  for (std::size_t i = 1; i <= 64; ++i) {
    places[i] = static_cast<std::uint16_t>(y * 8 * CoefficientRow::kGroupBlocks + x);
    const bool up = (x + y) % 2 == 0;
    if (up) {
      if (x == 7)
        ++y;
      else if (y == 0)
        ++x;
      else
        ++x, --y;
    } else {
      if (y == 7)
        ++x;
      else if (x == 0)
        ++y;
      else
        --x, ++y;
    }
  }
  return places;
}

// DC to the first of a skipped block's two values, all else to the second.
constexpr Places skipped_places() {
  Places places{};
  places.fill(1);
  places[1] = 0;
  return places;
}

constexpr Places kKeptPlaces = kept_places();
constexpr Places kSkippedPlaces = skipped_places();

void append(EntropyBlocks& list, const McuBlock& block, std::int16_t* values, std::int16_t* second_values) {
  list.dc[list.count] = &block.dc->entries();
  list.ac[list.count] = &block.ac->entries();
  list.values[0][list.count] = values;
  list.values[1][list.count++] = second_values;
}

}  // namespace

std::size_t McuRow::place_of(std::size_t number) { return kKeptPlaces[number + 1]; }

void McuRow::assign(std::span<const McuBlock> mcu, std::size_t mcus) {
  blocks_ = mcu.size();
  of_component_ = {};
  for (const McuBlock& block : mcu) ++of_component_[static_cast<std::size_t>(block.component)];

  const std::size_t per_list = EntropyBlocks::kMost / blocks_;
  const std::size_t lists = (mcus + per_list - 1) / per_list;
  if (kept_.size() < lists) kept_.resize(lists);
  for (std::size_t i = 0; i < lists; ++i) {
    EntropyBlocks& list = kept_[i];
    std::ranges::copy(kKeptPlaces, list.places);
    list.count = 0;
    for (std::size_t m = i * per_list; m < std::min((i + 1) * per_list, mcus); ++m) {
      for (const McuBlock& block : mcu) {
        const std::size_t place = CoefficientRow::place(block.step * m + block.offset);
        append(list, block, block.row->values() + place,
               block.second_row != nullptr ? block.second_row->values() + place : nullptr);
      }
    }
  }

  std::ranges::copy(kSkippedPlaces, skipped_.places);
  skipped_.count = 0;
  skipped_.skipped = true;
  while (skipped_.count + blocks_ <= kSkipped) {
    for (const McuBlock& block : mcu) append(skipped_, block, skipped_values_.data() + 2 * skipped_.count, nullptr);
  }
}

bool McuRow::sum_up(DcSums& dc, std::int16_t* const* values, std::size_t count) const {
  // A wrong end is one of 1 to 64, or more than 127, which no counting leaves.
  std::uint8_t least = 255;
  for (std::size_t c = 0; c < dc.size(); values += of_component_[c++]) {
    auto sum = static_cast<std::uint32_t>(dc[c]);
    const auto sum_component = [&](std::size_t of_mcu) __attribute__((always_inline)) {
      for (std::size_t mcu = 0; mcu < count; mcu += blocks_) {
        for (std::size_t block = mcu; block < mcu + of_mcu; ++block) {
          least = std::min(least, static_cast<std::uint8_t>(values[block][CoefficientRow::kEnd] - 1));
          sum += static_cast<std::uint32_t>(values[block][0]);
          values[block][0] = static_cast<std::int16_t>(sum);
        }
      }
    };
    switch (of_component_[c]) {  // the usual numbers: without a loop
      case 1: sum_component(1); break;
      case 4: sum_component(4); break;
      default: sum_component(of_component_[c]);
    }
    dc[c] = static_cast<std::int32_t>(sum);
  }
  return least >= BlockEnd::kEarly - 1;
}

bool McuRow::decode(Stream& stream, EntropyBlocks& blocks, std::size_t first, std::size_t mcus) const {
  const std::size_t begin = first * blocks_;
  const std::size_t count = mcus * blocks_;
  return decode_blocks(stream.bits, blocks, begin, begin + count) && sum_up(stream.dc, blocks.values[0] + begin, count);
}

template <class Decode>
bool McuRow::in_lists(std::size_t first, std::size_t mcus, const Decode& decode) {
  const std::size_t per_list = EntropyBlocks::kMost / blocks_;
  for (const std::size_t last = first + mcus; first < last;) {
    const std::size_t at = first % per_list;
    const std::size_t now = std::min(last - first, per_list - at);
    if (!decode(kept_[first / per_list], at, now)) return false;
    first += now;
  }
  return true;
}

bool McuRow::keep(Stream& stream, std::size_t first, std::size_t mcus) {
  return in_lists(first, mcus, [&](EntropyBlocks& blocks, std::size_t at, std::size_t now) {
    return decode(stream, blocks, at, now);
  });
}

bool McuRow::keep_two(Stream& stream, Stream& second, std::size_t first, std::size_t mcus) {
  return in_lists(first, mcus, [&](EntropyBlocks& blocks, std::size_t at, std::size_t now) {
    const std::size_t begin = at * blocks_;
    const std::size_t count = now * blocks_;
    return decode_blocks_of_two(stream.bits, second.bits, blocks, begin, begin + count) &&
           sum_up(stream.dc, blocks.values[0] + begin, count) && sum_up(second.dc, blocks.values[1] + begin, count);
  });
}

bool McuRow::skip(Stream& stream, std::size_t mcus) {
  const std::size_t most = skipped_.count / blocks_;
  for (std::size_t left = mcus; left > 0;) {
    const std::size_t now = std::min(left, most);
    if (!decode(stream, skipped_, 0, now)) return false;
    left -= now;
  }
  return true;
}

}  // namespace unstarve
