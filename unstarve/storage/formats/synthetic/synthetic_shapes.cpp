#include "unstarve/storage/formats/synthetic/synthetic_shapes.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace unstarve {
namespace {

constexpr std::array<const char*, kShapes> kShapeNames = {"disc",  "ring", "square", "frame", "triangle",
                                                          "cross", "star", "half",   "bars",  "ell"};
constexpr std::array<const char*, kTextures> kTextureNames = {"solid",    "stripes", "checks", "dots",    "rings",
                                                              "gradient", "grid",    "zigzag", "speckle", "quarters"};

float box(float u, float v, float half_width, float half_height) noexcept {
  return std::max(std::fabs(u) - half_width, std::fabs(v) - half_height);
}

// The cell index of a coordinate and the position in the cell (0..1). By conversion, because std::floor is a function
// call on CPUs without SSE4.1.
int cell_of(float x) noexcept {
  const int whole = static_cast<int>(x);
  return whole - (static_cast<float>(whole) > x ? 1 : 0);
}
float position_in_cell(float x) noexcept { return x - static_cast<float>(cell_of(x)); }

std::uint32_t hash(std::uint32_t a, std::uint32_t b, std::uint32_t c) noexcept {
  // Multiply and fold; the constants are odd numbers near 2^32 / golden ratio. Only the top bits are used.
  std::uint32_t h = a * 0x9E3779B1u ^ b * 0x85EBCA77u ^ c * 0xC2B2AE3Du;
  h ^= h >> 15;
  h *= 0x2C1B3C6Du;
  h ^= h >> 12;
  return h * 0x297A2D39u;
}

}  // namespace

SyntheticClass synthetic_class(int label, int classes) noexcept {
  return {label % kShapes, (label + label / kShapes) % kTextures,
          classes > kShapes * kTextures ? label / (kShapes * kTextures) : -1};
}

std::string synthetic_class_name(int label, int classes) {
  const SyntheticClass kind = synthetic_class(label, classes);
  std::string number = std::to_string(label);
  number.insert(0, 3 - std::min<std::size_t>(3, number.size()), '0');
  std::string name = number + "-" + kShapeNames[static_cast<std::size_t>(kind.shape)] + "-" +
                     kTextureNames[static_cast<std::size_t>(kind.texture)];
  if (kind.background >= 0) name += std::string("-on-") + kTextureNames[static_cast<std::size_t>(kind.background)];
  return name;
}

float shape_distance(int shape, float u, float v) noexcept {
  switch (shape) {
    case 0: return std::sqrt(u * u + v * v) - 0.9f;
    case 1: return std::fabs(std::sqrt(u * u + v * v) - 0.66f) - 0.22f;
    case 2: return box(u, v, 0.76f, 0.76f);
    case 3: return std::fabs(box(u, v, 0.62f, 0.62f)) - 0.19f;
    // Apex (0, -0.9), base from (-0.9, 0.65) to (0.9, 0.65); (0.865, -0.502) is the unit normal of the right edge.
    case 4: return std::max(0.865f * std::fabs(u) - 0.502f * (v + 0.9f), v - 0.65f);
    case 5: return std::min(box(u, v, 0.26f, 0.9f), box(u, v, 0.9f, 0.26f));
    case 6: return 0.6f * (std::sqrt(std::fabs(u)) + std::sqrt(std::fabs(v)) - 1.0f);
    case 7: return std::max(std::sqrt(u * u + (v + 0.4f) * (v + 0.4f)) - 0.95f, -v - 0.4f);
    case 8: return box(std::fabs(u) - 0.52f, v, 0.24f, 0.85f);
    default: return std::min(box(u + 0.5f, v, 0.26f, 0.85f), box(u, v - 0.59f, 0.76f, 0.26f));
  }
}

float texture_value(int texture, float u, float v, float cells, std::uint32_t seed) noexcept {
  const float x = u * cells;
  const float y = v * cells;
  switch (texture) {
    case 0: return 0.0f;
    case 1: return position_in_cell(x * 0.5f) < 0.5f ? 0.0f : 1.0f;
    case 2: return static_cast<float>((cell_of(x) + cell_of(y)) & 1);
    case 3: {
      const float dx = position_in_cell(x * 0.7f) - 0.5f;
      const float dy = position_in_cell(y * 0.7f) - 0.5f;
      return dx * dx + dy * dy < 0.1f ? 1.0f : 0.0f;
    }
    case 4: return position_in_cell(std::sqrt(x * x + y * y) * 0.6f) < 0.5f ? 0.0f : 1.0f;
    case 5: return std::clamp(0.5f + 0.55f * u, 0.0f, 1.0f);
    case 6: return std::min(position_in_cell(x * 0.6f), position_in_cell(y * 0.6f)) < 0.28f ? 1.0f : 0.0f;
    case 7:
      return position_in_cell(0.5f * y + std::fabs(position_in_cell(x * 0.4f) - 0.5f) * 1.6f) < 0.5f ? 0.0f : 1.0f;
    case 8:
      return static_cast<float>(
          hash(static_cast<std::uint32_t>(cell_of(x * 1.7f)), static_cast<std::uint32_t>(cell_of(y * 1.7f)), seed) >>
          31);
    default: return u * v > 0.0f ? 1.0f : 0.0f;
  }
}

}  // namespace unstarve
