#pragma once
// The scan index of one JPEG, for jobs that want it and none of the pixels.
//
// Threads: as its decoder. Failure: Error as Decoder::decode(). Cost: the image is entropy-decoded to its end, one
// pixel of it is made; with an index that fits, little is read.

#include <cstdint>
#include <span>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/image.h"

namespace unstarve {

// Of the image that `decoder` has opened last; valid until its next decode(). Empty where none can be made, and where
// `there`, the one that was made before, fits: decoder.index_use() is then kUsed. `pixel` is overwritten.
[[nodiscard]] std::span<const std::uint8_t> make_scan_index(Decoder& decoder, Image& pixel,
                                                            std::span<const std::uint8_t> there = {});

}  // namespace unstarve
