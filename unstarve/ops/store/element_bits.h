#pragma once
// The elements of a batch in memory; conversion to and from 16-bit floating-point bits, rounded to nearest even, on the
// host and on GPUs. Threads: pure.

#include <bit>
#include <cstdint>

#include "unstarve/ops/base/host_device.h"
#include "unstarve/ops/store/store_format.h"

namespace unstarve {

// Elements in memory, as separate types so that functions can be overloaded.
enum class Bfloat16 : std::uint16_t {};
enum class Float16 : std::uint16_t {};  // IEEE 754 binary16

// Precondition: finite.
UNSTARVE_HD inline std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Precondition: finite. Infinity beyond 65,504.
UNSTARVE_HD inline std::uint16_t float16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFF'FFFF;
  if (magnitude >= 0x477F'F000) return static_cast<std::uint16_t>(sign | 0x7C00);  // 65,520: half way beyond 65,504
  if (magnitude < 0x3880'0000) {
    // Below 2^-14 the unit is 2^-24, which is the unit of 0.5 in float32: adding 0.5 rounds.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(rounded) - 0x3F00'0000));
  }
  const std::uint32_t rounded = magnitude + 0x0FFF + (magnitude >> 13 & 1) - 0x3800'0000;
  return static_cast<std::uint16_t>(sign | rounded >> 13);
}

UNSTARVE_HD inline float from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

UNSTARVE_HD inline float from_float16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16, magnitude = bits & 0x7FFFU;
  if (magnitude >= 0x7C00) return std::bit_cast<float>(sign | 0x7F80'0000 | (magnitude & 0x3FF) << 13);
  // The exponent bias differs by 112; the multiplication also handles subnormals.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

inline void write_element(float value, float& to) { to = value; }
inline void write_element(float value, Bfloat16& to) { to = Bfloat16{bfloat16_bits(value)}; }
inline void write_element(float value, Float16& to) { to = Float16{float16_bits(value)}; }

// Calls work(T{}) with the type T of an element in memory.
template <class Work>
auto with_element(ElementType type, const Work& work) {
  switch (type) {
    case ElementType::kUint8: return work(std::uint8_t{});
    case ElementType::kFloat32: return work(float{});
    case ElementType::kBfloat16: return work(Bfloat16{});
    default: return work(Float16{});
  }
}

}  // namespace unstarve
