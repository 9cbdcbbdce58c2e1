#pragma once
// Parses the headers of NumPy .npy files and of idx files, the format of MNIST, Fashion-MNIST and EMNIST.
//
// npy (numpy.lib.format):
//
//   | \x93NUMPY | major | minor | length u16 (version 1) or u32 (2, 3), little-endian | text ... \n | elements |
//
//   The text is a Python dict with three keys: {'descr': '|u1', 'fortran_order': False, 'shape': (50000, 32, 32, 3), }.
//   Accepted are integers of 1, 2, 4 or 8 bytes in either byte order, in C order; floats, objects, structures and
//   Fortran order are not.
//
// idx (http://yann.lecun.com/exdb/mnist, "the idx file format"), numbers big-endian:
//
//   | 0 | 0 | type | dimensions d | d lengths u32 | elements, the last dimension fastest |
//
//   type  0x08 u8, 0x09 i8, 0x0B i16, 0x0C i32 (0x0D f32 and 0x0E f64 are not supported)
//
//   Images are u8 with 3 dimensions (count, rows, columns), magic 0x00000803, or 4 (the last is 1 or 3 channels).
//   Labels have 1 dimension, magic 0x00000801.
//
// Threads: pure functions. Failure: Error(kInput) without the file name (the caller adds it).

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace unstarve {

// NumPy writes headers of a few hundred bytes.
inline constexpr std::size_t kMaxNpyHeaderBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxNpyDimensions = 8;
inline constexpr int kMaxIdxDimensions = 4;
inline constexpr std::size_t kMaxIdxHeaderBytes = 4 + 4 * kMaxIdxDimensions;

struct ArrayHeader {
  std::vector<std::uint64_t> shape;
  std::size_t element_bytes = 1;
  bool is_signed = false;
  bool big_endian = false;
  std::size_t header_bytes = 0;
  std::uint64_t data_bytes = 0;  // of all elements; at most 2^64 - 1
};

// `head`: the first kMaxNpyHeaderBytes or kMaxIdxHeaderBytes bytes, or the whole file if it is shorter.
[[nodiscard]] ArrayHeader read_npy_header(std::span<const std::uint8_t> head);
[[nodiscard]] ArrayHeader read_idx_header(std::span<const std::uint8_t> head);
// Throws unless a file of `file_bytes` has exactly the elements that the header declares.
void check_length(const ArrayHeader& header, std::uint64_t file_bytes);

}  // namespace unstarve
