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

void append(EntropyBlocks& list, const McuBlock& block, std::int16_t* values) {
  list.dc[list.count] = &block.dc->entries();
  list.ac[list.count] = &block.ac->entries();
  list.values[list.count++] = values;
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
        append(list, block, block.row->values() + CoefficientRow::place(block.step * m + block.offset));
      }
    }
  }

  std::ranges::copy(kSkippedPlaces, skipped_.places);
  skipped_.count = 0;
  skipped_.skipped = true;
  while (skipped_.count + blocks_ <= kSkipped) {
    for (const McuBlock& block : mcu) append(skipped_, block, skipped_values_.data() + 2 * skipped_.count);
  }
}

bool McuRow::decode(EntropyState& state, DcSums& dc, EntropyBlocks& blocks, std::size_t first, std::size_t mcus,
                    const std::uint8_t* limit) const {
  const std::size_t begin = first * blocks_;
  const std::size_t count = mcus * blocks_;
  if (!decode_blocks(state, blocks, begin, begin + count, limit)) return false;
  // A wrong end is one of 1 to 64, or more than 127, which no counting leaves.
  std::uint8_t least = 255;
  std::int16_t* const* values = blocks.values + begin;
  for (std::size_t c = 0; c < dc.size(); values += of_component_[c++]) {
    auto sum = static_cast<std::uint32_t>(dc[c]);
    const auto sum_up = [&](std::size_t of_mcu) __attribute__((always_inline)) {
      for (std::size_t mcu = 0; mcu < count; mcu += blocks_) {
        for (std::size_t block = mcu; block < mcu + of_mcu; ++block) {
          least = std::min(least, static_cast<std::uint8_t>(values[block][CoefficientRow::kEnd] - 1));
          sum += static_cast<std::uint32_t>(values[block][0]);
          values[block][0] = static_cast<std::int16_t>(sum);
        }
      }
    };
    switch (of_component_[c]) {  // the usual numbers: without a loop
      case 1: sum_up(1); break;
      case 4: sum_up(4); break;
      default: sum_up(of_component_[c]);
    }
    dc[c] = static_cast<std::int32_t>(sum);
  }
  return least >= BlockEnd::kEarly - 1;
}

bool McuRow::keep(EntropyState& state, DcSums& dc, std::size_t first, std::size_t mcus, const std::uint8_t* limit) {
  const std::size_t per_list = EntropyBlocks::kMost / blocks_;
  for (const std::size_t last = first + mcus; first < last;) {
    const std::size_t at = first % per_list;
    const std::size_t now = std::min(last - first, per_list - at);
    if (!decode(state, dc, kept_[first / per_list], at, now, limit)) return false;
    first += now;
  }
  return true;
}

bool McuRow::skip(EntropyState& state, DcSums& dc, std::size_t mcus, const std::uint8_t* limit) {
  const std::size_t most = skipped_.count / blocks_;
  for (std::size_t left = mcus; left > 0;) {
    const std::size_t now = std::min(left, most);
    if (!decode(state, dc, skipped_, 0, now, limit)) return false;
    left -= now;
  }
  return true;
}

}  // namespace unstarve
