#pragma once
// The fast path for JPEG: our own decoder for baseline files (see baseline_image.h for which), bit-equal to
// libjpeg-turbo's accurate IDCT with fancy upsampling, at full size and reduced to 1/2, 1/4 and 1/8.
//
//   scan ──ScanReader──▶ CoefficientRow ──inverse_dct──▶ sample rows ──colour──▶ RGB rows
//
// An MCU row at a time, so that everything between the file and the output stays in the cache; of each component only
// two rows of MCUs exist.
//
// What makes it faster than a general decoder: no work but bit counting outside of the crop (see entropy_decoder.h) and
// none at all with an index of the scan (scan_index.h), one table look-up per symbol, no stuffed bytes in the inner
// loop, and no state machine that can stop at every byte.
//
// Ownership: keeps its scratch; after the largest image it allocates nothing. Threads: one at a time.
// Failure:   decode() returns false, with `out` undefined, for data that it takes to be damaged. It never accepts data
//            that libjpeg-turbo would refuse or warn about up to the crop's last row of MCUs; the other way round
//            happens (stray bytes before a marker), so the caller then asks libjpeg-turbo. With an index, what lies
//            before the crop's MCUs is not decoded: the index was made of a file that was right, and is of these very
//            bytes (ScanIndex::read()).

#include <array>
#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/common/row_sink.h"
#include "unstarve/codecs/jpeg/index/scan_index.h"
#include "unstarve/codecs/jpeg/layout/baseline_image.h"
#include "unstarve/codecs/jpeg/layout/baseline_plan.h"
#include "unstarve/codecs/jpeg/scan_reader.h"
#include "unstarve/core/aligned.h"
#include "unstarve/core/image.h"

namespace unstarve {

class BaselineDecoder {
 public:
  // For tests and fuzzing (ScanReader::use_pairs()).
  void use_pairs(bool use) { reader_.use_pairs(use); }
  // Of the image decoded last (ScanReader::mcus_read()).
  [[nodiscard]] std::uint64_t mcus_read() const { return reader_.mcus_read(); }

  // `rect`: pixels of the stored image reduced by `reduction` (1, 2, 4, 8), not empty, inside of it. `out`
  // gets its rows: all of them where the answer is true.
  [[nodiscard]] bool decode(const BaselineImage& image, int reduction, const Rect& rect, RowSink& out);
  // The same by an index of this image, reading only what the crop needs; false also when a point of it is wrong.
  [[nodiscard]] bool decode(const BaselineImage& image, int reduction, const Rect& rect, const ScanIndex& index,
                            RowSink& out);
  // The same as the first, reading on to the end of the image; `index` is complete() afterwards unless the scan is
  // damaged somewhere, which does not make the crop fail but where a restart marker is missing right behind it.
  [[nodiscard]] bool decode_and_index(const BaselineImage& image, int reduction, const Rect& rect, ScanIndex& index,
                                      RowSink& out);

 private:
  // One component: a ring of sample rows.
  struct Plane {
    int horizontal = 1;  // sampling factors
    int vertical = 1;
    int block = 8;  // samples of a block's side
    AlignedBytes samples;
    std::size_t stride = 0;
    int ring_rows = 0;
    int first_sample = 0;  // the column of the image's samples that column 0 of the rows holds
    int width = 0;         // samples of the whole image
    int height = 0;

    [[nodiscard]] std::uint8_t* row(int y);
  };

  [[nodiscard]] bool prepare(const BaselineImage& image, int reduction, const Rect& rect);
  void lay_out(const BaselineImage& image);
  // Runs `steps` and, where they fail or throw, clears what that leaves in the rows of coefficients.
  template <class Steps>
  bool or_clear(const Steps& steps);
  // The rows of the plan, once the reader has started.
  bool decode_rows(const BaselineImage& image, const Rect& rect, RowSink& out);
  // Pixels of the crop up to where the row of MCUs, just decoded, allows.
  void emit_rows(const BaselineImage& image, const Rect& rect, int row, int& y, RowSink& out);
  void transform(const BaselineImage& image, int mcu_row);
  void repeat_edges(Plane& plane, int y);
  void emit(const BaselineImage& image, const Rect& rect, int y, std::uint8_t* rgb);
  const std::uint8_t* upsampled(const Rect& rect, Plane& plane, int y, AlignedBytes& row);

  BaselinePlan plan_;
  ScanReader reader_;
  std::array<Plane, 3> planes_;
  std::array<AlignedBytes, 2> chroma_rows_;
  AlignedBytes sums_;
};

}  // namespace unstarve
