#include "unstarve/codecs/testing/jpeg_samples.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <jpeglib.h>

#include "unstarve/codecs/common/guarded_call.h"
#include "unstarve/codecs/jpeg/libjpeg/jpeg_errors.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

struct SampleSession {
  JpegFailure failure{};
  jpeg_compress_struct cinfo{};
  const JpegSample* sample = nullptr;
  Size size;
  int components = 3;
  std::uint8_t* pixels = nullptr;
  unsigned char* bytes = nullptr;
  unsigned long byte_count = 0;
  std::array<jpeg_scan_info, 4> scans{};  // libjpeg borrows them
};

// Copies the standard's tables, which libjpeg sets as 0 and 1, to other numbers.
void move_tables(jpeg_compress_struct& cinfo, int first) {
  const auto common = reinterpret_cast<j_common_ptr>(&cinfo);
  for (int i = 0; i < 2; ++i) {
    for (JHUFF_TBL** const tables : {cinfo.dc_huff_tbl_ptrs, cinfo.ac_huff_tbl_ptrs}) {
      tables[first + i] = jpeg_alloc_huff_table(common);
      *tables[first + i] = *tables[i];
    }
    cinfo.quant_tbl_ptrs[first + i] = jpeg_alloc_quant_table(common);
    *cinfo.quant_tbl_ptrs[first + i] = *cinfo.quant_tbl_ptrs[i];
  }
  for (int i = 0; i < cinfo.num_components; ++i) {
    jpeg_component_info& component = cinfo.comp_info[i];
    component.dc_tbl_no += first;
    component.ac_tbl_no += first;
    component.quant_tbl_no += first;
  }
}

void widen_quantisers(jpeg_compress_struct& cinfo) {
  for (JQUANT_TBL* const table : cinfo.quant_tbl_ptrs)
    if (table != nullptr) table->quantval[DCTSIZE2 - 1] = std::max<UINT16>(table->quantval[DCTSIZE2 - 1], 256);
}

void scan_each(SampleSession& session) {
  for (int i = 0; i < session.cinfo.num_components; ++i) {
    jpeg_scan_info& scan = session.scans[static_cast<std::size_t>(i)];
    scan.comps_in_scan = 1;
    scan.component_index[0] = i;
    scan.Se = DCTSIZE2 - 1;
  }
  session.cinfo.scan_info = session.scans.data();
  session.cinfo.num_scans = session.cinfo.num_components;
}

void write_step(void* context) {
  auto& session = *static_cast<SampleSession*>(context);
  const JpegSample& sample = *session.sample;
  jpeg_compress_struct& cinfo = session.cinfo;
  jpeg_create_compress(&cinfo);
  jpeg_mem_dest(&cinfo, &session.bytes, &session.byte_count);
  cinfo.image_width = static_cast<JDIMENSION>(session.size.width);
  cinfo.image_height = static_cast<JDIMENSION>(session.size.height);
  cinfo.input_components = session.components;
  const bool four = session.components == 4;
  cinfo.in_color_space = four ? JCS_CMYK : session.components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&cinfo);
  if (sample.colour == SampleColour::kRgb) jpeg_set_colorspace(&cinfo, JCS_RGB);
  if (sample.colour == SampleColour::kYcck) jpeg_set_colorspace(&cinfo, JCS_YCCK);
  jpeg_set_quality(&cinfo, sample.quality, sample.wide_quantisers ? FALSE : TRUE);
  if (sample.wide_quantisers) widen_quantisers(cinfo);
  if (sample.first_table > 0) move_tables(cinfo, sample.first_table);
  for (int i = 0; i < cinfo.num_components; ++i) {
    const bool full = i == 0 || i == 3;
    cinfo.comp_info[i].h_samp_factor = full ? sample.horizontal : 1;
    cinfo.comp_info[i].v_samp_factor = full ? sample.vertical : 1;
  }
  cinfo.restart_interval = static_cast<unsigned>(sample.restart_interval);
  cinfo.arith_code = sample.arithmetic ? TRUE : FALSE;
  cinfo.optimize_coding = sample.optimised ? TRUE : FALSE;
  if (sample.progressive) jpeg_simple_progression(&cinfo);
  if (!sample.interleaved) scan_each(session);
  jpeg_start_compress(&cinfo, TRUE);
  for (int y = 0; y < session.size.height; ++y) {
    JSAMPROW row = session.pixels + static_cast<std::size_t>(y) * session.size.width * session.components;
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
}

}  // namespace

