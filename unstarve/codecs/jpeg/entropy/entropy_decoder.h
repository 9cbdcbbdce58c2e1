#pragma once
// Huffman decoding of a baseline scan, MCU by MCU, into rows of coefficients or into nothing.
//
// Without an index (scan_index.h) a JPEG file can only be read from its start: where a block's bits begin is known when
// those before it have been read, and its DC is a difference to the block before. So blocks outside of a crop are
// skipped, not left out: their bits are consumed and their DC summed.
//
// Ownership: borrows the row of MCUs and the bytes. Threads: one at a time.
// Failure:   skip(), keep() and finish() return false when the data cannot be right: no such code, more than 64
//            coefficients in a block, too few bits or bytes left over in a restart interval. What then is to be
//            said is libjpeg-turbo's to find out.

#include <cstddef>

#include "unstarve/codecs/jpeg/entropy/entropy_bytes.h"
#include "unstarve/codecs/jpeg/entropy/mcu_row.h"

namespace unstarve {

// Between two MCUs.
struct EntropyPlace {
  std::size_t bit = 0;  // of EntropyBytes::data(), the highest of a byte first
  McuRow::DcSums dc{};
};

class EntropyDecoder {
 public:
  // `row` and `bytes` stay until the last call. restart_interval in MCUs, 0 for none; mcus: of the whole image.
  void start(const EntropyBytes& bytes, McuRow& row, int restart_interval, std::size_t mcus);

  // The same from the middle of an image on, where `bytes` begin with the byte that holds the first bit of MCU number
  // `first`; place.bit (0 .. 7): which one of it. Where that MCU follows a restart marker, `bytes` begin behind that.
  void start_at(const EntropyBytes& bytes, McuRow& row, int restart_interval, std::size_t mcus, std::size_t first,
                const EntropyPlace& place);

  [[nodiscard]] bool skip(std::size_t mcus);
  // To numbers first .. first + mcus - 1 of the row, whose blocks are zero before.
  [[nodiscard]] bool keep(std::size_t first, std::size_t mcus);
  // The same of two decoders at once, the second one's to the second row, which takes less time than one after the
  // other. Precondition: of one row of MCUs; no restart marker comes before their next so many MCUs.
  [[nodiscard]] static bool skip_two(EntropyDecoder& decoder, EntropyDecoder& second, std::size_t mcus);
  [[nodiscard]] static bool keep_two(EntropyDecoder& decoder, EntropyDecoder& second, std::size_t first,
                                     std::size_t mcus);
  // When the next MCU lies behind a restart marker, goes there; false when the data do not end in front of one. For all
  // MCUs but the one behind the image's last; skip() and keep() do it themselves where they begin.
  [[nodiscard]] bool pass_restart();
  // Where the next MCU begins, or the segment ends that pass_restart() has not left; and how many restart markers of
  // `bytes` lie before it.
  [[nodiscard]] EntropyPlace place() const;
  [[nodiscard]] std::size_t restarts_passed() const { return segment_; }
  // After the last MCU of the image: that the data ends there, in front of the end-of-image marker.
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
