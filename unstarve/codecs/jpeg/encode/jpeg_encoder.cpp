#include "unstarve/codecs/jpeg/encode/jpeg_encoder.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/codecs/common/rows.h"
#include "unstarve/codecs/jpeg/encode/byte_stuffing.h"
#include "unstarve/codecs/jpeg/encode/forward_dct.h"
#include "unstarve/codecs/jpeg/encode/jpeg_header.h"
#include "unstarve/codecs/jpeg/encode/sampling.h"
#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr int kBlock = 8;
// Rows of samples_: luma of one MCU row, then Cb and Cr, then two of each before averaging.
constexpr int kLumaRows = 2 * kBlock;
constexpr int kSampleRows = kLumaRows + 2 * kBlock + 2 * 2;

int divided_up(int value, int divisor) { return (value + divisor - 1) / divisor; }

void check(PixelView pixels, int quality) {
  if (pixels.width <= 0 || pixels.height <= 0 || pixels.width > kMaxSide || pixels.height > kMaxSide) {
    throw Error(ErrorKind::kArgument, "encode JPEG: image of " + std::to_string(pixels.width) + " x " +
                                          std::to_string(pixels.height) + ", expected 1 to " +
                                          std::to_string(kMaxSide) + " per side");
  }
  if (quality < 1 || quality > 100) {
    throw Error(ErrorKind::kArgument, "encode JPEG: quality " + std::to_string(quality) + ", expected 1 to 100");
  }
}

}  // namespace

void JpegEncoder::encode(PixelView pixels, int quality, ChromaSampling sampling, std::vector<std::uint8_t>& out) {
  check(pixels, quality);
  prepare(pixels.size(), quality, sampling);
  out.clear();
  append_jpeg_header({size_, horizontal_, vertical_, luminance_, chrominance_}, out);
  entropy_.begin();
  const int mcu_rows = divided_up(size_.height, vertical_ * kBlock);
  for (int mcu_row = 0; mcu_row < mcu_rows; ++mcu_row) {
    sample(pixels, mcu_row);
    transform(mcu_row);
    append_bits(mcu_row, out);
  }
  std::uint8_t last = 0;
  if (entropy_.finish(&last) > 0) {
    out.push_back(last);
    if (last == 0xFF) out.push_back(0);
  }
  out.insert(out.end(), {0xFF, 0xD9});  // EOI
}

void JpegEncoder::prepare(Size size, int quality, ChromaSampling sampling) {
  size_ = size;
  horizontal_ = sampling == ChromaSampling::k444 ? 1 : 2;
  vertical_ = sampling == ChromaSampling::k420 ? 2 : 1;
  if (quality != quality_) {
    luminance_ = quantisation_table(false, quality);
    chrominance_ = quantisation_table(true, quality);
    luma_ = make_quantiser(luminance_);
    chroma_ = make_quantiser(chrominance_);
    quality_ = quality;
  }
  const auto width = static_cast<std::size_t>(size.width);
  stride_ = padded_samples(width);
  if (stride_ % (2 * kSampleStep) == 0) stride_ += kSampleStep;  // rows a power of two apart share cache sets
  samples_.reserve_discard(kSampleRows * stride_);
  pixel_row_.reserve_discard(3 * width);
  const int luma_blocks = divided_up(size.width, kBlock);
  const int chroma_blocks = divided_up(size.width, kBlock * horizontal_);
  for (std::size_t i = 0; i < 4; ++i)
    coefficients_[i].resize(static_cast<std::size_t>(i < 2 ? luma_blocks : chroma_blocks));
  const int blocks = chroma_blocks * (horizontal_ * vertical_ + 2);
  bits_.reserve_discard(static_cast<std::size_t>(blocks) * EntropyEncoder::kBlockBytes + EntropyEncoder::kSlack);
}

std::uint8_t* JpegEncoder::plane(int component) {
  const int row = component == 0 ? 0 : kLumaRows + (component - 1) * kBlock;
  return samples_.data() + static_cast<std::size_t>(row) * stride_;
}

