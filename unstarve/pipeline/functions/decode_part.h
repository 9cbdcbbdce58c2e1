#pragma once
// Decodes one image, or a part of it, for a caller who has no pipeline.
//
//   header, region ──▶ decode only the region ──▶ resize, row by row where the decoder permits ──▶ frame
//
// The pixels are those of decoding the whole image, cropping and resizing it. With `reduce`, a JPEG may be decoded at
// 1/2, 1/4 or 1/8 of its size before it is resized (codecs/decode_plan.h), which changes pixels.
//
// Ownership: a workspace owns memory that grows with its largest image; a frame borrows it until the next call.
// Threads:   one per workspace.
// Failure:   Error(kInput) for a damaged image. Precondition: the region is not empty.

#include <optional>

#include "unstarve/codecs/decoder.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/base/resampling.h"

namespace unstarve {

struct ImageWorkspace {
  Decoder decoder;
  Image decoded;
  Scratch scratch;
};

struct DecodePart {
  Rect region;                 // of the upright image; may extend beyond its edges
  std::optional<ResizeTo> to;  // the resize of the region
  bool reduce = false;
};

// Decodes the image that workspace.decoder has opened and whose header this is.
[[nodiscard]] Frame decode_part(const ImageHeader& header, const DecodePart& part, ImageWorkspace& workspace);

}  // namespace unstarve