Image sample_image(Size size, std::uint32_t seed) {
  Image image(size);
  Random random(seed, 0, 0, 0);
  const double angle = random.uniform(0.0, 6.28);
  const double period = random.uniform(3.0, 40.0);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const double wave = std::sin((x * std::cos(angle) + y * std::sin(angle)) / period);
      for (int c = 0; c < kChannels; ++c) {
        const double edge = ((x / 7 + y / 5 + c) % 3) * 40.0;
        const double value = 70.0 + 60.0 * wave * (c - 1) + edge + random.uniform(0.0, 60.0);
        image.row(y)[x * kChannels + c] = static_cast<std::uint8_t>(std::fmin(255.0, std::fmax(0.0, value)));
      }
    }
  }
  return image;
}

std::vector<JpegSample> all_jpeg_samples() {
  using enum SampleColour;
  std::vector<JpegSample> samples{
      {"4:4:4", 1, 1},
      {"4:2:2", 2, 1},
      {"4:2:0", 2, 2},
      {"4:4:0", 1, 2},
      {"4:1:1", 4, 1},
      {"4:1:0", 4, 2},
      {"1x4", 1, 4},
      {"grey", 1, 1, kGrey},
      {"grey with 2x2 sampling", 2, 2, kGrey},
      {"RGB", 1, 1, kRgb},
      {"CMYK", 1, 1, kCmyk},
      {"YCCK 4:2:0", 2, 2, kYcck},
      {"YCCK 4:4:4", 1, 1, kYcck},
      {"progressive 4:4:4", 1, 1, kYcc, true},
      {"progressive 4:2:0", 2, 2, kYcc, true},
      {"progressive 4:2:2", 2, 1, kYcc, true},
      {"progressive 4:4:0", 1, 2, kYcc, true},
      {"progressive grey", 1, 1, kGrey, true},
      {"progressive grey with 2x2 sampling", 2, 2, kGrey, true},
      {"4:2:0 with restarts", 2, 2, kYcc, false, false, 3},
      {"4:4:4 with restarts", 1, 1, kYcc, false, false, 1},
      {"progressive 4:2:0 with restarts", 2, 2, kYcc, true, false, 5},
      {"arithmetic 4:2:0", 2, 2, kYcc, false, true},
      {"progressive arithmetic 4:2:0", 2, 2, kYcc, true, true},
  };
  for (JpegSample sample : {JpegSample{"4:4:4", 1, 1}, JpegSample{"4:2:0", 2, 2}, JpegSample{"4:2:2", 2, 1},
                            JpegSample{"4:2:0 with restarts", 2, 2, kYcc, false, false, 3}}) {
    const std::string name = sample.name;
    sample.name = name + ", not interleaved";
    sample.interleaved = false;
    samples.push_back(sample);
    sample.name = name + ", tables 2 and 3";
    sample.interleaved = true;
    sample.first_table = 2;
    samples.push_back(sample);
    sample.name = name + ", 16-bit quantisers";
    sample.first_table = 0;
    sample.wide_quantisers = true;
    samples.push_back(sample);
  }
  return samples;
}

