#pragma once
// The shapes and textures that tell the classes of the synthetic set apart, as functions of a point.
//
// A class is a shape and a texture: class c has shape c mod 10 and texture (c + c / 10) mod 10, so that up to ten
// classes differ in both and up to a hundred in at least one. From a hundred on the background's texture counts too.
// Coordinates: (u, v) in the object's own frame, rotated with it; the shape fills about [-0.9, 0.9] in both.
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
// "003-frame-dots": the number first, so that names sort in the order of their labels.
[[nodiscard]] std::string synthetic_class_name(int label, int classes);

// Negative inside, positive outside, about the distance to the edge near it.
[[nodiscard]] float shape_distance(int shape, float u, float v) noexcept;
// 0 for the first colour, 1 for the second, between them in the gradient. `cells` per unit of length; `seed` moves the
// random one.
[[nodiscard]] float texture_value(int texture, float u, float v, float cells, std::uint32_t seed) noexcept;

}  // namespace unstarve
