#pragma once
// A request to decode an image or a part of it, and what became of the scan index passed with it.
//
// Threads: plain data. Ownership: the index is borrowed.

#include <cstdint>
#include <span>

#include "unstarve/core/image.h"

namespace unstarve {

struct DecodeRequest {
  // A part of the upright full-size image; must be within it. Width 0: the whole image.
  Rect crop;
  // 1, 2, 4 or 8: each side becomes ceil(side / reduction) of the whole image. With a crop, the result has the reduced
  // columns floor(crop.x / reduction) up to ceil((crop.x + crop.width) / reduction), and rows likewise. Only JPEG
  // reduces (in the IDCT); for other formats it must be 1, see can_reduce().
  int reduction = 1;
  // The scan index from an earlier decoding of these bytes (Decoder::made_index()), or empty. It changes the speed,
  // never the pixels or which files are rejected: if a byte of the scan or of the index has changed, the index is
  // ignored. Exception: a forged index with matching checksums (jpeg/index/scan_index.h).
  std::span<const std::uint8_t> index{};
  // Build a scan index; the image is then read to its end.
  bool make_index = false;
};

enum class IndexUse {
  kNone,  // no index was passed, or the file was not decoded by our own decoder
  kUsed,
  // Our own decoder decoded the image without the index:
  kWrong,         // it belongs to another file or is damaged
  kOtherVersion,  // according to its first byte, another version of this program wrote it
};

}  // namespace unstarve