std::vector<std::uint8_t> make_jpeg(const Image& image, const JpegSample& sample) {
  SampleSession session;
  session.cinfo.err = install(session.failure);
  session.sample = &sample;
  session.size = image.size();
  std::vector<std::uint8_t> pixels(image.data(), image.data() + image.bytes());
  const std::size_t count = pixels.size() / kChannels;
  if (sample.colour == SampleColour::kGrey) {
    session.components = 1;
    for (std::size_t i = 0; i < count; ++i) pixels[i] = pixels[i * kChannels + 1];
  } else if (sample.colour == SampleColour::kCmyk || sample.colour == SampleColour::kYcck) {
    session.components = 4;
    pixels.resize(count * 4);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t* rgb = image.data() + i * kChannels;
      std::memcpy(&pixels[i * 4], rgb, kChannels);
      pixels[i * 4 + 3] = static_cast<std::uint8_t>(255 - rgb[2] / 2);
    }
  }
  session.pixels = pixels.data();
  const bool done = guarded_call(session.failure.jump, write_step, &session);
  std::vector<std::uint8_t> result(session.bytes, session.bytes + session.byte_count);
  jpeg_destroy_compress(&session.cinfo);
  std::free(session.bytes);
  if (!done) throw jpeg_error(session.failure, "sample " + sample.name);
  return result;
}

std::vector<std::uint8_t> with_orientation(std::vector<std::uint8_t> jpeg, int orientation, bool big_endian) {
  std::vector<std::uint8_t> segment = {0xFF, 0xE1, 0, 0, 'E', 'x', 'i', 'f', 0, 0};
  const auto put = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      const int shift = 8 * (big_endian ? bytes - 1 - i : i);
      segment.push_back(static_cast<std::uint8_t>(value >> shift));
    }
  };
  const std::uint8_t order = big_endian ? 'M' : 'I';
  segment.insert(segment.end(), {order, order});
  put(42, 2);
  put(8, 4);
  put(2, 2);  // two entries, orientation second
  put(0x0100, 2), put(4, 2), put(1, 4), put(77, 4);
  put(0x0112, 2), put(3, 2), put(1, 4), put(static_cast<std::uint32_t>(orientation), 2), put(0, 2);
  put(0, 4);
  segment[3] = static_cast<std::uint8_t>(segment.size() - 2);
  jpeg.insert(jpeg.begin() + 2, segment.begin(), segment.end());
  return jpeg;
}

namespace {

struct Segment {
  std::uint8_t marker = 0;
  std::size_t begin = 0;  // of its FF
  std::size_t end = 0;
};

// All segments of a file from its start, scans without their data.
std::vector<Segment> segments_of(const std::vector<std::uint8_t>& jpeg) {
  std::vector<Segment> segments;
  for (std::size_t at = 2; at + 4 <= jpeg.size() && jpeg[at] == 0xFF && jpeg[at + 1] != 0xD9;) {
    const std::size_t end = at + 2 + (static_cast<std::size_t>(jpeg[at + 2]) << 8 | jpeg[at + 3]);
    segments.push_back({jpeg[at + 1], at, end});
    at = end;
    if (segments.back().marker != 0xDA) continue;
    // Entropy-coded data: up to a marker that is neither stuffing nor a restart.
    while (at + 1 < jpeg.size() && (jpeg[at] != 0xFF || jpeg[at + 1] == 0 || (jpeg[at + 1] & 0xF8) == 0xD0)) ++at;
  }
  return segments;
}

}  // namespace

std::vector<std::uint8_t> with_frame(std::vector<std::uint8_t> jpeg, std::uint8_t marker) {
  for (const Segment& segment : segments_of(jpeg))
    if (segment.marker >= 0xC0 && segment.marker <= 0xC2) jpeg[segment.begin + 1] = marker;
  return jpeg;
}

