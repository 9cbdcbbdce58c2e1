#pragma once
// A product of two matrices of float32 on one thread, for the tiles of winograd_convolution.h: many products of about a
// hundred rows. On AMD's CPUs libtorch's library uses AVX2 for them, and reaches 40 % of what AVX-512 multiplies.
//
// Threads: calls for different results can run concurrently. Does not need libtorch.

#include <cstddef>

namespace unstarve {

// c = a b, or c += a b, where the product is summed first, which rounds less. Distances are in values.
struct MatrixProduct {
  std::size_t rows = 0;     // of a and c
  std::size_t columns = 0;  // of b and c
  std::size_t depth = 0;    // columns of a, rows of b
  const float* a = nullptr;
  std::size_t a_row = 0;     // distance of rows
  std::size_t a_column = 0;  // distance of columns: 1, or a_row is 1 and `a` is stored transposed
  const float* b = nullptr;
  std::size_t b_row = 0;
  float* c = nullptr;
  std::size_t c_row = 0;
  bool add = false;
};
void multiply(const MatrixProduct& product);

}  // namespace unstarve
