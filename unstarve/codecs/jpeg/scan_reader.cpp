#include "unstarve/codecs/jpeg/scan_reader.h"

#include <algorithm>
#include <limits>

#include "unstarve/core/memory/cache_fetch.h"

namespace unstarve {
namespace {

// The scan size from which building entries of two symbols pays.
constexpr std::size_t kWorthPairs = 8192;
// Bytes prefetched of the next row that is read by an index; the CPU prefetches those after them.
constexpr std::size_t kFetched = 1024;

std::size_t unsigned_of(int value) { return static_cast<std::size_t>(value); }

}  // namespace

bool ScanReader::Tables::build(const BaselineImage& image) {
  const bool with_pairs = pairs.value_or(image.scan.size() >= kWorthPairs);
  for (int c = 0; c < image.components; ++c) {
    const auto d = unsigned_of(image.component[unsigned_of(c)].dc_table);
    const auto a = unsigned_of(image.component[unsigned_of(c)].ac_table);
    if (!dc[d].build(image.dc[d], false, false) || !ac[a].build(image.ac[a], true, with_pairs)) return false;
  }
  return true;
}

void ScanReader::lay_out(bool two) {
  two_ = two;
  next_row_ = -1;
  row_ = &rows_[0];
  const auto mcus = unsigned_of(plan_.end_column - plan_.first_column);
  std::array<McuBlock, McuRow::kMostBlocks> mcu;
  std::size_t count = 0;
  for (int c = 0; c < image_->components; ++c) {
    const int horizontal = c == 0 ? image_->horizontal : 1;
    const int vertical = c == 0 ? image_->vertical : 1;
    const BaselineComponent& component = image_->component[unsigned_of(c)];
    for (int y = 0; y < vertical; ++y) {
      CoefficientRow& row = rows_[0].blocks[unsigned_of(c)][unsigned_of(y)];
      CoefficientRow& second = rows_[1].blocks[unsigned_of(c)][unsigned_of(y)];
      row.resize(mcus * unsigned_of(horizontal));
      if (two) second.resize(mcus * unsigned_of(horizontal));
      McuBlock block{.component = c,
                     .dc = &tables_.dc[unsigned_of(component.dc_table)],
                     .ac = &tables_.ac[unsigned_of(component.ac_table)],
                     .row = &row,
                     .step = unsigned_of(horizontal),
                     .second_row = two ? &second : nullptr};
      for (block.offset = 0; block.offset < block.step; ++block.offset) mcu[count++] = block;
    }
  }
  mcus_.assign(std::span(mcu).first(count), mcus);
}

bool ScanReader::open(const BaselineImage& image, const BaselinePlan& plan) {
  image_ = &image;
  plan_ = plan;
  expected_ = nullptr;
  recorded_ = nullptr;
  mcus_read_ = 0;
  return tables_.build(image);
}

void ScanReader::clear() {
  for (Row& row : rows_)
    for (auto& component : row.blocks)
      for (CoefficientRow& blocks : component) blocks.clear();
}

bool ScanReader::start() {
  lay_out(false);
  row_->bytes.assign(image_->scan, image_->restart_interval > 0);
  row_->entropy.start(row_->bytes, mcus_, image_->restart_interval,
                      unsigned_of(plan_.columns) * unsigned_of(plan_.rows));
  return skip_to_plan();
}

bool ScanReader::start_recording(ScanIndex& index) {
  recorded_ = &index;
  rows_[0].positions = {0, rows_[0].bytes};
  index.reset(*image_);
  index.add({});
  return start();
}

void ScanReader::start_with_index(const ScanIndex& index) {
  expected_ = &index;
  lay_out(image_->restart_interval == 0 && plan_.first_row + 1 < plan_.end_row);
}

bool ScanReader::skip_to_plan() {
  if (recorded_ == nullptr) {
    const std::size_t mcus = unsigned_of(plan_.columns) * unsigned_of(plan_.first_row);
    mcus_read_ += mcus;
    return row_->entropy.skip(mcus);
  }
  for (int row = 0; row < plan_.first_row; ++row)
    if (!advance(*row_, row, 0, plan_.columns, false)) return false;
  return true;
}

bool ScanReader::pass_point(Row& reading, int row, int column) {
  const bool at_end = row + 1 == plan_.rows && column == plan_.columns;
  EntropyDecoder& entropy = reading.entropy;
  if (!at_end && !entropy.pass_restart()) return false;
  const EntropyPosition position = entropy.position();
  const ScanPoint point{reading.positions.bit_in_file(position.bit, entropy.restarts_passed()), position.dc};
  if (expected_ != nullptr) return point == expected_->at(row, column);
  recorded_->add(point);
  return true;
}

int ScanReader::next_point(int row, int from) const {
  constexpr int kNever = std::numeric_limits<int>::max();
  constexpr int kStep = ScanIndex::kStep;
  if (recorded_ == nullptr && expected_ == nullptr) return kNever;
  if (recorded_ != nullptr || image_->restart_interval > 0) return std::min((from / kStep + 1) * kStep, plan_.columns);
  const int end = end_of(row);
  const int last = end == plan_.columns ? end : end / kStep * kStep;
  return from < last ? last : kNever;
}

bool ScanReader::advance(Row& reading, int row, int from, int to, bool decode) {
  while (from < to) {
    const int point_at = next_point(row, from);
    const int end = std::min(to, point_at);
    const auto mcus = unsigned_of(end - from);
    mcus_read_ += mcus;
    EntropyDecoder& entropy = reading.entropy;
    if (!(decode ? entropy.read(unsigned_of(from - plan_.first_column), mcus) : entropy.skip(mcus))) return false;
    from = end;
    if (from == point_at && !pass_point(reading, row, from)) return false;
  }
  return true;
}

ScanReader::Begin ScanReader::begin_of(int row) const {
  constexpr int kStep = ScanIndex::kStep;
  const Begin here{row, plan_.first_column / kStep * kStep};
  const int interval = image_->restart_interval;
  if (interval == 0) return here;
  // The next point verifies this point's DC, unless a restart marker, after which DC is 0, comes before it.
  const int first = row * plan_.columns + here.column;
  const int next = row * plan_.columns + std::min(here.column + kStep, plan_.columns);
  if (first % interval == 0 || next < (first / interval + 1) * interval) return here;
  // Starts one point earlier: this point verifies its DC, unless a restart in between makes that irrelevant.
  if (here.column > 0) return {row, here.column - kStep};
  return {row - 1, (plan_.columns - 1) / kStep * kStep};
}

int ScanReader::end_of(int row) const {
  // The image's last row is read to its end, as without an index; other rows to a point.
  if (row + 1 == plan_.rows) return plan_.columns;
  const int least = plan_.first_column / ScanIndex::kStep * ScanIndex::kStep + ScanIndex::kStep;
  return std::min(std::max(plan_.end_column, least), plan_.columns);
}

bool ScanReader::start_at(Row& reading, Begin begin, int row) {
  const std::span<const std::uint8_t> scan = image_->scan;
  const ScanPoint& point = expected_->at(begin.row, begin.column);
  const std::size_t mcu = unsigned_of(begin.row) * unsigned_of(plan_.columns) + unsigned_of(begin.column);
  const std::size_t from = point.bit / 8;
  const auto interval = unsigned_of(image_->restart_interval);
  const std::size_t restarts = interval == 0 ? 0 : mcu / interval;
  if (restarts > 0 && mcu % interval == 0) {
    if (from < 2 || scan[from - 2] != 0xFF || scan[from - 1] != 0xD0 + (restarts - 1) % 8) return false;
  }
  // Includes the byte after the last one needed, which distinguishes an FF of the data from a marker.
  const int to = end_of(row);
  const bool to_end = row + 1 == plan_.rows;
  const std::size_t end = to_end ? scan.size() : std::min(expected_->at(row, to).bit / 8 + 2, scan.size());
  reading.bytes.assign(scan.subspan(from, end - from), interval > 0, restarts);
  reading.positions = {from, reading.bytes};
  fetch(row + (two_ ? 2 : 1));
  reading.entropy.start(reading.bytes, mcus_, image_->restart_interval,
                        unsigned_of(plan_.columns) * unsigned_of(plan_.rows));
  reading.entropy.begin_at(mcu, {point.bit % 8, point.dc});
  return true;
}

void ScanReader::fetch(int row) const {
  if (row >= plan_.end_row) return;
  const Begin begin = begin_of(row);
  const auto next = image_->scan.subspan(expected_->at(begin.row, begin.column).bit / 8);
  CacheFetch(next.first(std::min(next.size(), kFetched))).finish();
}

bool ScanReader::read_by_index(int row) {
  const Begin begin = begin_of(row);
  Row& reading = rows_[0];
  if (!start_at(reading, begin, row)) return false;
  if (begin.row < row && !advance(reading, begin.row, begin.column, plan_.columns, false)) return false;
  const int from = begin.row < row ? 0 : begin.column;
  return advance(reading, row, from, plan_.first_column, false) &&
         advance(reading, row, plan_.first_column, plan_.end_column, true) &&
         advance(reading, row, plan_.end_column, end_of(row), false) &&
         (row + 1 < plan_.rows || reading.entropy.finish());
}

bool ScanReader::advance_two(int row, int from, int to, bool decode) {
  EntropyDecoder& upper = rows_[0].entropy;
  EntropyDecoder& lower = rows_[1].entropy;
  while (from < to) {
    const std::array<int, 2> point_at{next_point(row, from), next_point(row + 1, from)};
    const int end = std::min({point_at[0], point_at[1], to});
    const auto mcus = unsigned_of(end - from);
    mcus_read_ += 2 * mcus;
    const bool ok = decode ? EntropyDecoder::read_two(upper, lower, unsigned_of(from - plan_.first_column), mcus)
                           : EntropyDecoder::skip_two(upper, lower, mcus);
    if (!ok) return false;
    from = end;
    for (int i = 0; i < 2; ++i)
      if (from == point_at[unsigned_of(i)] && !pass_point(rows_[unsigned_of(i)], row + i, from)) return false;
  }
  return true;
}

bool ScanReader::read_two_by_index(int row) {
  const int begin = begin_of(row).column;
  for (int i = 0; i < 2; ++i)
    if (!start_at(rows_[unsigned_of(i)], {row + i, begin}, row + i)) return false;
  // The image's last row is read to its end.
  const int end = end_of(row);
  return advance_two(row, begin, plan_.first_column, false) &&
         advance_two(row, plan_.first_column, plan_.end_column, true) &&
         advance_two(row, plan_.end_column, end, false) && advance(rows_[1], row + 1, end, end_of(row + 1), false) &&
         (row + 2 < plan_.rows || rows_[1].entropy.finish());
}

bool ScanReader::read_row(int row) {
  if (expected_ != nullptr) {
    const bool ready = row == next_row_;
    row_ = &rows_[ready ? 1 : 0];
    next_row_ = -1;
    if (ready) return true;
    if (!two_ || row + 1 == plan_.end_row) return read_by_index(row);
    if (!read_two_by_index(row)) return false;
    next_row_ = row + 1;
    return true;
  }
  if (!advance(*row_, row, 0, plan_.first_column, false)) return false;
  if (!advance(*row_, row, plan_.first_column, plan_.end_column, true)) return false;
  // Damage after the plan's last MCU is not visible.
  if (row + 1 == plan_.end_row && plan_.end_row < plan_.rows) return true;
  if (!advance(*row_, row, plan_.end_column, plan_.columns, false)) return false;
  return row + 1 < plan_.rows || row_->entropy.finish();
}

bool ScanReader::read_rest() {
  if (plan_.end_row == plan_.rows) return true;
  if (!advance(*row_, plan_.end_row - 1, plan_.end_column, plan_.columns, false)) return false;
  for (int row = plan_.end_row; row < plan_.rows; ++row)
    if (!advance(*row_, row, 0, plan_.columns, false)) return false;
  return row_->entropy.finish();
}

}  // namespace unstarve
