// Compares rows of coefficients read by an index with those of the whole scan. Each row, also the second of two that
// are read together, is compared with its points and the end of the image.
#include "unstarve/codecs/jpeg/scan_reader.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdio>  // for jpeglib.h
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <jpeglib.h>

#include "unstarve/codecs/jpeg/libjpeg/read_baseline.h"
#include "unstarve/codecs/testing/jpeg_samples.h"
#include "unstarve/core/memory/sanitizers.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

using Values = std::vector<std::int16_t>;

// A file and its header.
struct OpenJpeg {
  OpenJpeg(Size size, const JpegSample& sample, std::uint32_t seed)
      : bytes(make_jpeg(sample_image(size, seed), sample)) {
    jpeg_decompress_struct cinfo{};
    jpeg_error_mgr errors{};
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    jpeg_mem_src(&cinfo, bytes.data(), bytes.size());
    jpeg_read_header(&cinfo, TRUE);
    REQUIRE(read_baseline(cinfo, bytes, image));
    jpeg_destroy_decompress(&cinfo);
  }

  std::vector<std::uint8_t> bytes;
  BaselineImage image;
};

// Returns and zeroes the coefficients of the last row of all components.
Values take_row(ScanReader& reader, const BaselineImage& image) {
  Values all;
  for (int c = 0; c < image.components; ++c) {
    for (int y = 0; y < (c == 0 ? image.vertical : 1); ++y) {
      CoefficientRow& row = reader.blocks(c, y);
      const std::size_t count = row.blocks() * CoefficientRow::kBlockValues;
      all.insert(all.end(), row.block(0), row.block(0) + count);
      std::fill_n(row.block(0), count, std::int16_t{0});
    }
  }
  return all;
}

// All rows of the plan, read from the scan's start; builds `index` if it is not null.
std::vector<Values> read_all(ScanReader& reader, const BaselineImage& image, const BaselinePlan& plan,
                             ScanIndex* index = nullptr) {
  std::vector<Values> rows;
  REQUIRE(reader.open(image, plan));
  REQUIRE((index != nullptr ? reader.start_recording(*index) : reader.start()));
  for (int row = plan.first_row; row < plan.end_row; ++row) {
    REQUIRE(reader.read_row(row));
    rows.push_back(take_row(reader, image));
  }
  if (index != nullptr) REQUIRE(reader.read_rest());
  return rows;
}

// The same by an index; nothing if a row is wrong.
std::optional<std::vector<Values>> read_by(ScanReader& reader, const BaselineImage& image, const BaselinePlan& plan,
                                           const ScanIndex& index) {
  std::vector<Values> rows;
  REQUIRE(reader.open(image, plan));
  reader.start_with_index(index);
  for (int row = plan.first_row; row < plan.end_row; ++row) {
    if (!reader.read_row(row)) {
      reader.clear();
      return std::nullopt;
    }
    rows.push_back(take_row(reader, image));
  }
  return rows;
}

ScanIndex index_of(ScanReader& reader, const BaselineImage& image) {
  ScanIndex index;
  read_all(reader, image, plan_baseline(image), &index);
  REQUIRE(index.complete());
  return index;
}

std::vector<JpegSample> samples() {
  std::vector<JpegSample> samples;
  for (const int interval : {0, 5, 16}) {
    samples.push_back({"4:2:0", 2, 2, SampleColour::kYcc, false, false, interval, 95});
    samples.push_back({"4:4:4", 1, 1, SampleColour::kYcc, false, false, interval, 75});
    samples.push_back({"grey", 1, 1, SampleColour::kGrey, false, false, interval, 50});
  }
  return samples;
}

}  // namespace

TEST_CASE("rows read by an index equal those of the whole scan", "[codecs]") {
  const auto reader = std::make_unique<ScanReader>(), by_index = std::make_unique<ScanReader>();
  Random random(36, 0, 0, 0);
  const auto below = [&](int limit) { return static_cast<int>(random.below(static_cast<std::uint32_t>(limit))); };
  for (const JpegSample& sample : samples()) {
    // One to nine rows of MCUs, and an image whose rows need more than one list of blocks.
    for (int round = 0; round < 20; ++round) {
      const Size size{round == 0 ? 5000 : 1 + below(300), 1 + below(140)};
      const OpenJpeg file(size, sample, random.bits());
      const ScanIndex index = index_of(*reader, file.image);
      for (int i = 0; i < 6; ++i) {
        Rect rect{0, 0, size.width, size.height};
        if (i > 0) {
          rect.x = below(size.width);
          rect.y = below(size.height);
          rect.width = 1 + below(size.width - rect.x);
          rect.height = 1 + below(size.height - rect.y);
        }
        INFO(sample.name << ", restarts " << sample.restart_interval << ", " << size.width << " x " << size.height
                         << ": " << rect.width << " x " << rect.height << " at " << rect.x << ", " << rect.y);
        const BaselinePlan plan = plan_baseline(file.image, 1, rect);
        const auto rows = read_by(*by_index, file.image, plan, index);
        REQUIRE(rows);
        REQUIRE(*rows == read_all(*reader, file.image, plan));
      }
    }
  }
}

