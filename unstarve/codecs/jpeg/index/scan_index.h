#pragma once
// Where inside a baseline scan decoding can begin: what makes a crop's cost follow its area instead of the image's.
//
// A JPEG's bits have no marks: a block begins where the one before ends, and its DC is a difference to that one's. A
// scan index remembers both, for the first MCU of each row, every eighth one behind it, and the end:
//
//   row 0   P.......P.......P....        P: bit in the file, DC of each component before the MCU
//   row 1   P.......P.......P....P
//
// It belongs to one file, which stays as it is. As bytes: 0.5 to 2 % of the file.
//
//   0   version (2)                            u8
//   1   MCUs between points (8)                u8
//   2   identity of the file, see identity_of  u64, little-endian
//   10  checksum of what follows               u64
//   18  points but the first, row by row:  bits since the one before as a varint, then per component the difference of
//       its DC as a zigzag varint (LEB128, 7 bits to a byte, the low ones first)
//
// Restart markers: an MCU that follows one has its point behind the marker, at a whole byte, with all DC 0.
//
// Trust: read() takes nothing whose identity or checksum is another, or that could lead out of the scan; the identity
//        is of every byte of the scan, also of those that a crop by the index does not come by. The decoder compares
//        the last point of a row that it passes at least, and decodes without the index when one of them is wrong. So
//        damage, files that changed and wrong points change no pixel. A restart marker ends what a point can tell of
//        the DC before it, so that where one comes before the next point, decoding begins a point earlier
//        (ScanReader::begin_of()). Somebody who makes up points that agree with each other, and a checksum for them,
//        can show other blocks of the image in a row's place, or make it lighter or darker, and nothing else.
//
// Threads: plain data. Failure: read() returns false. Cost of read(): the file's bytes once, 3 us of 100 KiB in the
//          cache and 6 us from memory (Zen 4; 1 to 2 % of a crop by index), and some 10 ns a point; a photograph of 500
//          x 400 has 400.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/codecs/jpeg/entropy/entropy_bytes.h"
#include "unstarve/codecs/jpeg/layout/baseline_image.h"

namespace unstarve {

struct ScanPoint {
  std::uint64_t bit = 0;             // of BaselineImage::scan as it lies in the file: 8 * byte + bit, the highest is 0
  std::array<std::int32_t, 3> dc{};  // before the MCU; 0 for components that are not there
  friend bool operator==(const ScanPoint&, const ScanPoint&) = default;
};

class ScanIndex {
 public:
  static constexpr int kStep = 8;

  // Forgets all points and takes on the layout of `image`.
  void reset(const BaselineImage& image);
  // The next point, in the order of the file; the first one is bit 0 with all DC 0.
  void add(const ScanPoint& point) { points_.push_back(point); }
  [[nodiscard]] bool complete() const { return points_.size() == per_row_ * rows_ + 1; }

  // The point of an MCU whose column is a multiple of kStep, or, for column == columns, the next row's first or the
  // end. Precondition: complete().
  [[nodiscard]] const ScanPoint& at(int row, int column) const {
    const auto steps = static_cast<std::size_t>((column + kStep - 1) / kStep);
    return points_[static_cast<std::size_t>(row) * per_row_ + steps];
  }

  // Precondition: complete(). `bytes` is overwritten.
  void write(const BaselineImage& image, std::vector<std::uint8_t>& bytes) const;
  // False, with no points, unless `bytes` were written for this very file and lie within its scan.
  [[nodiscard]] bool read(std::span<const std::uint8_t> bytes, const BaselineImage& image);
  // Whether `bytes`, which are not trusted, say that another version of this program has written them. Zeros, as which
  // lost pages read, say nothing.
  [[nodiscard]] static bool is_of_other_version(std::span<const std::uint8_t> bytes);

 private:
  // Whether point number i is of an MCU that follows a restart marker.
  [[nodiscard]] bool follows_restart(std::size_t i) const;

  std::size_t per_row_ = 0;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::size_t restart_interval_ = 0;  // MCUs; 0: none
  std::vector<ScanPoint> points_;
};

// Of all that entropy decoding depends on: layout, Huffman tables and every byte of the scan (checksum.h). Other files
// have another one but for chance (2^-64).
[[nodiscard]] std::uint64_t identity_of(const BaselineImage& image);

// From positions in unstuffed bytes (EntropyBytes) to positions in the file, forwards only.
class ScanPositions {
 public:
  ScanPositions() = default;
  // `start`: the byte of the file's scan that `bytes` begin with. They stay unchanged.
  ScanPositions(std::size_t start, const EntropyBytes& bytes) : start_(start), bytes_(&bytes) {}

  // The bit in the file of bit `bit` of the unstuffed bytes, which lies in this segment of theirs.
  // Precondition: not before what was asked last, and there.
  [[nodiscard]] std::uint64_t bit_in_file(std::size_t bit, std::size_t segment);

 private:
  void go_to(std::size_t written);

  std::size_t start_ = 0;
  const EntropyBytes* bytes_ = nullptr;
  std::size_t segment_ = 0;
  std::size_t read_ = 0;     // bytes of the scan, from `start` on, before here
  std::size_t written_ = 0;  // unstuffed bytes before here
};

}  // namespace unstarve
