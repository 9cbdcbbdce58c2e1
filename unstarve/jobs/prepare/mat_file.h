#pragma once
// Reads the classes of ILSVRC2012 from the meta.mat of its devkit: class number -> WordNet synset. A pure parser of the
// required subset of the MATLAB format.
//
// Layout ("MAT-File Format", level 5, MathWorks), little-endian:
//
//   | 116 text | 8 | version 0x0100 | 'I' 'M' |  element, element, ...
//   element    | type u32 | bytes u32 | data, padded to 8 |    small: | type u16 | bytes u16 | up to 4 bytes of data |
//   type 15    data is zlib of one element, not padded;  type 14 a matrix: flags, dimensions, name, then
//   structure  length of a field name, field names, for each element and field a matrix
//
//   synsets, a structure array with ILSVRC2012_ID (a number), WNID (a text), num_children (a number), ...
//
// Classes are the synsets without children.
//
// Threads: pure function. Memory: the inflated data, at most kMaxMatBytes.
// Failure: Error(kInput) with the offset for any other content.

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace unstarve {

inline constexpr std::uint64_t kMaxMatBytes = std::uint64_t{64} << 20;

// ILSVRC2012_ID -> WNID ("n02119789"). `name`: of the file, for messages.
[[nodiscard]] std::map<int, std::string> parse_imagenet_classes(std::span<const std::uint8_t> file,
                                                                const std::string& name);

}  // namespace unstarve
