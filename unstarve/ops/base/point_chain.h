#pragma once
// What colour operations do to a pixel, put off until somebody reads the pixels.
//
// A colour operation changes no pixel itself: it adds a step to the frame's chain. copy_window(), by which every
// operation and the store read a frame, takes the rows through the chain while they are in the cache, so that any
// number of colour operations in a row costs one pass. Tables of neighbouring steps become one table: the composition
// of functions of 8 bits is exact.
//
// The arithmetic is of integers, so that every machine gives the same bits. Luma is Pillow's and JPEG's (ITU-R BT.601):
// (19595 r + 38470 g + 7471 b + 32768) >> 16.
//
// Ownership: a Scratch owns its chain; frames point to it, as they do to its images. Threads: one at a time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unstarve/core/image.h"

namespace unstarve {

struct Frame;
class Scratch;

// A function of 8 bits for each channel.
struct PointTable {
  alignas(64) std::array<std::array<std::uint8_t, 256>, kChannels> of{};
};

// Blending, from + weight * (value - from): weights in 1/65536, and what is added before the fraction is cut off, so
// that a product that is an integer stays one in spite of the rounded weight (255 times half a unit).
inline constexpr int kPointBits = 16;
inline constexpr int kPointSlack = 128;
inline constexpr double kMaxBlend = 100;

class PointChain {
 public:
  static constexpr std::size_t kMaxSteps = 8;

  enum class Kind { kTable, kBlendGrey, kHue };
  struct Step {
    Kind kind = Kind::kTable;
    std::int32_t weight = 0;  // kBlendGrey: of the pixel, in 1/65536; kHue: the shift, see add_hue()
    bool same = false;        // kTable: for all channels, so that interleaved pixels need not be taken apart
  };

  void clear() { count_ = 0; }
  [[nodiscard]] bool full() const { return count_ == kMaxSteps; }
  [[nodiscard]] std::span<const Step> steps() const { return {steps_.data(), count_}; }
  // Of step `i`, a kTable.
  [[nodiscard]] const PointTable& table(std::size_t i) const { return tables_[i]; }

  // None of them when full(), but for a table behind a table.
  void add_table(const PointTable& table);
  // grey + weight * (pixel - grey), the fraction cut off, within 0..255, where grey is the pixel's luma: Pillow's
  // ImageEnhance.Color. `weight`: 0 (grey) .. kMaxBlend.
  void add_blend_grey(double weight);
  // Shifts the hue by `shift` of the colour circle, -1..1. Saturation and value of HSV stay, and with them the largest
  // and the least channel.
  void add_hue(double shift);

 private:
  std::array<Step, kMaxSteps> steps_{};
  std::array<PointTable, kMaxSteps> tables_;
  std::size_t count_ = 0;
};

// The frame's chain for one more step. What the window shows beyond its pixels is fill, which a colour operation
// changes too but a later crop's does not: such a frame's pixels are made first, as those of one whose chain is full.
[[nodiscard]] PointChain& chain_of(Frame& frame, Scratch& scratch);

// Takes `count` pixels in three planes through the chain, in place. Reads and writes nothing beyond them.
void run_chain(const PointChain& chain, const std::array<std::uint8_t*, kChannels>& planes, std::size_t count);
// The same of interleaved pixels.
void run_chain(const PointChain& chain, std::uint8_t* pixels, std::size_t count);
// What becomes of one pixel: the definition that the kernels are tested against.
[[nodiscard]] std::array<std::uint8_t, kChannels> run_chain(const PointChain& chain,
                                                            std::array<std::uint8_t, kChannels> pixel);

[[nodiscard]] constexpr int luma(int r, int g, int b) { return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16; }

}  // namespace unstarve