void JpegEncoder::sample(PixelView pixels, int mcu_row) {
  const auto width = static_cast<std::size_t>(size_.width);
  const std::size_t padded = padded_samples(width);
  std::uint8_t* whole = plane(3);  // chroma of one or two rows of pixels
  for (int group = 0; group < kBlock; ++group) {
    const auto at = static_cast<std::size_t>(group) * stride_;
    std::uint8_t* luma = plane(0) + static_cast<std::size_t>(vertical_) * at;
    std::uint8_t* cb = plane(1) + at;
    std::uint8_t* cr = plane(2) + at;
    const int y = (mcu_row * kBlock + group) * vertical_;
    if (y >= size_.height) {  // below the image: its last samples again
      for (int i = 0; i < vertical_; ++i) {
        std::memcpy(luma + static_cast<std::size_t>(i) * stride_, luma - stride_, padded);
      }
      std::memcpy(cb, cb - stride_, padded);
      std::memcpy(cr, cr - stride_, padded);
      continue;
    }
    for (int i = 0; i < vertical_; ++i) {
      const auto down = static_cast<std::size_t>(i) * stride_;
      const std::uint8_t* rgb = interleaved_row(pixels, std::min(y + i, size_.height - 1), pixel_row_.data());
      if (horizontal_ == 1) {
        rgb_to_ycc(rgb, width, luma, cb, cr);
      } else {
        rgb_to_ycc(rgb, width, luma + down, whole + down, whole + 2 * stride_ + down);
      }
    }
    if (vertical_ == 2) {
      average_2x2(whole, whole + stride_, padded, cb);
      average_2x2(whole + 2 * stride_, whole + 3 * stride_, padded, cr);
    } else if (horizontal_ == 2) {
      average_2x1(whole, padded, cb);
      average_2x1(whole + 2 * stride_, padded, cr);
    }
  }
}

void JpegEncoder::transform(int mcu_row) {
  const auto stride = static_cast<std::ptrdiff_t>(stride_);
  forward_dct(plane(0), stride, luma_, coefficients_[0]);
  if (vertical_ == 2 && (2 * mcu_row + 1) * kBlock < size_.height) {
    forward_dct(plane(0) + kBlock * stride, stride, luma_, coefficients_[1]);
  }
  forward_dct(plane(1), stride, chroma_, coefficients_[2]);
  forward_dct(plane(2), stride, chroma_, coefficients_[3]);
}

void JpegEncoder::append_bits(int mcu_row, std::vector<std::uint8_t>& out) {
  const auto mcus = static_cast<std::size_t>(divided_up(size_.width, horizontal_ * kBlock));
  McuRowBlocks row;
  row[0].rows = {&coefficients_[0], &coefficients_[1]};
  row[0].horizontal = static_cast<std::size_t>(horizontal_);
  row[0].vertical = static_cast<std::size_t>(vertical_);
  row[0].blocks = static_cast<std::size_t>(divided_up(size_.width, kBlock));
  row[0].block_rows = static_cast<std::size_t>(divided_up(size_.height, kBlock) - mcu_row * vertical_);
  for (std::size_t i = 1; i < 3; ++i) row[i] = {{&coefficients_[i + 1], nullptr}, 1, 1, mcus, 1};
  const std::size_t bytes = entropy_.append(row, mcus, bits_.data());
  const std::size_t before = out.size();
  out.resize(before + 2 * bytes + kStuffingSlack);
  out.resize(before + stuff_bytes(bits_.data(), bytes, out.data() + before));
}

std::vector<std::uint8_t> encode_jpeg(PixelView pixels, int quality, ChromaSampling sampling) {
  JpegEncoder encoder;
  std::vector<std::uint8_t> out;
  encoder.encode(pixels, quality, sampling, out);
  out.shrink_to_fit();
  return out;
}

}  // namespace unstarve
