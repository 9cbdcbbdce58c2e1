#include "unstarve/codecs/jpeg/scan_reader.h"

#include <algorithm>

namespace unstarve {
namespace {

// Scans from which on entries of two symbols repay their making.
constexpr std::size_t kWorthPairs = 8192;

std::size_t as_size(int value) { return static_cast<std::size_t>(value); }

}  // namespace

bool ScanReader::build_tables() {
  const bool pairs = image_->scan.size() >= kWorthPairs;
  for (int c = 0; c < image_->components; ++c) {
    const auto dc = as_size(image_->component[as_size(c)].dc_table);
    const auto ac = as_size(image_->component[as_size(c)].ac_table);
    if (!dc_[dc].build(image_->dc[dc], false, false) || !ac_[ac].build(image_->ac[ac], true, pairs)) return false;
  }
  return true;
}

void ScanReader::lay_out() {
  const auto mcus = as_size(plan_.end_column - plan_.first_column);
  mcu_.count = 0;
  for (int c = 0; c < image_->components; ++c) {
    const int horizontal = c == 0 ? image_->horizontal : 1;
    const int vertical = c == 0 ? image_->vertical : 1;
    const BaselineComponent& component = image_->component[as_size(c)];
    for (int y = 0; y < vertical; ++y) {
      CoefficientRow& row = blocks(c, y);
      row.resize(mcus * as_size(horizontal));
      for (int x = 0; x < horizontal; ++x) {
        mcu_.blocks[as_size(mcu_.count++)] = {
            c,         &dc_[as_size(component.dc_table)], &ac_[as_size(component.ac_table)], &row, as_size(horizontal),
            as_size(x)};
      }
    }
  }
}

bool ScanReader::open(const BaselineImage& image, const BaselinePlan& plan) {
  image_ = &image;
  plan_ = plan;
  expected_ = nullptr;
  recorded_ = nullptr;
  if (!build_tables()) return false;
  lay_out();
  return true;
}

void ScanReader::clear() {
  for (auto& component : blocks_)
    for (CoefficientRow& row : component) row.clear();
}

bool ScanReader::start() {
  bytes_.assign(image_->scan, image_->restart_interval > 0);
  entropy_.start(bytes_, mcu_, image_->restart_interval, as_size(plan_.columns) * as_size(plan_.rows));
  return skip_to_plan();
}

bool ScanReader::start_recording(ScanIndex& index) {
  recorded_ = &index;
  positions_ = {image_->scan, 0};
  index.reset(*image_);
  index.add({});
  return start();
}

void ScanReader::start_by(const ScanIndex& index) { expected_ = &index; }

bool ScanReader::skip_to_plan() {
  if (!watches()) return entropy_.skip(as_size(plan_.columns) * as_size(plan_.first_row));
  for (int row = 0; row < plan_.first_row; ++row)
    if (!advance(row, 0, plan_.columns, false)) return false;
  return true;
}

bool ScanReader::look(int row, int column) {
  const EntropyPlace place = entropy_.place();
  const ScanPoint point{positions_.bit_in_file(place.bit), place.dc};
  if (expected_ != nullptr) return point == expected_->at(row, column);
  recorded_->add(point);
  return true;
}

bool ScanReader::advance(int row, int from, int to, bool keep) {
  while (from < to) {
    const int end = watches() ? std::min(to, (from / ScanIndex::kStep + 1) * ScanIndex::kStep) : to;
    const auto mcus = as_size(end - from);
    if (!(keep ? entropy_.keep(as_size(from - plan_.first_column), mcus) : entropy_.skip(mcus))) return false;
    from = end;
    if (!watches()) continue;
    const bool is_point = from % ScanIndex::kStep == 0 || from == plan_.columns;
    if (is_point && !look(row, from)) return false;
  }
  return true;
}

bool ScanReader::read_row_by_index(int row) {
  constexpr int kStep = ScanIndex::kStep;
  const int columns = plan_.columns;
  const int from = plan_.first_column / kStep * kStep;
  // Reads on to the end of the image where the plan does, as without an index, and to a point in any case.
  const bool to_end = row + 1 == plan_.rows;
  const int to = to_end ? columns : std::min(std::max(plan_.end_column, from + kStep), columns);
  const ScanPoint& first = expected_->at(row, from);
  const std::size_t begin = first.bit / 8;
  // The byte behind the last one needed: it tells an FF of the data from a marker.
  const std::size_t end =
      to_end ? image_->scan.size() : std::min(expected_->at(row, to).bit / 8 + 2, image_->scan.size());
  const std::span<const std::uint8_t> part = image_->scan.subspan(begin, end - begin);
  bytes_.assign(part, false);
  positions_ = {part, begin};
  entropy_.start_at(bytes_, mcu_, as_size(columns) * as_size(plan_.rows), {first.bit % 8, first.dc});
  return advance(row, from, plan_.first_column, false) && advance(row, plan_.first_column, plan_.end_column, true) &&
         advance(row, plan_.end_column, to, false) && (!to_end || entropy_.finish());
}

bool ScanReader::read_row(int row) {
  if (expected_ != nullptr) return read_row_by_index(row);
  if (!advance(row, 0, plan_.first_column, false)) return false;
  if (!advance(row, plan_.first_column, plan_.end_column, true)) return false;
  // What lies behind the last MCU of the plan is damage that nobody sees.
  if (row + 1 == plan_.end_row && plan_.end_row < plan_.rows) return true;
  if (!advance(row, plan_.end_column, plan_.columns, false)) return false;
  return row + 1 < plan_.rows || entropy_.finish();
}

bool ScanReader::read_on() {
  if (plan_.end_row == plan_.rows) return true;
  if (!advance(plan_.end_row - 1, plan_.end_column, plan_.columns, false)) return false;
  for (int row = plan_.end_row; row < plan_.rows; ++row)
    if (!advance(row, 0, plan_.columns, false)) return false;
  return entropy_.finish();
}

}  // namespace unstarve
