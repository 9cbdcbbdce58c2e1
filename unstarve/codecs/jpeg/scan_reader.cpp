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

void ScanReader::lay_out(Strand& strand) {
  const auto mcus = as_size(plan_.end_column - plan_.first_column);
  strand.mcu.count = 0;
  for (int c = 0; c < image_->components; ++c) {
    const int horizontal = c == 0 ? image_->horizontal : 1;
    const int vertical = c == 0 ? image_->vertical : 1;
    const BaselineComponent& component = image_->component[as_size(c)];
    for (int y = 0; y < vertical; ++y) {
      CoefficientRow& row = strand.row(c, y);
      row.resize(mcus * as_size(horizontal));
      for (int x = 0; x < horizontal; ++x) {
        McuBlock& block = strand.mcu.blocks[as_size(strand.mcu.count++)];
        block.component = c;
        block.dc = &dc_[as_size(component.dc_table)];
        block.ac = &ac_[as_size(component.ac_table)];
        block.row = &row;
        block.step = as_size(horizontal);
        block.offset = as_size(x);
        block.dc_only = (c == 0 ? plan_.block : plan_.chroma_block) == 1;
      }
    }
  }
}

bool ScanReader::open(const BaselineImage& image, const BaselinePlan& plan) {
  image_ = &image;
  plan_ = plan;
  expected_ = nullptr;
  recorded_ = nullptr;
  current_ = 0;
  read_already_ = -1;
  if (!build_tables()) return false;
  lay_out(strands_[0]);
  return true;
}

void ScanReader::clear() {
  for (Strand& strand : strands_)
    for (auto& component : strand.blocks)
      for (CoefficientRow& row : component) row.clear();
}

bool ScanReader::start() {
  Strand& strand = strands_[0];
  strand.bytes.assign(image_->scan, image_->restart_interval > 0);
  strand.entropy.start(strand.bytes, strand.mcu, image_->restart_interval,
                       as_size(plan_.columns) * as_size(plan_.rows));
  return skip_to_plan();
}

bool ScanReader::start_recording(ScanIndex& index) {
  recorded_ = &index;
  strands_[0].positions = {image_->scan, 0, strands_[0].bytes};
  index.reset(*image_);
  index.add({});
  return start();
}

void ScanReader::start_by(const ScanIndex& index) {
  expected_ = &index;
  if (reads_two() && plan_.end_row - plan_.first_row > 1) lay_out(strands_[1]);
}

bool ScanReader::skip_to_plan() {
  if (!watches()) return strands_[0].entropy.skip(as_size(plan_.columns) * as_size(plan_.first_row));
  for (int row = 0; row < plan_.first_row; ++row)
    if (!advance(row, 0, plan_.columns, false)) return false;
  return true;
}

bool ScanReader::look(Strand& strand, int row, int column) {
  const bool at_end = row + 1 == plan_.rows && column == plan_.columns;
  if (!at_end && !strand.entropy.pass_restart()) return false;
  const EntropyPlace place = strand.entropy.place();
  const ScanPoint point{strand.positions.bit_in_file(place.bit, strand.entropy.restarts_passed()), place.dc};
  if (expected_ != nullptr) return point == expected_->at(row, column);
  recorded_->add(point);
  return true;
}

bool ScanReader::advance(int row, int from, int to, bool keep) {
  Strand& strand = strands_[0];
  while (from < to) {
    const int end = watches() ? std::min(to, (from / ScanIndex::kStep + 1) * ScanIndex::kStep) : to;
    const auto mcus = as_size(end - from);
    if (!(keep ? strand.entropy.keep(as_size(from - plan_.first_column), mcus) : strand.entropy.skip(mcus)))
      return false;
    from = end;
    if (!watches()) continue;
    const bool is_point = from % ScanIndex::kStep == 0 || from == plan_.columns;
    if (is_point && !look(strand, row, from)) return false;
  }
  return true;
}

ScanReader::Begin ScanReader::begin_of(int row) const {
  constexpr int kStep = ScanIndex::kStep;
  const Begin here{row, plan_.first_column / kStep * kStep};
  const int interval = image_->restart_interval;
  if (interval == 0) return here;
  // What the next point tells of this one's DC: nothing where a restart comes before it. Behind a restart DC is 0.
  const int first = row * plan_.columns + here.column;
  const int next = row * plan_.columns + std::min(here.column + kStep, plan_.columns);
  if (first % interval == 0 || next < (first / interval + 1) * interval) return here;
  // From the point before, whose DC is checked by this point, or ends at a restart in between.
  if (here.column > 0) return {row, here.column - kStep};
  return {row - 1, (plan_.columns - 1) / kStep * kStep};
}

int ScanReader::end_of(int row) const {
  // Reads on to the end of the image where the plan does, as without an index, and to a point in any case.
  if (row + 1 == plan_.rows) return plan_.columns;
  const int least = plan_.first_column / ScanIndex::kStep * ScanIndex::kStep + ScanIndex::kStep;
  return std::min(std::max(plan_.end_column, least), plan_.columns);
}

