#pragma once
// Huffman decoding of a baseline scan, MCU by MCU, into rows of coefficients, or skipping them.
//
// Without an index (index/scan_index.h) a scan can only be read from its start: a block's first bit is known only after
// the previous block has been read, and its DC is a difference to that of the previous block. Skipping a block
// therefore consumes its bits and sums its DC.
//
// Ownership: borrows the row of MCUs and the bytes. Threads: one at a time.
// Failure:   skip(), read() and finish() return false for invalid data: an unknown code, more than 64
//            coefficients in a block, too few bits or surplus bytes in a restart interval. libjpeg-turbo then decodes
//            the file and reports the error.

#include <cstddef>

#include "unstarve/codecs/jpeg/entropy/entropy_bytes.h"
#include "unstarve/codecs/jpeg/entropy/mcu_row.h"

namespace unstarve {

// A position between two MCUs.
struct EntropyPosition {
  std::size_t bit = 0;  // of EntropyBytes::data(), the highest of a byte first
  McuRow::DcSums dc{};
};

class EntropyDecoder {
 public:
  // `row` and `bytes` must stay valid until the last call. `restart_interval`: in MCUs, 0 for none. `mcus`: of the
  // whole image.
  void start(const EntropyBytes& bytes, McuRow& row, int restart_interval, std::size_t mcus);

  // Called directly after start() if the data begins in the middle of an image. `bytes` begin with the byte that
  // contains the first bit of MCU number `first`; position.bit (0 .. 7) is that bit. If the MCU follows a restart
  // marker, `bytes` begin after the marker.
  void begin_at(std::size_t first, const EntropyPosition& position);

  [[nodiscard]] bool skip(std::size_t mcus);
  // Decodes into MCUs first .. first + mcus - 1 of the row, whose blocks must be zero before.
  [[nodiscard]] bool read(std::size_t first, std::size_t mcus);
  // Two decoders together, the second one into the second row; faster than one after the other. Precondition: both have
  // the same McuRow, and no restart marker comes before the end of these MCUs.
  [[nodiscard]] static bool skip_two(EntropyDecoder& decoder, EntropyDecoder& second, std::size_t mcus);
  [[nodiscard]] static bool read_two(EntropyDecoder& decoder, EntropyDecoder& second, std::size_t first,
                                     std::size_t mcus);
  // If the next MCU follows a restart marker, advances to it; false if the data does not end directly before a marker.
  // Must not be called after the image's last MCU. skip() and read() call it when they start.
  [[nodiscard]] bool pass_restart();
  // The start of the next MCU, or the end of the segment before pass_restart(); and the number of restart markers in
  // `bytes` before it.
  [[nodiscard]] EntropyPosition position() const;
  [[nodiscard]] std::size_t restarts_passed() const { return segment_; }
  // After the image's last MCU: whether the data ends there, before the end-of-image marker.
  [[nodiscard]] bool finish() const;

 private:
  // Calls decode(first, mcus) for the MCUs up to each restart marker.
  template <class Decode>
  [[nodiscard]] bool run(std::size_t mcus, const Decode& decode);
  // Calls decode(row, stream, second stream).
  template <class Decode>
  [[nodiscard]] static bool run_two(EntropyDecoder& decoder, EntropyDecoder& second, std::size_t mcus,
                                    const Decode& decode);
  [[nodiscard]] bool within_segment() const;
  [[nodiscard]] bool ends_here() const;
  void enter_segment();

  const EntropyBytes* bytes_ = nullptr;
  McuRow* row_ = nullptr;
  McuRow::Stream stream_;
  std::size_t segment_ = 0;
  std::size_t interval_ = 0;  // MCUs of a segment
  std::size_t left_in_segment_ = 0;
};

}  // namespace unstarve
