// The same bits on every CPU: x86-64 and 64-bit ARM (make arm64) must both give these checksums. A change that alters
// the output of an operation on purpose updates them and is documented in CHANGELOG.md, as it changes training runs.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/ops/test_chains.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using testing::Arrangement;
using testing::Chain;
using testing::defaults;
using testing::Pixels;

// FNV-1a, 64 bits.
std::uint64_t checksum(std::span<const std::uint8_t> bytes, std::uint64_t sum) {
  for (const std::uint8_t byte : bytes) sum = (sum ^ byte) * 0x100000001B3U;
  return sum;
}

OpSpec always(const std::string& name) {
  OpSpec spec = defaults(name);
  spec.params["probability"] = {1};
  return spec;
}

// Checksum of the chain's output for 12 samples, each from an image of its own.
std::uint64_t checksum_of(const Chain& chain, const StoreFormat& format) {
  const Storer storer(format);
  Random made_up(21, 0, 0, 0);
  Scratch scratch;
  std::uint64_t sum = 0xCBF29CE484222325U;
  for (std::uint64_t sample = 0; sample < 12; ++sample) {
    const Size size{testing::between(made_up, 60, 150), testing::between(made_up, 60, 150)};
    const Pixels pixels(size, Arrangement::kInterleaved, made_up);
    const Frame frame = testing::run_operations(chain, Frame(pixels.view), {9, 4, sample}, scratch);
    std::vector<std::uint8_t> made(storer.sample_bytes(frame.size()));
    storer.store(frame, made.data());
    sum = checksum(made, sum);
  }
  return sum;
}

TEST_CASE("chains of operations give the same bits on every CPU") {
  const OpSpec crop{"random_resized_crop", {{"size", {56, 72}}}};
  const Chain photographs({crop, always("horizontal_flip"), defaults("color_jitter"), defaults("lighting"),
                           always("auto_contrast"), always("equalize"), defaults("sharpness"),
                           always("gaussian_blur")});
  CHECK(checksum_of(photographs, {ElementType::kUint8, Layout::kNhwc, {}}) == 0xABF1E09C7B2A2F66);
  CHECK(checksum_of(photographs, {ElementType::kFloat32, Layout::kNchw, kImagenetNormalisation}) == 0x7A0292E29999088E);
  CHECK(checksum_of(photographs, {ElementType::kBfloat16, Layout::kNhwc, kImagenetNormalisation}) ==
        0xB70A6494E17EC467);
  CHECK(checksum_of(photographs, {ElementType::kFloat16, Layout::kNchw, kCifar10Normalisation}) == 0x2DFE78251F531592);
  const Chain turned({{"resize", {{"size", {64, 64}}, {"interpolation", "bicubic"}}},
                      defaults("affine"),
                      always("perspective"),
                      defaults("rotation"),
                      defaults("rand_augment"),
                      defaults("aug_mix"),
                      always("erasing")});
  CHECK(checksum_of(turned, {ElementType::kUint8, Layout::kNchw, {}}) == 0x378023546E650A6E);
}

}  // namespace
}  // namespace unstarve