bool ScanReader::start_at(Strand& strand, Begin begin, int row) {
  const std::span<const std::uint8_t> scan = image_->scan;
  const ScanPoint& point = expected_->at(begin.row, begin.column);
  const std::size_t mcu = as_size(begin.row) * as_size(plan_.columns) + as_size(begin.column);
  const std::size_t from = point.bit / 8;
  const auto interval = as_size(image_->restart_interval);
  const std::size_t restarts = interval == 0 ? 0 : mcu / interval;
  if (restarts > 0 && mcu % interval == 0) {
    if (from < 2 || scan[from - 2] != 0xFF || scan[from - 1] != 0xD0 + (restarts - 1) % 8) return false;
  }
  // The byte behind the last one needed: it tells an FF of the data from a marker.
  const int to = end_of(row);
  const bool to_end = row + 1 == plan_.rows;
  const std::size_t end = to_end ? scan.size() : std::min(expected_->at(row, to).bit / 8 + 2, scan.size());
  strand.bytes.assign(scan.subspan(from, end - from), interval > 0, restarts);
  strand.positions = {scan.subspan(from, end - from), from, strand.bytes};
  strand.entropy.start_at(strand.bytes, strand.mcu, image_->restart_interval,
                          as_size(plan_.columns) * as_size(plan_.rows), mcu, {point.bit % 8, point.dc});
  return true;
}

bool ScanReader::read_row_by_index(int row) {
  const Begin begin = begin_of(row);
  const int to = end_of(row);
  if (!start_at(strands_[0], begin, row)) return false;
  if (begin.row < row && !advance(begin.row, begin.column, plan_.columns, false)) return false;
  const int from = begin.row < row ? 0 : begin.column;
  return advance(row, from, plan_.first_column, false) && advance(row, plan_.first_column, plan_.end_column, true) &&
         advance(row, plan_.end_column, to, false) && (row + 1 < plan_.rows || strands_[0].entropy.finish());
}

bool ScanReader::reads_two() const {
  return image_->restart_interval == 0 && plan_.block > 1 && plan_.chroma_block > 1;
}

bool ScanReader::advance_two(int from, int to, bool keep) {
  EntropyDecoder &one = strands_[0].entropy, &two = strands_[1].entropy;
  const auto mcus = as_size(to - from);
  return keep ? EntropyDecoder::keep_two(one, two, as_size(from - plan_.first_column), mcus)
              : EntropyDecoder::skip_two(one, two, mcus);
}

bool ScanReader::read_two_rows_by_index(int row) {
  Strand &one = strands_[0], &two = strands_[1];
  const Begin begin = begin_of(row);
  if (!start_at(one, begin, row) || !start_at(two, begin_of(row + 1), row + 1)) return false;
  // Of the points on the way only the last one is compared: it tells that those begun at are right.
  const int end = end_of(row);
  const int point = end == plan_.columns ? end : end / ScanIndex::kStep * ScanIndex::kStep;
  const int kept = std::min(point, plan_.end_column);
  if (!advance_two(begin.column, plan_.first_column, false) || !advance_two(plan_.first_column, kept, true) ||
      !advance_two(kept, point, false) || !look(one, row, point) || !look(two, row + 1, point)) {
    return false;
  }
  if (point < plan_.end_column && !advance_two(point, plan_.end_column, true)) return false;
  if (row + 2 < plan_.rows) return true;
  return two.entropy.skip(as_size(plan_.columns - std::max(point, plan_.end_column))) && two.entropy.finish();
}

bool ScanReader::read_row(int row) {
  if (row == read_already_) {
    current_ = 1;
    return true;
  }
  current_ = 0;
  if (expected_ != nullptr) {
    if (!reads_two() || row + 1 == plan_.end_row) return read_row_by_index(row);
    read_already_ = row + 1;
    return read_two_rows_by_index(row);
  }
  if (!advance(row, 0, plan_.first_column, false)) return false;
  if (!advance(row, plan_.first_column, plan_.end_column, true)) return false;
  // What lies behind the last MCU of the plan is damage that nobody sees.
  if (row + 1 == plan_.end_row && plan_.end_row < plan_.rows) return true;
  if (!advance(row, plan_.end_column, plan_.columns, false)) return false;
  return row + 1 < plan_.rows || strands_[0].entropy.finish();
}

bool ScanReader::read_on() {
  if (plan_.end_row == plan_.rows) return true;
  if (!advance(plan_.end_row - 1, plan_.end_column, plan_.columns, false)) return false;
  for (int row = plan_.end_row; row < plan_.rows; ++row)
    if (!advance(row, 0, plan_.columns, false)) return false;
  return strands_[0].entropy.finish();
}

}  // namespace unstarve
