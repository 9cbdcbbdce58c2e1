#pragma once
// UNSTARVE_HD marks functions that the host's compiler and nvcc both compile, so that host and GPU share the
// arithmetic. Such functions use only their arguments and constexpr parts of the standard library.

#ifdef __CUDACC__
#define UNSTARVE_HD __host__ __device__
#else
#define UNSTARVE_HD
#endif

namespace unstarve {

// std::clamp by value: device code cannot take references to constants.
template <class T>
[[nodiscard]] UNSTARVE_HD constexpr T clamped(T value, T low, T high) {
  return value < low ? low : high < value ? high : value;
}

}  // namespace unstarve
