#pragma once
// The shapes and textures that distinguish the classes of the synthetic dataset, as functions of a point.
//
// Class c has shape c mod 10 and texture (c + c / 10) mod 10: up to ten classes differ in both, up to a hundred in at
// least one. With more than a hundred classes the texture of the background distinguishes them too.
// Coordinates: (u, v) in the rotated frame of the object; the shape fills about [-0.9, 0.9] in both.
// Threads: pure functions.

#include <cstdint>
#include <string>

namespace unstarve {

inline constexpr int kShapes = 10;
inline constexpr int kTextures = 10;
inline constexpr int kSyntheticMaxClasses = kShapes * kTextures * kTextures;

struct SyntheticClass {
  int shape = 0;
  int texture = 0;
  int background = -1;  // texture of the background, -1: any
};

// Precondition: 0 <= label < classes <= kSyntheticMaxClasses.
[[nodiscard]] SyntheticClass synthetic_class(int label, int classes) noexcept;
// "003-frame-dots": begins with the number, so that names sort in label order.
[[nodiscard]] std::string synthetic_class_name(int label, int classes);

// Negative inside, positive outside; approximately the distance to the edge near the edge.
[[nodiscard]] float shape_distance(int shape, float u, float v) noexcept;
// 0 for the first colour, 1 for the second, in between for gradients. `cells`: cells per unit of length; `seed`: for
// the random texture.
[[nodiscard]] float texture_value(int texture, float u, float v, float cells, std::uint32_t seed) noexcept;

}  // namespace unstarve
