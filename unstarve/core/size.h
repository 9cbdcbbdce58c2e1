#pragma once
// Sizes and rectangles in pixels: x to the right, y downwards, origin at the top left.

namespace unstarve {

inline constexpr int kChannels = 3;

struct Size {
  int width = 0;
  int height = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

struct Rect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  friend bool operator==(const Rect&, const Rect&) = default;
  [[nodiscard]] Size size() const { return {width, height}; }
};

}  // namespace unstarve
