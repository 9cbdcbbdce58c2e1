#pragma once
// Which decoder made the pixels of the images of a run, and why another than our own.
//
// Threads: any; counters stand by themselves. Cost: an addition per image.

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
  // Lines as a plan's explain() has them, the usual way first; none where nothing was decoded.
  [[nodiscard]] std::string explain() const;

 private:
  // One each: our own decoder; libjpeg-turbo by JpegKind; images too narrow for our own, damaged ones that
  // libjpeg-turbo takes; libpng; libwebp.
  static constexpr std::size_t kKinds = static_cast<std::size_t>(JpegKind::kSampling) + 1;
  static constexpr std::size_t kOwn = kKinds, kNarrow = kOwn + 1, kDamaged = kNarrow + 1, kPng = kDamaged + 1,
                               kWebp = kPng + 1, kAll = kWebp + 1;

  std::array<std::atomic<std::uint64_t>, kAll> counts_{};
};

}  // namespace unstarve