TEST_CASE("by an index two rows are read at a time, unless the scan has restart markers", "[codecs]") {
  const auto reader = std::make_unique<ScanReader>();
  for (const JpegSample& sample : samples()) {
    const OpenJpeg file({150, 72}, sample, 5);
    const ScanIndex index = index_of(*reader, file.image);
    const BaselinePlan plan = plan_baseline(file.image);
    INFO(sample.name << ", restarts " << sample.restart_interval);
    REQUIRE(reader->open(file.image, plan));
    reader->start_with_index(index);
    int before = 0;
    for (int row = 0; row < plan.rows; ++row) {
      REQUIRE(reader->read_row(row));
      take_row(*reader, file.image);
      // With restart markers, at most eight more MCUs from the previous point.
      const int read = static_cast<int>(reader->mcus_read()), own = plan.columns;
      if (sample.restart_interval > 0) {
        CHECK(read - before >= own);
        CHECK(read - before <= own + 2 * ScanIndex::kStep);
      } else {
        CHECK(read - before == (row % 2 == 1 ? 0 : row + 1 < plan.rows ? 2 * own : own));
      }
      before = read;
    }
  }
}

TEST_CASE("a reader that stopped between two rows is usable after clear()", "[codecs]") {
  const auto reader = std::make_unique<ScanReader>(), fresh = std::make_unique<ScanReader>();
  for (const JpegSample& sample : samples()) {
    const OpenJpeg left({300, 80}, sample, 6), file({200, 100}, sample, 7);
    const ScanIndex index = index_of(*fresh, file.image);
    REQUIRE(reader->open(left.image, plan_baseline(left.image)));
    const ScanIndex left_index = index_of(*fresh, left.image);
    reader->start_with_index(left_index);
    REQUIRE(reader->read_row(0));
    reader->clear();
    const BaselinePlan plan = plan_baseline(file.image);
    REQUIRE(read_by(*reader, file.image, plan, index) == read_all(*fresh, file.image, plan));
  }
}

TEST_CASE("a row of coefficients has no blocks if memory is exhausted", "[codecs]") {
  if (UNSTARVE_ASAN) return;  // ends the program instead
  CoefficientRow row;
  row.resize(8);
  row.block(7)[3] = 5;
  REQUIRE_THROWS_AS(row.resize(std::size_t{1} << 48), std::bad_alloc);
  REQUIRE(row.blocks() == 0);
  row.clear();
  row.resize(8);
  REQUIRE(std::all_of(row.block(0), row.block(8), [](std::int16_t value) { return value == 0; }));
}

TEST_CASE("a wrong point is detected in any row", "[codecs]") {
  const auto reader = std::make_unique<ScanReader>();
  for (const JpegSample& sample : samples()) {
    for (const int height : {64, 70}) {  // an even and an odd number of MCU rows
      const OpenJpeg file({150, height}, sample, 3);
      const ScanIndex index = index_of(*reader, file.image);
      const BaselinePlan plan = plan_baseline(file.image);
      std::vector<ScanPoint> points;
      for (int row = 0; row < plan.rows; ++row) {
        for (int column = 0; column < plan.columns; column += ScanIndex::kStep) points.push_back(index.at(row, column));
      }
      points.push_back(index.at(plan.rows - 1, plan.columns));
      for (std::size_t wrong = 1; wrong < points.size(); ++wrong) {
        // Points within a row, at which no reading starts, are compared only if there are restart markers.
        const bool first_of_row = wrong % ((points.size() - 1) / static_cast<std::size_t>(plan.rows)) == 0;
        if (sample.restart_interval == 0 && !first_of_row) continue;
        for (const bool dc : {false, true}) {
          ScanIndex forged;
          forged.reset(file.image);
          for (std::size_t i = 0; i < points.size(); ++i) {
            ScanPoint point = points[i];
            if (i == wrong) dc ? point.dc[0] += 8 : point.bit += 1;
            forged.add(point);
          }
          INFO(sample.name << ", restarts " << sample.restart_interval << ", point " << wrong << (dc ? " DC" : " bit"));
          REQUIRE_FALSE(read_by(*reader, file.image, plan, forged));
        }
      }
      REQUIRE(read_by(*reader, file.image, plan, index));
    }
  }
}

TEST_CASE("the last row read by an index must end before the end-of-image marker", "[codecs]") {
  const auto reader = std::make_unique<ScanReader>();
  for (const JpegSample& sample : samples()) {
    for (const int height : {16, 20, 40, 64}) {
      OpenJpeg file({150, height}, sample, 4);
      const ScanIndex index = index_of(*reader, file.image);
      const BaselinePlan plan = plan_baseline(file.image);
      INFO(sample.name << ", restarts " << sample.restart_interval << ", height " << height);
      REQUIRE(read_by(*reader, file.image, plan, index));
      REQUIRE(file.bytes.back() == 0xD9);
      file.bytes.back() = 0xD8;
      REQUIRE_FALSE(read_by(*reader, file.image, plan, index));
    }
  }
}

}  // namespace unstarve
