#pragma once
// Parses the header of a NumPy .npy file.
//
// Layout (numpy.lib.format):
//
//   | \x93NUMPY | major | minor | length u16 (version 1) or u32 (2, 3), little-endian | text ... \n | elements |
//
// The text is a Python dict with three keys: {'descr': '|u1', 'fortran_order': False, 'shape': (50000, 32, 32, 3), }.
//
// Accepted:  integers of 1, 2, 4 or 8 bytes in either byte order, C order. Refused: floats, objects, structures,
//            Fortran order.
// Checked:   the file length equals the length that the header declares. Threads: pure functions.
// Failure:   Error(kInput) without the file name (the caller adds it).

#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/storage/source/first_bytes.h"

namespace unstarve {

// NumPy writes headers of a few hundred bytes.
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

// Parses the header alone. `head`: the first kMaxNpyHeaderBytes bytes, or the whole file if it is shorter. `data_bytes`
// saturates at 2^64 - 1.
[[nodiscard]] NpyHeader read_npy_header(std::span<const std::uint8_t> head);
// The same, and checks the length of the file.
[[nodiscard]] NpyHeader parse_npy_header(std::span<const std::uint8_t> head, std::uint64_t file_bytes);

}  // namespace unstarve
