#include "unstarve/codecs/jpeg/baseline_decoder.h"

#include <algorithm>

#include "unstarve/codecs/jpeg/transform/colour.h"
#include "unstarve/codecs/jpeg/transform/idct.h"
#include "unstarve/codecs/jpeg/transform/idct_reduced.h"

namespace unstarve {
namespace {

constexpr int kBlock = 8;  // side of a block in coefficients
// Bytes before each row of samples for the repeated sample left of the image; a cache line, to keep rows aligned.
constexpr std::size_t kRowMargin = 64;

std::size_t as_size(int value) { return static_cast<std::size_t>(value); }

// To blocks of `block` (8, 4, 2 or 1) samples per side.
void inverse_dct_to(int block, CoefficientRow& row, const std::int16_t* quantisation, std::uint8_t* out,
                    std::ptrdiff_t stride) {
  if (block == kBlock) {
    inverse_dct(row, quantisation, out, stride);
  } else {
    inverse_dct_reduced(row, block, quantisation, out, stride);
  }
}

}  // namespace

std::uint8_t* BaselineDecoder::Plane::row(int y) {
  return samples.data() + as_size(y % ring_rows) * stride + kRowMargin;
}

void BaselineDecoder::lay_out(const BaselineImage& image) {
  const auto mcus = as_size(plan_.end_column - plan_.first_column);
  for (int c = 0; c < image.components; ++c) {
    Plane& plane = planes_[as_size(c)];
    plane.horizontal = c == 0 ? image.horizontal : 1;
    plane.vertical = c == 0 ? image.vertical : 1;
    plane.block = c == 0 ? plan_.block : plan_.chroma_block;
    const auto samples_of = [&plane](int side, int factor, int most) {
      const std::int64_t pixels = std::int64_t{most} * kBlock;
      return static_cast<int>((std::int64_t{side} * factor * plane.block + pixels - 1) / pixels);
    };
    plane.width = samples_of(image.size.width, plane.horizontal, image.horizontal);
    plane.height = samples_of(image.size.height, plane.vertical, image.vertical);
    plane.first_sample = plan_.first_column * plane.block * plane.horizontal;
    plane.ring_rows = 2 * plane.block * plane.vertical;
    const std::size_t blocks = mcus * as_size(plane.horizontal);
    plane.stride = kRowMargin + CoefficientRow::whole_groups(blocks) * as_size(plane.block) + 2 * kRowSlack;
    plane.stride = (plane.stride + 63) / 64 * 64;
    plane.samples.reserve_discard(plane.stride * as_size(plane.ring_rows));
  }
}

void BaselineDecoder::transform(const BaselineImage& image, int mcu_row) {
  for (int c = 0; c < image.components; ++c) {
    Plane& plane = planes_[as_size(c)];
    for (int v = 0; v < plane.vertical; ++v) {
      const int y = (mcu_row * plane.vertical + v) * plane.block;
      inverse_dct_to(plane.block, reader_.blocks(c, v), image.component[as_size(c)].quantisation.data(), plane.row(y),
                     static_cast<std::ptrdiff_t>(plane.stride));
      if (c > 0 && plan_.up_x == 2) {
        for (int i = 0; i < plane.block; ++i) repeat_edges(plane, y + i);
      }
    }
  }
}

// Upsampling reads one sample beyond both edges of the image.
void BaselineDecoder::repeat_edges(Plane& plane, int y) {
  std::uint8_t* const row = plane.row(y);
  if (plane.first_sample == 0) row[-1] = row[0];
  const int end = plane.width - plane.first_sample;
  const int decoded = (plan_.end_column - plan_.first_column) * plane.block * plane.horizontal;
  if (end <= decoded) row[end] = row[end - 1];
}

// The chroma row of output row y, one sample per pixel, from the crop's first pixel on.
const std::uint8_t* BaselineDecoder::upsampled(const Rect& rect, Plane& plane, int y, AlignedBytes& row) {
  const int first = rect.x / plan_.up_x;
  const auto count = as_size((rect.x + rect.width - 1) / plan_.up_x - first + 1);
  const std::ptrdiff_t offset = first - plane.first_sample;
  const int near_y = y / plan_.up_y;
  const std::uint8_t* const near = plane.row(near_y) + offset;
  if (plan_.up_x == 1 && (plan_.up_y == 1 || !plan_.smooth)) return near;
  if (!plan_.smooth) {
    repeat_2x1(near, count, row.data());
  } else if (plan_.up_y == 1) {
    upsample_2x1(near, count, row.data());
  } else {
    const bool lower = y % 2 == 1;
    const int far_y = lower ? std::min(near_y + 1, plane.height - 1) : std::max(near_y - 1, 0);
    const std::uint8_t* const far = plane.row(far_y) + offset;
    if (plan_.up_x == 1) {
      upsample_1x2(near, far, lower, count, row.data());
    } else {
      upsample_2x2(near, far, count, reinterpret_cast<std::uint16_t*>(sums_.data()), row.data());
    }
  }
  return row.data() + rect.x % plan_.up_x;
}

void BaselineDecoder::emit(const BaselineImage& image, const Rect& rect, int y, std::uint8_t* rgb) {
  const std::uint8_t* const luma = planes_[0].row(y) + (rect.x - planes_[0].first_sample);
  if (image.components == 1) {
    grey_to_rgb(luma, as_size(rect.width), rgb);
    return;
  }
  const std::uint8_t* const cb = upsampled(rect, planes_[1], y, chroma_rows_[0]);
  const std::uint8_t* const cr = upsampled(rect, planes_[2], y, chroma_rows_[1]);
  ycc_to_rgb(luma, cb, cr, as_size(rect.width), rgb);
}

void BaselineDecoder::emit_rows(const BaselineImage& image, const Rect& rect, int row, int& y, RowSink& out) {
  // With two rows of pixels per row of chroma, the last one needs the chroma row below.
  const bool last = row + 1 == plan_.end_row;
  const int waiting = plan_.up_y == 2 && plan_.smooth ? 1 : 0;
  const int end = last ? rect.y + rect.height : (row + 1) * plan_.block * image.vertical - waiting;
  if (y >= end) return;
  const int count = end - y;
  std::ptrdiff_t stride = 0;
  std::uint8_t* rgb = out.room(count, stride);
  for (; y < end; ++y, rgb += stride) emit(image, rect, y, rgb);
  out.take(count);
}

bool BaselineDecoder::decode_rows(const BaselineImage& image, const Rect& rect, RowSink& out) {
  int y = rect.y;
  out.begin(rect.size());
  for (int row = plan_.first_row; row < plan_.end_row; ++row) {
    if (!reader_.read_row(row)) return false;
    transform(image, row);
    emit_rows(image, rect, row, y, out);
  }
  return true;
}

bool BaselineDecoder::prepare(const BaselineImage& image, int reduction, const Rect& rect) {
  if (!upsamples_alike(image, reduction)) return false;
  plan_ = plan_baseline(image, reduction, rect);
  if (!reader_.open(image, plan_)) return false;
  lay_out(image);
  if (image.components == 3 && (plan_.up_x == 2 || plan_.up_y == 2)) {
    const std::size_t samples = as_size(rect.width) + 4;
    for (AlignedBytes& row : chroma_rows_) row.reserve_discard(samples + 2 * kRowSlack);
    sums_.reserve_discard((samples + 2 * kRowSlack) * sizeof(std::uint16_t));
  }
  return true;
}

template <class Steps>
bool BaselineDecoder::or_clear(const Steps& steps) {
  try {
    if (steps()) return true;
  } catch (...) {
    reader_.clear();
    throw;
  }
  reader_.clear();
  return false;
}

bool BaselineDecoder::decode(const BaselineImage& image, int reduction, const Rect& rect, RowSink& out) {
  return or_clear([&] { return prepare(image, reduction, rect) && reader_.start() && decode_rows(image, rect, out); });
}

bool BaselineDecoder::decode_and_index(const BaselineImage& image, int reduction, const Rect& rect, ScanIndex& index,
                                       RowSink& out) {
  index.reset(image);
  return or_clear([&] {
    const bool ok = prepare(image, reduction, rect) && reader_.start_recording(index) && decode_rows(image, rect, out);
    if (!ok || !reader_.read_rest()) index.reset(image);
    return ok;
  });
}

bool BaselineDecoder::decode(const BaselineImage& image, int reduction, const Rect& rect, const ScanIndex& index,
                             RowSink& out) {
  return or_clear([&] {
    if (!prepare(image, reduction, rect)) return false;
    reader_.start_with_index(index);
    return decode_rows(image, rect, out);
  });
}

}  // namespace unstarve
