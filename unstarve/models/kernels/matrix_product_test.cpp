// Products compared with their definition, in float64.

#include "unstarve/models/kernels/matrix_product.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include "unstarve/core/testing/simd_test_support.h"
#include "unstarve/models/testing/random_values.h"

namespace unstarve {
namespace {

using testing::random_values;
using Matrix = std::vector<float>;

struct ProductCase {
  std::size_t rows, columns, depth;
  bool transposed, add;
};

void check_product(const ProductCase& test) {
  CAPTURE(test.rows, test.columns, test.depth, test.transposed, test.add);
  constexpr std::size_t kUnused = 3;  // values after every row, which must not be used
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::size_t a_stored = (test.transposed ? test.rows : test.depth) + kUnused;
  const std::size_t a_lines = test.transposed ? test.depth : test.rows;
  Matrix a = random_values(a_lines * a_stored, 1), b = random_values(test.depth * (test.columns + kUnused), 2);
  for (std::size_t i = 0; i < a_lines; ++i) std::fill_n(&a[(i + 1) * a_stored - kUnused], kUnused, nan);
  for (std::size_t k = 0; k < test.depth; ++k)
    std::fill_n(&b[(k + 1) * (test.columns + kUnused) - kUnused], kUnused, nan);
  const Matrix before = random_values(test.rows * (test.columns + kUnused), 3);
  Matrix c = before;
  MatrixProduct product{test.rows, test.columns, test.depth, a.data(), a_stored, 1, b.data(), test.columns + kUnused};
  if (test.transposed) std::swap(product.a_row, product.a_column);
  product.c = c.data();
  product.c_row = test.columns + kUnused;
  product.add = test.add;
  multiply(product);
  double largest = 0;
  for (std::size_t i = 0; i < test.rows; ++i) {
    for (std::size_t j = 0; j < test.columns + kUnused; ++j) {
      const std::size_t at = i * product.c_row + j;
      double expected = test.add || j >= test.columns ? double{before[at]} : 0;
      for (std::size_t k = 0; j < test.columns && k < test.depth; ++k)
        expected += double{a[i * product.a_row + k * product.a_column]} * double{b[k * product.b_row + j]};
      if (!(std::abs(double{c[at]} - expected) <= largest)) largest = std::abs(double{c[at]} - expected);
    }
  }
  CHECK(largest < 1e-5);
}

}  // namespace

TEST_CASE("products are those of the definition, on every instruction set") {
  testing::on_every_target([](const std::string& target) {
    CAPTURE(target);
    for (const bool transposed : {false, true}) {
      for (const bool add : {false, true}) {
        for (const std::size_t rows : {1, 5, 13, 14, 29, 43}) check_product({rows, 32, 20, transposed, add});
        for (const std::size_t columns : {1, 7, 16, 17, 31, 33, 48, 70})
          check_product({15, columns, 9, transposed, add});
        for (const std::size_t depth : {0, 1, 127, 128, 129, 300}) check_product({20, 40, depth, transposed, add});
        check_product({0, 40, 3, transposed, add});
      }
    }
  });
}

}  // namespace unstarve
