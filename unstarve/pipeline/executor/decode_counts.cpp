#include "unstarve/pipeline/executor/decode_counts.h"

#include <fmt/format.h>

namespace unstarve {

void DecodeCounts::count(const ImageHeader& header, int reduction, bool own) noexcept {
  std::size_t which = kOwn;
  if (!own) {
    switch (decode_path(header, reduction)) {
      case DecodePath::kOwn: which = kDamaged; break;
      case DecodePath::kLibpng: which = kPng; break;
      case DecodePath::kLibwebp: which = kWebp; break;
      case DecodePath::kLibjpegTurbo:
        which = header.jpeg == JpegKind::kBaseline ? kNarrow : static_cast<std::size_t>(header.jpeg);
    }
  }
  counts_[which].fetch_add(1, std::memory_order_relaxed);
}

std::string DecodeCounts::explain() const {
  std::string text;
  const auto line = [&](std::size_t which, DecodePath path, const char* why) {
    const std::uint64_t count = counts_[which].load(std::memory_order_relaxed);
    if (count > 0) text += fmt::format("decoded     {} images by {}{}\n", count, to_string(path), why);
  };
  line(kOwn, DecodePath::kOwn, "");
  line(kPng, DecodePath::kLibpng, "");
  line(kWebp, DecodePath::kLibwebp, "");
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    line(kind, DecodePath::kLibjpegTurbo, fmt::format(": {}", to_string(static_cast<JpegKind>(kind))).c_str());
  line(kNarrow, DecodePath::kLibjpegTurbo, ": too narrow for its chroma to be smoothed");
  line(kDamaged, DecodePath::kLibjpegTurbo, ": unexpected or damaged bytes, which libjpeg-turbo skips");
  return text;
}

}  // namespace unstarve
