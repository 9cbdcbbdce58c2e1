#pragma once
// Marks functions that both the host's compiler and nvcc compile, so that one text is the arithmetic of both. Such
// functions use nothing but their arguments and constexpr parts of the standard library.

#ifdef __CUDACC__
#define UNSTARVE_HD __host__ __device__
#else
#define UNSTARVE_HD
#endif

namespace unstarve {

// std::clamp by values: code for GPUs has constants as values only, no references to them.
template <class T>
[[nodiscard]] UNSTARVE_HD constexpr T clamped(T value, T low, T high) {
  return value < low ? low : high < value ? high : value;
}

}  // namespace unstarve
