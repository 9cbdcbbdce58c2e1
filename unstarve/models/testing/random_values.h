#pragma once
// For tests of kernels: float32 values between -1 and 1, the same for the same seed.

#include <cstddef>
#include <random>
#include <vector>

namespace unstarve::testing {

inline std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(generator);
  return values;
}

}  // namespace unstarve::testing
