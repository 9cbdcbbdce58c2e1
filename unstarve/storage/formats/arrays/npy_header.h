#pragma once
// The header of a NumPy .npy file: a pure parser.
//
// Layout (numpy.lib.format):
//
//   | \x93NUMPY | major | minor | length u16 (version 1) or u32 (2, 3), little-endian | text ... \n | elements |
//
// The text is a Python dict of three keys: {'descr': '|u1', 'fortran_order': False, 'shape': (50000, 32, 32, 3), }.
//
// Taken:     integers of 1, 2, 4, 8 bytes in either byte order, C order. Refused: floats, objects, structures, Fortran
//            order.
// Checked:   that the file is exactly as long as its header says. Threads: pure functions.
// Failure:   Error(kInput) with what was found, without the file (the caller adds it).

#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/storage/source/first_bytes.h"

namespace unstarve {

// NumPy's own are a few hundred bytes; anything near this is no array of images.
inline constexpr std::size_t kMaxNpyHeaderBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxNpyDimensions = 8;

struct NpyHeader {
  std::size_t element_bytes = 1;
  bool is_signed = false;
  bool big_endian = false;
  std::vector<std::uint64_t> shape;
  std::size_t header_bytes = 0;
  std::uint64_t data_bytes = 0;  // of all elements
};

// What the header says, whatever follows. `head`: the first kMaxNpyHeaderBytes, or all when the file is shorter.
// `data_bytes` of 2^64 and more is 2^64 - 1.
[[nodiscard]] NpyHeader read_npy_header(std::span<const std::uint8_t> head);
// The same, with a look at the file's whole length.
[[nodiscard]] NpyHeader parse_npy_header(std::span<const std::uint8_t> head, std::uint64_t file_bytes);

}  // namespace unstarve
