#pragma once
// Our own JPEG decoder for baseline files (layout/baseline_image.h): the fast path. Bit-equal to libjpeg-turbo's
// accurate IDCT with fancy upsampling, at full size and reduced to 1/2, 1/4 and 1/8.
//
//   scan ──ScanReader──▶ CoefficientRow ──inverse_dct──▶ sample rows ──colour──▶ RGB rows
//
// It decodes one MCU row at a time, so that all intermediate data stays in the cache; per component it stores only two
// rows of MCUs.
//
// It is faster than a general decoder because it only counts bits outside of the crop (entropy/entropy_decoder.h), or
// skips these bytes with a scan index (index/scan_index.h), needs one table look-up per symbol, removes stuffed bytes
// before the inner loop, and has no state machine that can suspend at every byte.
//
// Ownership: owns its scratch memory; after the largest image it allocates nothing. Threads: one at a time.
// Failure:   decode() returns false, with `out` undefined, for data that seems damaged. Up to the crop's last row of
//            MCUs, it never accepts data that libjpeg-turbo would reject or warn about. It does reject some data that
//            libjpeg-turbo accepts (stray bytes before a marker); the caller then falls back to libjpeg-turbo. With an
//            index, bytes before the crop's MCUs are not decoded: the index was built from an intact file with the same
//            bytes (ScanIndex::read()).

#include <array>
#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/common/row_sink.h"
#include "unstarve/codecs/jpeg/index/scan_index.h"
#include "unstarve/codecs/jpeg/layout/baseline_image.h"
#include "unstarve/codecs/jpeg/layout/baseline_plan.h"
#include "unstarve/codecs/jpeg/scan_reader.h"
#include "unstarve/core/image.h"
#include "unstarve/core/memory/aligned.h"

namespace unstarve {

class BaselineDecoder {
 public:
  // For tests and fuzzing: see ScanReader::use_pairs().
  void use_pairs(bool use) { reader_.use_pairs(use); }
  // For the last image: see ScanReader::mcus_read().
  [[nodiscard]] std::uint64_t mcus_read() const { return reader_.mcus_read(); }

  // Decodes `rect`, a nonempty part of the stored image reduced by `reduction` (1, 2, 4, 8), into `out`. If the result
  // is true, `out` has received all rows.
  [[nodiscard]] bool decode(const BaselineImage& image, int reduction, const Rect& rect, RowSink& out);
  // Reads only the bytes that the crop needs, by an index of this image. Also false if a point of the index is wrong.
  [[nodiscard]] bool decode(const BaselineImage& image, int reduction, const Rect& rect, const ScanIndex& index,
                            RowSink& out);
  // Like the first decode(), but reads to the end of the image and builds `index`, which is complete() afterwards
  // unless the scan is damaged. Damage below the crop does not fail the crop, except a missing restart marker directly
  // after it.
  [[nodiscard]] bool decode_and_index(const BaselineImage& image, int reduction, const Rect& rect, ScanIndex& index,
                                      RowSink& out);

 private:
  // One component: a ring of sample rows.
  struct Plane {
    int horizontal = 1;  // sampling factors
    int vertical = 1;
    int block = 8;  // side of a block in samples
    AlignedBytes samples;
    std::size_t stride = 0;
    int ring_rows = 0;
    int first_sample = 0;  // the image column of column 0 of the rows
    int width = 0;         // of the whole image, in samples
    int height = 0;

    [[nodiscard]] std::uint8_t* row(int y);
  };

  [[nodiscard]] bool prepare(const BaselineImage& image, int reduction, const Rect& rect);
  void lay_out(const BaselineImage& image);
  // Runs `steps`. If they fail or throw, clears the rows of coefficients.
  template <class Steps>
  bool or_clear(const Steps& steps);
  // Decodes the plan's rows. Precondition: the reader has started.
  bool decode_rows(const BaselineImage& image, const Rect& rect, RowSink& out);
  // Writes the crop's pixels that are complete after the MCU row `row`.
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