std::vector<std::uint8_t> with_quantisers_times(const std::vector<std::uint8_t>& jpeg, unsigned factor) {
  std::vector<std::uint8_t> wide;
  std::size_t copied = 0;
  for (const Segment& segment : segments_of(jpeg)) {
    if (segment.marker != 0xDB) continue;
    const auto byte = [&jpeg](std::size_t at) { return jpeg.begin() + static_cast<std::ptrdiff_t>(at); };
    wide.insert(wide.end(), byte(copied), byte(segment.begin));
    copied = segment.end;
    for (std::size_t table = segment.begin + 4; table < segment.end; table += 1 + DCTSIZE2) {
      constexpr std::uint8_t kLength = 2 + 1 + 2 * DCTSIZE2;
      wide.insert(wide.end(), {0xFF, 0xDB, 0, kLength, static_cast<std::uint8_t>(jpeg[table] | 0x10)});
      for (std::size_t i = 1; i <= DCTSIZE2; ++i) {
        const unsigned value = jpeg[table + i] * factor;
        wide.insert(wide.end(), {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)});
      }
    }
  }
  wide.insert(wide.end(), jpeg.begin() + static_cast<std::ptrdiff_t>(copied), jpeg.end());
  return wide;
}

std::vector<std::size_t> scan_starts(const std::vector<std::uint8_t>& jpeg) {
  std::vector<std::size_t> starts;
  std::size_t begin = 2;
  const std::vector<Segment> segments = segments_of(jpeg);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].marker != 0xDA) continue;
    starts.push_back(begin);
    if (i + 1 < segments.size()) begin = segments[i + 1].begin;
  }
  return starts;
}

Image crop_of(const Image& image, Rect rect) {
  Image crop(rect.size());
  for (int y = 0; y < rect.height; ++y) {
    std::memcpy(crop.row(y), image.row(rect.y + y) + rect.x * kChannels, crop.row_bytes());
  }
  return crop;
}

bool same_pixels(const Image& a, const Image& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

TEST_CASE("a progressive sample has several scans, a sequential sample has one", "[codecs]") {
  const Image image = sample_image({40, 30}, 1);
  CHECK(scan_starts(make_jpeg(image, {})).size() == 1);
  CHECK(scan_starts(make_jpeg(image, {"progressive", 2, 2, SampleColour::kYcc, true})).size() > 5);
  JpegSample apart;
  apart.interleaved = false;
  CHECK(scan_starts(make_jpeg(image, apart)).size() == 3);
}

TEST_CASE("rare samples have the frame and the tables that their names state", "[codecs]") {
  // Each segment's marker; for tables also their precision or class, and number.
  const auto heads = [](const std::vector<std::uint8_t>& jpeg) {
    std::vector<int> found;
    for (const Segment& segment : segments_of(jpeg)) {
      const bool table = segment.marker == 0xDB || segment.marker == 0xC4;
      found.push_back(segment.marker << 8 | (table ? jpeg[segment.begin + 4] : 0));
    }
    return found;
  };
  const Image image = sample_image({40, 30}, 1);
  JpegSample sample;
  const std::vector<int> baseline{0xE000, 0xDB00, 0xDB01, 0xC000, 0xC400, 0xC410, 0xC401, 0xC411, 0xDA00};
  CHECK(heads(make_jpeg(image, sample)) == baseline);
  std::vector<int> extended = baseline;
  extended[3] = 0xC100;
  CHECK(heads(with_frame(make_jpeg(image, sample), 0xC1)) == extended);
  sample.first_table = 2;
  CHECK(heads(make_jpeg(image, sample)) ==
        std::vector<int>{0xE000, 0xDB02, 0xDB03, 0xC100, 0xC402, 0xC412, 0xC403, 0xC413, 0xDA00});
  sample.first_table = 0;
  extended[1] = 0xDB10;
  extended[2] = 0xDB11;
  CHECK(heads(with_frame(with_quantisers_times(make_jpeg(image, sample), 3), 0xC1)) == extended);
  sample.wide_quantisers = true;
  for (const int quality : {1, 60, 100}) {
    sample.quality = quality;
    CHECK(heads(make_jpeg(image, sample)) == extended);
  }
}

}  // namespace unstarve
