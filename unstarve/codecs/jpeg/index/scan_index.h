#pragma once
// Positions inside a baseline scan at which decoding can start, so that a crop's cost depends on its own area instead
// of the image's.
//
// A JPEG scan has no synchronisation points: a block starts where the previous one ends, and its DC is a difference to
// the previous one's. A scan index stores both values for the first MCU of each row, every eighth MCU after it, and the
// end:
//
//   row 0   P.......P.......P....        P: bit in the file, DC of each component before the MCU
//   row 1   P.......P.......P....P
//
// It belongs to one unmodified file. Serialised, it takes 0.5 to 2 % of the file's size:
//
//   0   version (2)                            u8
//   1   MCUs between points (8)                u8
//   2   identity of the file, see identity_of  u64, little-endian
//   10  checksum of the rest                   u64
//   18  all points except the first, row by row:  bits since the previous point as a varint, then for each component
//       the difference of its DC as a zigzag varint (LEB128: 7 bits per byte, low bits first)
//
// Restart markers: the point of an MCU that follows a marker is after the marker, at a whole byte, with all DC 0.
//
// Trust: read() rejects an index with another identity or checksum, and points outside of the scan. The identity covers
//        every byte of the scan, also those that a crop by the index does not read. The decoder compares at least the
//        last point that it passes in each row, and decodes without the index if one is wrong. So damage, modified
//        files and wrong points change no pixel. A restart marker resets DC, so a point after it does not verify the DC
//        before it: if a marker comes before the next point, decoding starts one point earlier
//        (ScanReader::begin_of()). Forged points that agree with each other and with a forged checksum can show other
//        blocks of the image in a row, or make the row lighter or darker, but nothing else.
//
// Threads: plain data. Failure: read() returns false.
// Cost:    read() reads the scan once, 3 us per 100 KiB from the cache and 6 us from memory (Zen 4; 1 to 2 % of a crop
//          by index), and takes about 10 ns per point; a photograph of 500 x 400 has 400 points.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/codecs/jpeg/entropy/entropy_bytes.h"
#include "unstarve/codecs/jpeg/layout/baseline_image.h"

namespace unstarve {

struct ScanPoint {
  std::uint64_t bit = 0;             // in BaselineImage::scan (with stuffing): 8 * byte + bit, the highest bit is 0
  std::array<std::int32_t, 3> dc{};  // before the MCU; 0 for missing components
  friend bool operator==(const ScanPoint&, const ScanPoint&) = default;
};

class ScanIndex {
 public:
  static constexpr int kStep = 8;

  // Removes all points and sets the layout of `image`.
  void reset(const BaselineImage& image);
  // Appends a point, in the order of the file; the first one is bit 0 with all DC 0.
  void add(const ScanPoint& point) { points_.push_back(point); }
  [[nodiscard]] bool complete() const { return points_.size() == per_row_ * rows_ + 1; }

  // The point of an MCU whose column is a multiple of kStep; for column == columns, the next row's first point or the
  // end. Precondition: complete().
  [[nodiscard]] const ScanPoint& at(int row, int column) const {
    const auto steps = static_cast<std::size_t>((column + kStep - 1) / kStep);
    return points_[static_cast<std::size_t>(row) * per_row_ + steps];
  }

  // Precondition: complete(). `bytes` is overwritten.
  void write(const BaselineImage& image, std::vector<std::uint8_t>& bytes) const;
  // False, with no points, unless `bytes` were written for exactly this file and all points are inside its scan.
  [[nodiscard]] bool read(std::span<const std::uint8_t> bytes, const BaselineImage& image);
  // Whether another version of this program wrote `bytes` (not trusted), according to their first byte. False for
  // zeros, which lost pages of a map contain.
  [[nodiscard]] static bool is_of_other_version(std::span<const std::uint8_t> bytes);

 private:
  // Whether point number i is that of an MCU after a restart marker.
  [[nodiscard]] bool follows_restart(std::size_t i) const;

  std::size_t per_row_ = 0;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::size_t restart_interval_ = 0;  // MCUs; 0: none
  std::vector<ScanPoint> points_;
};

// A hash of everything that entropy decoding depends on: layout, Huffman tables and all bytes of the scan (checksum.h).
// Two files have the same identity with probability 2^-64.
[[nodiscard]] std::uint64_t identity_of(const BaselineImage& image);

// Maps positions in unstuffed bytes (EntropyBytes) to positions in the file, in increasing order only.
class ScanPositions {
 public:
  ScanPositions() = default;
  // `start`: the offset in the file's scan at which `bytes` begin; they must not change.
  ScanPositions(std::size_t start, const EntropyBytes& bytes) : start_(start), bytes_(&bytes) {}

  // The bit in the file for bit `bit` of the unstuffed bytes, which is in segment `segment`.
  // Precondition: the bit exists and is not before that of the previous call.
  [[nodiscard]] std::uint64_t bit_in_file(std::size_t bit, std::size_t segment);

 private:
  void go_to(std::size_t written);

  std::size_t start_ = 0;
  const EntropyBytes* bytes_ = nullptr;
  std::size_t segment_ = 0;
  std::size_t read_ = 0;     // bytes of the scan, from `start` on, before the current position
  std::size_t written_ = 0;  // unstuffed bytes before the current position
};

}  // namespace unstarve
