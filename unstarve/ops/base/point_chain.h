#pragma once
// Deferred colour operations: functions of one pixel that are applied when the pixels are read.
//
// A colour operation changes no pixel; it adds a step to the frame's chain. copy_window(), by which every operation and
// the store read a frame, applies the chain to rows while they are in the cache, so that any number of consecutive
// colour operations costs one pass. Neighbouring tables are merged into one, which is exact for functions of 8 bits.
//
// Integer arithmetic: every machine gives the same bits. Luma is that of Pillow and JPEG (ITU-R BT.601):
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

// A blend is from + weight * (value - from), weights in 1/65536. kPointSlack is added before truncation, so that an
// integer product stays one in spite of the rounded weight (255 times half a unit).
inline constexpr int kPointBits = 16;
inline constexpr int kPointSlack = 128;
inline constexpr double kMaxBlend = 100;

class PointChain {
 public:
  static constexpr std::size_t kMaxSteps = 8;

  enum class Kind { kTable, kBlendGrey, kHue, kPermute };
  struct Step {
    Kind kind = Kind::kTable;
    // kBlendGrey: weight of the pixel, in 1/65536; kHue: the shift, see add_hue(); kPermute: see point::source_of().
    std::int32_t weight = 0;
    bool same = false;  // kTable: the same for all channels, so that interleaved pixels can stay interleaved
  };

  void clear() { count_ = 0; }
  [[nodiscard]] bool full() const { return count_ == kMaxSteps; }
  [[nodiscard]] std::span<const Step> steps() const { return {steps_.data(), count_}; }
  // The table of step `i`, a kTable.
  [[nodiscard]] const PointTable& table(std::size_t i) const { return tables_[i]; }

  // Not when full(), except a table after a table.
  void add_table(const PointTable& table);
  // grey + weight * (pixel - grey), truncated and clipped to 0..255, where grey is the pixel's luma: Pillow's
  // ImageEnhance.Color. `weight`: 0 (grey) .. kMaxBlend.
  void add_blend_grey(double weight);
  // Shifts the hue by `shift` of the colour circle, -1..1. Saturation and value of HSV stay, and with them the largest
  // and the least channel.
  void add_hue(double shift);
  // Channel c becomes channel order[c] of the pixel. Precondition: each channel occurs once.
  void add_permute(const std::array<std::uint8_t, kChannels>& order);

 private:
  std::array<Step, kMaxSteps> steps_{};
  std::array<PointTable, kMaxSteps> tables_;
  std::size_t count_ = 0;
};

// The frame's chain, ready for one more step. If the window shows fill, which a colour operation must change too, or
// the chain is full, the frame's pixels are written first.
[[nodiscard]] PointChain& chain_of(Frame& frame, Scratch& scratch);

// Applies the chain to `count` pixels in three planes, in place. Reads and writes nothing beyond them.
void run_chain(const PointChain& chain, const std::array<std::uint8_t*, kChannels>& planes, std::size_t count);
// The same for interleaved pixels.
void run_chain(const PointChain& chain, std::uint8_t* pixels, std::size_t count);
// Applies the chain to one pixel: the reference that the kernels are tested against.
[[nodiscard]] std::array<std::uint8_t, kChannels> run_chain(const PointChain& chain,
                                                            std::array<std::uint8_t, kChannels> pixel);

[[nodiscard]] constexpr int luma(int r, int g, int b) { return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16; }

}  // namespace unstarve
