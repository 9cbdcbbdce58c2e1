#pragma once
// Builds the scan index of one JPEG without decoding its pixels.
//
// Threads: as the decoder. Failure: Error as Decoder::decode(). Cost: entropy-decodes the whole image, or only a small
// part of it if a matching index exists.

#include <cstdint>
#include <span>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/image.h"

namespace unstarve {

// Builds the index of the image that `decoder` opened last; valid until its next decode(). Empty if the image cannot
// have an index, or if the `existing` index matches: decoder.index_use() is then kUsed. Overwrites `pixel`.
[[nodiscard]] std::span<const std::uint8_t> make_scan_index(Decoder& decoder, Image& pixel,
                                                            std::span<const std::uint8_t> existing = {});

}  // namespace unstarve
