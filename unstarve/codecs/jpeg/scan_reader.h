#pragma once
// A baseline scan as rows of coefficients, row of MCUs by row of MCUs: tables, layout, entropy decoding, and the points
// of an index on the way.
//
//   scan ──EntropyBytes──▶ bits ──EntropyDecoder──▶ CoefficientRow per component
//
// The rows are those of a plan (baseline_plan.h). Everything before them is skipped, from the scan's start on or from
// the points of an index (scan_index.h). By an index two rows are read at once where no restart markers part the scan,
// since neither waits for the other (entropy_blocks.h).
//
// Use: open(); start(), start_recording() or start_by(); read_row() for plan.first_row .. plan.end_row - 1, in order,
// and after each the blocks() of its row.
//
// Ownership: borrows image and index until the last call; keeps its scratch, and after the largest image it allocates
//            nothing. Threads: one at a time.
// Failure:   false for data that cannot be right (see entropy_decoder.h) and for a point of the index that is wrong;
//            std::bad_alloc from start*(). After these, and after reading that stops before the plan's last row,
//            clear() before the next open().

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
  // For tests and fuzzing, before the first open(): whether tables have entries of two symbols. Otherwise those of
  // scans that are long enough for it to pay have them. What is decoded is the same.
  void use_pairs(bool use) { pairs_ = use; }

  // False when the file's Huffman tables are none.
  [[nodiscard]] bool open(const BaselineImage& image, const BaselinePlan& plan);

  // From the scan's start; reads all above plan.first_row.
  [[nodiscard]] bool start();
  // The same, and `index` gets each point that reading passes, all of them with read_on() behind the last row.
  [[nodiscard]] bool start_recording(ScanIndex& index);
  // Each row from the point before plan.first_column on. `index` is of this image and complete. A row that is wrong may
  // be told by the row before it, which then counts as not read either.
  void start_by(const ScanIndex& index);

  // MCUs plan.first_column .. plan.end_column - 1 of a row to blocks(), all of which are zero before. Where the plan
  // reaches down to the last row, that one is read up to the end-of-image marker; with an index, every row to a point.
  [[nodiscard]] bool read_row(int row);
  // Behind the plan's last row: the rest of the scan.
  [[nodiscard]] bool read_on();

  // The kept blocks, of the row read last, of one row of blocks of a component, 0 <= row < its vertical sampling
  // factor, from the left.
  [[nodiscard]] CoefficientRow& blocks(int component, int row) {
    return row_->blocks[static_cast<std::size_t>(component)][static_cast<std::size_t>(row)];
  }
  // Of this image so far, kept or skipped: what reading cost.
  [[nodiscard]] std::uint64_t mcus_read() const { return mcus_read_; }

  // Zeroes all blocks.
  void clear();

 private:
  // A row of MCUs while it is read: from which bytes, and to where.
  struct Row {
    EntropyBytes bytes;
    ScanPositions positions;  // where `bytes` lie in the file
    EntropyDecoder entropy;
    std::array<std::array<CoefficientRow, 2>, 3> blocks;
  };

  bool build_tables();
  // For one row at a time, or two.
  void lay_out(bool two);
  bool skip_to_plan();
  bool read_by_index(int row);
  bool read_two_by_index(int row);
  // The MCU from which on a row is read by the index.
  struct Begin {
    int row = 0;
    int column = 0;  // a multiple of ScanIndex::kStep
  };
  [[nodiscard]] Begin begin_of(int row) const;
  // Up to which column a row is read: to a point, or to the image's end where the plan reaches there.
  [[nodiscard]] int end_of(int row) const;
  // Begins there, with the bytes up to point (row, end_of(row)). False when the file has no restart marker where one
  // has to be.
  bool start_at(Row& reading, Begin begin, int row);
  // Gets the beginning of a row that comes later into the cache.
  void fetch(int row) const;
  // Columns [from, to) of a row, kept or skipped, with a look at points on the way.
  bool advance(Row& reading, int row, int from, int to, bool keep);
  // The same of this row and the next at once, in `rows_`.
  bool advance_two(int row, int from, int to, bool keep);
  // The next column behind `from` where to look. Where no restart marker makes DC 0, the last point of a row tells that
  // all before it is right.
  [[nodiscard]] int next_look(int row, int from) const;
  bool look(Row& reading, int row, int column);

  const BaselineImage* image_ = nullptr;
  BaselinePlan plan_;
  std::optional<bool> pairs_;
  std::array<HuffmanTable, 4> dc_;
  std::array<HuffmanTable, 4> ac_;
  McuRow mcus_;
  std::array<Row, 2> rows_;
  Row* row_ = &rows_[0];  // the one read last
  bool two_ = false;      // rows are read two at once
  int ahead_ = -1;        // the row that rows_[1] holds already, or -1
  std::uint64_t mcus_read_ = 0;
  // What points are compared with or added to.
  const ScanIndex* expected_ = nullptr;
  ScanIndex* recorded_ = nullptr;
};

}  // namespace unstarve
