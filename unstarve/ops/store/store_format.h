#pragma once
// How the pixels of a batch are stored: element type, order of the axes, normalisation (store.h). Plain data.

#include <array>
#include <cstddef>
#include <string_view>

#include "unstarve/core/size.h"

namespace unstarve {

enum class ElementType { kUint8, kFloat32, kBfloat16, kFloat16 };
enum class Layout { kNchw, kNhwc };

[[nodiscard]] constexpr std::string_view name_of(ElementType type) {
  return type == ElementType::kUint8      ? "uint8"
         : type == ElementType::kFloat32  ? "float32"
         : type == ElementType::kBfloat16 ? "bfloat16"
                                          : "float16";
}
[[nodiscard]] constexpr std::size_t element_bytes(ElementType type) {
  return type == ElementType::kUint8 ? 1 : type == ElementType::kFloat32 ? 4 : 2;
}

struct Normalisation {
  std::array<float, kChannels> mean{0, 0, 0};
  std::array<float, kChannels> std{1, 1, 1};
  friend bool operator==(const Normalisation&, const Normalisation&) = default;
};
// Statistics of the training images in 0..1, as in torchvision's references.
inline constexpr Normalisation kImagenetNormalisation{{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
inline constexpr Normalisation kCifar10Normalisation{{0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}};

struct StoreFormat {
  ElementType type = ElementType::kFloat32;
  Layout layout = Layout::kNchw;
  Normalisation normalisation;
  friend bool operator==(const StoreFormat&, const StoreFormat&) = default;
};

}  // namespace unstarve
