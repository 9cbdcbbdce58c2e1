#pragma once
// How an image is decoded: by which decoder, at which scale, which part of it, and whether by an index of its scan. A
// function of its header and of what its pixels are for, so that it can be tested, and told, without decoding.
//
// The part is what is selected, if parts may be decoded. The scale is the smallest of 1/1, 1/2, 1/4 and 1/8 at which
// what is selected still has the target's size, if the format reduces and that is allowed. A selection that reaches
// beyond the image's edges (an operation of a program's own may make one) needs all there is, at full size.
// The path is our own decoder for baseline JPEG files (codecs/jpeg/layout/baseline_image.h), the format's library for others.
// Damage shows only while decoding: what our own decoder takes for damaged goes to libjpeg-turbo after all.
//
// Threads: pure functions.

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/jpeg/layout/baseline_plan.h"

namespace unstarve {

struct DecodeHint {
  Rect selected;        // of the upright image at full size; may lie beyond its edges
  Size target;          // what it is resampled to
  bool crop = false;    // it may be decoded alone
  bool reduce = false;  // it may be decoded at a reduced scale
  bool index = false;   // indexes of scans are kept
};

enum class DecodePath { kOwn, kLibjpegTurbo, kLibpng, kLibwebp };

[[nodiscard]] const char* to_string(DecodePath path) noexcept;
// As in "a JPEG file: progressive".
[[nodiscard]] const char* to_string(JpegKind kind) noexcept;

struct DecodePlan {
  DecodePath path = DecodePath::kOwn;
  int reduction = 1;
  Rect crop;           // as DecodeRequest's: width 0 is all of the image
  bool index = false;  // it is looked for and used, and made where there is none
  Rect stored;         // the pixels that are decoded, of the stored image, reduced
  BaselinePlan mcus;   // kOwn: the rows and columns of MCUs that hold them
};

// Of an image of this kind, unless it is found damaged. Precondition: its encoding is known.
[[nodiscard]] DecodePath decode_path(const ImageHeader& header, int reduction);

// `header`: of an image that is open. Precondition: its encoding is known.
[[nodiscard]] DecodePlan plan_decode(const ImageHeader& header, const DecodeHint& hint);

// The largest reduction of 1, 2, 4, 8 at which `selected` is still at least `target` in both sides.
[[nodiscard]] int choose_reduction(Size selected, Size target);

// The pixels of the stored image that show `crop` (width 0: all) of the upright image, both reduced: from
// floor(crop.x / reduction) to ceil((crop.x + crop.width) / reduction), and likewise in y.
[[nodiscard]] Rect stored_part(const ImageHeader& header, Rect crop, int reduction);

// Whether `part` lies within an image of this size.
[[nodiscard]] bool lies_within(const Rect& part, Size size);

}  // namespace unstarve
