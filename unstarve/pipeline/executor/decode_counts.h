#pragma once
// Counts which decoder decoded the images of a run, and why it was not our own.
//
// Threads: any; the counters are independent. Cost: an addition per image.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "unstarve/codecs/decode_plan.h"

namespace unstarve {

class DecodeCounts {
 public:
  // An image was decoded at this reduction; `own`: by our own JPEG decoder (Decoder::used_own_decoder()).
  void count(const ImageHeader& header, int reduction, bool own) noexcept;
  // Lines for the plan's explain(), our own decoder first; empty if nothing was decoded.
  [[nodiscard]] std::string explain() const;

 private:
  // One each: our own decoder; libjpeg-turbo by JpegKind; images too narrow for our own, damaged ones that
  // libjpeg-turbo accepts; libpng; libwebp.
  static constexpr std::size_t kKinds = static_cast<std::size_t>(JpegKind::kSampling) + 1;
  static constexpr std::size_t kOwn = kKinds, kNarrow = kOwn + 1, kDamaged = kNarrow + 1, kPng = kDamaged + 1,
                               kWebp = kPng + 1, kAll = kWebp + 1;

  std::array<std::atomic<std::uint64_t>, kAll> counts_{};
};

}  // namespace unstarve
