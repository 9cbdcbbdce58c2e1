#pragma once
// The end of a chain: a frame's pixels into their place in the batch, normalised, cast and laid out in one pass.
//
// value = (pixel / 255 - mean[c]) / std[c], computed as pixel * scale[c] + bias[c] in float32 (one fused
// multiply-add, so that every instruction set gives the same bits), rounded to the element type to nearest even. kUint8
// stores the pixel itself and ignores mean and std.
// Threads: pure. Failure: Error(kArgument) from the constructor when a std is 0 or a value not finite.
// Cost: large samples (in uint8: of whole rows without gaps) are written past the cache by whole cache lines (streaming
// stores), and are as visible to other threads as any other write when store() returns. Best when every sample begins
// at a multiple of 64 bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "unstarve/core/cache_fetch.h"
#include "unstarve/ops/base/frame.h"

namespace unstarve {

enum class ElementType { kUint8, kFloat32, kBfloat16, kFloat16 };
enum class Layout { kNchw, kNhwc };

[[nodiscard]] constexpr std::size_t element_bytes(ElementType type) {
  return type == ElementType::kUint8 ? 1 : type == ElementType::kFloat32 ? 4 : 2;
}

struct Normalisation {
  std::array<float, kChannels> mean{0, 0, 0};
  std::array<float, kChannels> std{1, 1, 1};
  friend bool operator==(const Normalisation&, const Normalisation&) = default;
};
// Statistics of the training images over 0..1, as torchvision's references use them.
inline constexpr Normalisation kImagenetNormalisation{{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
inline constexpr Normalisation kCifar10Normalisation{{0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}};

struct StoreFormat {
  ElementType type = ElementType::kFloat32;
  Layout layout = Layout::kNchw;
  Normalisation normalisation;
  friend bool operator==(const StoreFormat&, const StoreFormat&) = default;
};

struct ValueMap;  // see convert.h

// Precomputed form of a StoreFormat; cheap to copy.
class Storer {
 public:
  explicit Storer(const StoreFormat& format);
  [[nodiscard]] std::size_t sample_bytes(Size size) const {
    return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) * kChannels *
           element_bytes(format_.type);
  }
  // Writes sample_bytes(frame.size()) bytes at `dst`, which must be aligned to the element size.
  // What `ahead` has left is fetched meanwhile.
  void store(const Frame& frame, void* dst, CacheFetch* ahead = nullptr) const;
  // The same by the plain loop, for tests: bit-equal to store().
  void store_reference(const Frame& frame, void* dst) const;

 private:
  StoreFormat format_;
  std::shared_ptr<const ValueMap> map_;
};

}  // namespace unstarve
