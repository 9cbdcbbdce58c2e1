#include "unstarve/codecs/jpeg/baseline_decoder.h"

#include <algorithm>

#include "unstarve/codecs/jpeg/colour.h"
#include "unstarve/codecs/jpeg/idct.h"

namespace unstarve {
namespace {

constexpr int kBlock = 8;
// Before each row of samples, for the repeated sample left of the image; a cache line, to keep rows aligned.
constexpr std::size_t kRowMargin = 64;
// Scans from which on entries of two symbols repay their making.
constexpr std::size_t kWorthPairs = 8192;

std::size_t as_size(int value) { return static_cast<std::size_t>(value); }

}  // namespace

std::uint8_t* BaselineDecoder::Plane::row(int y) {
  return samples.data() + as_size(y % ring_rows) * stride + kRowMargin;
}

bool BaselineDecoder::build_tables(const BaselineImage& image) {
  const bool pairs = image.scan.size() >= kWorthPairs;
  for (int c = 0; c < image.components; ++c) {
    const auto dc = as_size(image.component[as_size(c)].dc_table);
    const auto ac = as_size(image.component[as_size(c)].ac_table);
    if (!dc_[dc].build(image.dc[dc], false, false) || !ac_[ac].build(image.ac[ac], true, pairs)) return false;
  }
  return true;
}

void BaselineDecoder::lay_out(const BaselineImage& image) {
  const auto mcus = as_size(plan_.end_column - plan_.first_column);
  mcu_.count = 0;
  for (int c = 0; c < image.components; ++c) {
    Plane& plane = planes_[as_size(c)];
    plane.horizontal = c == 0 ? image.horizontal : 1;
    plane.vertical = c == 0 ? image.vertical : 1;
    const auto samples_of = [](int side, int factor, int most) { return (side * factor + most - 1) / most; };
    plane.width = samples_of(image.size.width, plane.horizontal, image.horizontal);
    plane.height = samples_of(image.size.height, plane.vertical, image.vertical);
    plane.first_sample = plan_.first_column * kBlock * plane.horizontal;
    plane.ring_rows = 2 * kBlock * plane.vertical;
    const std::size_t blocks = mcus * as_size(plane.horizontal);
    const std::size_t whole_groups = (blocks + CoefficientRow::kGroupBlocks - 1) / CoefficientRow::kGroupBlocks;
    plane.stride = kRowMargin + whole_groups * CoefficientRow::kGroupBlocks * kBlock + 2 * kRowSlack;
    plane.stride = (plane.stride + 63) / 64 * 64;
    plane.samples.reserve_discard(plane.stride * as_size(plane.ring_rows));
    const BaselineComponent& component = image.component[as_size(c)];
    for (int y = 0; y < plane.vertical; ++y) {
      CoefficientRow& row = plane.blocks[as_size(y)];
      row.resize(blocks);
      for (int x = 0; x < plane.horizontal; ++x) {
        mcu_.blocks[as_size(mcu_.count++)] = {
            c,    &dc_[as_size(component.dc_table)], &ac_[as_size(component.ac_table)],
            &row, as_size(plane.horizontal),         as_size(x)};
      }
    }
  }
}

void BaselineDecoder::transform(const BaselineImage& image, int mcu_row) {
  for (int c = 0; c < image.components; ++c) {
    Plane& plane = planes_[as_size(c)];
    for (int v = 0; v < plane.vertical; ++v) {
      const int y = (mcu_row * plane.vertical + v) * kBlock;
      inverse_dct(plane.blocks[as_size(v)], image.component[as_size(c)].quantisation.data(), plane.row(y),
                  static_cast<std::ptrdiff_t>(plane.stride));
      if (c > 0 && image.horizontal == 2) {
        for (int i = 0; i < kBlock; ++i) repeat_edges(plane, y + i);
      }
    }
  }
}

// Upsampling reads one sample beyond both edges of the image.
void BaselineDecoder::repeat_edges(Plane& plane, int y) {
  std::uint8_t* const row = plane.row(y);
  if (plane.first_sample == 0) row[-1] = row[0];
  const int end = plane.width - plane.first_sample;
  const int decoded = (plan_.end_column - plan_.first_column) * kBlock * plane.horizontal;
  if (end <= decoded) row[end] = row[end - 1];
}

// The chroma row of output row y, a sample per pixel, from the crop's first pixel on.
const std::uint8_t* BaselineDecoder::upsampled(const BaselineImage& image, const Rect& rect, Plane& plane, int y,
                                               AlignedBytes& row) {
  const int first = rect.x / image.horizontal;
  const auto count = as_size((rect.x + rect.width - 1) / image.horizontal - first + 1);
  const std::ptrdiff_t offset = first - plane.first_sample;
  const bool lower = image.vertical == 2 && y % 2 == 1;
  const int near_y = y / image.vertical;
  const std::uint8_t* const near = plane.row(near_y) + offset;
  if (image.vertical == 1) {
    if (image.horizontal == 1) return near;
    upsample_2x1(near, count, row.data());
  } else {
    const int far_y = lower ? std::min(near_y + 1, plane.height - 1) : std::max(near_y - 1, 0);
    const std::uint8_t* const far = plane.row(far_y) + offset;
    if (image.horizontal == 1) {
      upsample_1x2(near, far, lower, count, row.data());
    } else {
      upsample_2x2(near, far, count, reinterpret_cast<std::uint16_t*>(sums_.data()), row.data());
    }
  }
  return row.data() + rect.x % image.horizontal;
}

void BaselineDecoder::emit(const BaselineImage& image, const Rect& rect, int y, std::uint8_t* rgb) {
  const std::uint8_t* const luma = planes_[0].row(y) + (rect.x - planes_[0].first_sample);
  if (image.components == 1) {
    grey_to_rgb(luma, as_size(rect.width), rgb);
    return;
  }
  const std::uint8_t* const cb = upsampled(image, rect, planes_[1], y, chroma_rows_[0]);
  const std::uint8_t* const cr = upsampled(image, rect, planes_[2], y, chroma_rows_[1]);
  ycc_to_rgb(luma, cb, cr, as_size(rect.width), rgb);
}

bool BaselineDecoder::look(int row, int column) {
  const EntropyPlace place = entropy_.place();
  const ScanPoint point{watch_.positions.bit_in_file(place.bit), place.dc};
  if (watch_.expected != nullptr) return point == watch_.expected->at(row, column);
  watch_.recorded->add(point);
  return true;
}

bool BaselineDecoder::advance(int row, int from, int to, bool keep) {
  while (from < to) {
    const int end = watch_.active() ? std::min(to, (from / ScanIndex::kStep + 1) * ScanIndex::kStep) : to;
    const auto mcus = as_size(end - from);
    if (!(keep ? entropy_.keep(as_size(from - plan_.first_column), mcus) : entropy_.skip(mcus))) return false;
    from = end;
    if (!watch_.active()) continue;
    const bool is_point = from % ScanIndex::kStep == 0 || from == plan_.columns;
    if (is_point && !look(row, from)) return false;
  }
  return true;
}

void BaselineDecoder::emit_rows(const BaselineImage& image, const Rect& rect, int row, int& y, Image& out) {
  // With two rows of pixels to a row of chroma, the last one waits for the chroma below.
  const bool last = row + 1 == plan_.end_row;
  const int end = last ? rect.y + rect.height : (row + 1) * kBlock * image.vertical - (image.vertical - 1);
  for (; y < end; ++y) emit(image, rect, y, out.row(y - rect.y));
}

bool BaselineDecoder::decode_rows(const BaselineImage& image, const Rect& rect, Image& out) {
  if (watch_.active()) {
    watch_.recorded->add({});
    for (int row = 0; row < plan_.first_row; ++row)
      if (!advance(row, 0, plan_.columns, false)) return false;
  } else if (!entropy_.skip(as_size(plan_.columns) * as_size(plan_.first_row))) {
    return false;
  }
  int y = rect.y;
  for (int row = plan_.first_row; row < plan_.end_row; ++row) {
    if (!advance(row, 0, plan_.first_column, false)) return false;
    if (!advance(row, plan_.first_column, plan_.end_column, true)) return false;
    transform(image, row);
    emit_rows(image, rect, row, y, out);
    // What lies behind the crop's last MCU is damage that nobody sees.
    if (row + 1 == plan_.end_row && plan_.end_row < plan_.rows) return true;
    if (!advance(row, plan_.end_column, plan_.columns, false)) return false;
  }
  return entropy_.finish();
}

bool BaselineDecoder::read_on() {
  if (plan_.end_row == plan_.rows) return true;
  if (!advance(plan_.end_row - 1, plan_.end_column, plan_.columns, false)) return false;
  for (int row = plan_.end_row; row < plan_.rows; ++row)
    if (!advance(row, 0, plan_.columns, false)) return false;
  return entropy_.finish();
}

bool BaselineDecoder::decode_indexed_row(const BaselineImage& image, const ScanIndex& index, int row) {
  constexpr int kStep = ScanIndex::kStep;
  const int columns = plan_.columns;
  const int from = plan_.first_column / kStep * kStep;
  // Reads on to the end of the image where the crop does, as without an index, and to a point in any case.
  const bool to_end = row + 1 == plan_.rows;
  const int to = to_end ? columns : std::min(std::max(plan_.end_column, from + kStep), columns);
  const ScanPoint& first = index.at(row, from);
  const std::size_t begin = first.bit / 8;
  // The byte behind the last one needed: it tells an FF of the data from a marker.
  const std::size_t end = to_end ? image.scan.size() : std::min(index.at(row, to).bit / 8 + 2, image.scan.size());
  bytes_.assign(image.scan.subspan(begin, end - begin), false);
  watch_.positions = {image.scan.subspan(begin, end - begin), begin};
  entropy_.start_at(bytes_, mcu_, as_size(columns) * as_size(plan_.rows), {first.bit % 8, first.dc});
  return advance(row, from, plan_.first_column, false) && advance(row, plan_.first_column, plan_.end_column, true) &&
         advance(row, plan_.end_column, to, false) && (!to_end || entropy_.finish());
}

bool BaselineDecoder::prepare(const BaselineImage& image, const Rect& rect) {
  // libjpeg does not smooth components of one or two samples.
  if (image.components == 3 && image.horizontal == 2 && image.size.width <= 4) return false;
  if (!build_tables(image)) return false;
  plan_ = plan_baseline(image, rect);
  lay_out(image);
  if (image.components == 3 && (image.horizontal == 2 || image.vertical == 2)) {
    const std::size_t samples = as_size(rect.width) + 4;
    for (AlignedBytes& row : chroma_rows_) row.reserve_discard(samples + 2 * kRowSlack);
    sums_.reserve_discard((samples + 2 * kRowSlack) * sizeof(std::uint16_t));
  }
  return true;
}

bool BaselineDecoder::cleaned_up(bool ok) {
  watch_ = {};
  if (ok) return true;
  for (Plane& plane : planes_) {
    for (CoefficientRow& row : plane.blocks) row.clear();
  }
  return false;
}

bool BaselineDecoder::decode_from_start(const BaselineImage& image, const Rect& rect, Image& out) {
  if (!prepare(image, rect)) return false;
  bytes_.assign(image.scan, image.restart_interval > 0);
  entropy_.start(bytes_, mcu_, image.restart_interval, as_size(plan_.columns) * as_size(plan_.rows));
  return decode_rows(image, rect, out);
}

bool BaselineDecoder::decode(const BaselineImage& image, const Rect& rect, Image& out) {
  return cleaned_up(decode_from_start(image, rect, out));
}

bool BaselineDecoder::decode_and_index(const BaselineImage& image, const Rect& rect, ScanIndex& index, Image& out) {
  index.reset(image);
  watch_ = {nullptr, &index, {image.scan, 0}};
  const bool ok = decode_from_start(image, rect, out);
  if (!ok || !read_on()) index.reset(image);
  return cleaned_up(ok);
}

bool BaselineDecoder::decode(const BaselineImage& image, const Rect& rect, const ScanIndex& index, Image& out) {
  if (!prepare(image, rect)) return false;
  watch_.expected = &index;
  int y = rect.y;
  for (int row = plan_.first_row; row < plan_.end_row; ++row) {
    if (!decode_indexed_row(image, index, row)) return cleaned_up(false);
    transform(image, row);
    emit_rows(image, rect, row, y, out);
  }
  return cleaned_up(true);
}

}  // namespace unstarve
