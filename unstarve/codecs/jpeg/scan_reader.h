#pragma once
// Reads a baseline scan as rows of coefficients, one row of MCUs at a time, with or without a scan index.
//
//   scan ──EntropyBytes──▶ bits ──EntropyDecoder──▶ CoefficientRow per component
//
// Reads the rows of a plan (layout/baseline_plan.h). The MCUs before them are skipped, from the scan's start or from
// the points of an index (index/scan_index.h). With an index and without restart markers, two rows are read at a time,
// because they are independent of each other (entropy/entropy_blocks.h).
//
// Use: open(); start(), start_recording() or start_with_index(); read_row() for plan.first_row .. plan.end_row - 1 in
// order, and after each call the blocks() of that row.
//
// Ownership: borrows image and index until the last call; owns its scratch memory and allocates nothing after the
//            largest image. Threads: one at a time.
// Failure:   false for invalid data (entropy/entropy_decoder.h) and for a wrong point of the index; std::bad_alloc from
//            start*(). After a failure, or if reading stops before the plan's last row, call clear() before open().

#include <array>
#include <cstdint>
#include <optional>

#include "unstarve/codecs/jpeg/entropy/entropy_bytes.h"
#include "unstarve/codecs/jpeg/entropy/entropy_decoder.h"
#include "unstarve/codecs/jpeg/entropy/huffman_table.h"
#include "unstarve/codecs/jpeg/entropy/mcu_row.h"
#include "unstarve/codecs/jpeg/index/scan_index.h"
#include "unstarve/codecs/jpeg/layout/baseline_image.h"
#include "unstarve/codecs/jpeg/layout/baseline_plan.h"
#include "unstarve/codecs/jpeg/layout/coefficients.h"

namespace unstarve {

class ScanReader {
 public:
  // For tests and fuzzing, before the first open(): whether tables have entries of two symbols. By default, only the
  // tables of long scans do. Does not change the result.
  void use_pairs(bool use) { tables_.pairs = use; }

  // False if the file's Huffman tables are invalid.
  [[nodiscard]] bool open(const BaselineImage& image, const BaselinePlan& plan);

  // Starts at the scan's start and skips the rows above plan.first_row.
  [[nodiscard]] bool start();
  // Like start(), and adds each point that is passed to `index`, which is complete after read_rest().
  [[nodiscard]] bool start_recording(ScanIndex& index);
  // Starts each row at the point before plan.first_column. `index` belongs to this image and is complete. An error in
  // a row may be reported by read_row() of the row before it, which then counts as not read.
  void start_with_index(const ScanIndex& index);

  // Decodes MCUs plan.first_column .. plan.end_column - 1 of a row into blocks(), all of which must be zero. The
  // image's last row is read up to the end-of-image marker; with an index, every row is read to a point.
  [[nodiscard]] bool read_row(int row);
  // After the plan's last row: reads the rest of the scan.
  [[nodiscard]] bool read_rest();

  // The decoded blocks of the last MCU row: those of one row of blocks of a component (0 <= row < its vertical sampling
  // factor), from left to right.
  [[nodiscard]] CoefficientRow& blocks(int component, int row) {
    return row_->blocks[static_cast<std::size_t>(component)][static_cast<std::size_t>(row)];
  }
  // MCUs of this image read so far, decoded or skipped.
  [[nodiscard]] std::uint64_t mcus_read() const { return mcus_read_; }

  // Zeroes all blocks.
  void clear();

 private:
  // The file's Huffman tables.
  struct Tables {
    std::array<HuffmanTable, 4> dc;
    std::array<HuffmanTable, 4> ac;
    std::optional<bool> pairs;  // set by use_pairs()
    // False if they are invalid.
    [[nodiscard]] bool build(const BaselineImage& image);
  };
  // The state of reading one row of MCUs.
  struct Row {
    EntropyBytes bytes;
    ScanPositions positions;  // of `bytes` in the file
    EntropyDecoder entropy;
    std::array<std::array<CoefficientRow, 2>, 3> blocks;
  };

  // Prepares `mcus_` and the rows of blocks for one row at a time, or two.
  void lay_out(bool two);
  bool skip_to_plan();
  bool read_by_index(int row);
  bool read_two_by_index(int row);
  // The MCU at which reading a row by the index starts.
  struct Begin {
    int row = 0;
    int column = 0;  // a multiple of ScanIndex::kStep
  };
  [[nodiscard]] Begin begin_of(int row) const;
  // The column up to which a row is read: that of a point, or the end of the image's last row.
  [[nodiscard]] int end_of(int row) const;
  // Starts at `begin` with the bytes up to point (row, end_of(row)). False if a required restart marker is missing.
  bool start_at(Row& reading, Begin begin, int row);
  // Prefetches the start of a later row into the cache.
  void fetch(int row) const;
  // Decodes or skips columns [from, to) of a row and handles the points in between.
  bool advance(Row& reading, int row, int from, int to, bool decode);
  // The same for this row and the next one together, in `rows_`.
  bool advance_two(int row, int from, int to, bool decode);
  // The next column after `from` with a point to compare or record. Without restart markers, which reset DC, the last
  // point of a row verifies everything before it.
  [[nodiscard]] int next_point(int row, int from) const;
  // Compares or records the point at `column`; false if it is wrong.
  bool pass_point(Row& reading, int row, int column);

  const BaselineImage* image_ = nullptr;
  BaselinePlan plan_;
  Tables tables_;
  McuRow mcus_;
  std::array<Row, 2> rows_;
  Row* row_ = &rows_[0];  // the one read last
  bool two_ = false;      // rows are read two at a time
  int next_row_ = -1;     // the row that rows_[1] already contains, or -1
  std::uint64_t mcus_read_ = 0;
  // The index that points are compared with, or added to.
  const ScanIndex* expected_ = nullptr;
  ScanIndex* recorded_ = nullptr;
};

}  // namespace unstarve
