// Chains of operations on one image: encoded images and pixels give the same result, draws are those of a sample.
#include "unstarve/pipeline/functions/operation_chain.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/core/error.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/operations.h"

namespace unstarve {
namespace {

constexpr Size kImage{90, 64};

// Gradients with noise.
Image chain_image(Size size) {
  Image image(size);
  Random random(1, 2, 3, 4);
  for (int y = 0; y < size.height; ++y)
    for (int i = 0; i < size.width * kChannels; ++i)
      image.row(y)[i] = static_cast<std::uint8_t>((i + 2 * y) % 200 + static_cast<int>(random.below(50)));
  return image;
}

std::vector<std::uint8_t> chain_file(Size size = kImage) { return encode_jpeg(chain_image(size).view(), 90); }

Image cropped(const Image& image, Rect rect) {
  Image out(rect.size());
  for (int y = 0; y < rect.height; ++y)
    std::copy_n(image.row(rect.y + y) + rect.x * kChannels, out.row_bytes(), out.row(y));
  return out;
}

bool equal_pixels(const Image& a, const Image& b) {
  return a.size() == b.size() && std::equal(a.data(), a.data() + a.bytes(), b.data());
}

// Every operation with its required parameters.
std::vector<OpSpec> all_specs() {
  std::vector<OpSpec> specs;
  for (const OperationInfo& info : operations()) {
    OpSpec spec{std::string(info.name), {}};
    for (const ParameterInfo& parameter : parameters_of(info.name)) {
      const auto* const text = std::get_if<ParameterInfo::Text>(&parameter.kind);
      if (parameter.required) spec.params[parameter.name] = {40.0, 30.0};
      if (text != nullptr) spec.params[parameter.name] = text->example.c_str();
      if (parameter.name == "probability") spec.params[parameter.name] = {1.0};
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

Image pixels_of(Frame frame, ImageWorkspace& workspace) {
  const Image& made = make_pixels(frame, workspace.scratch);
  return cropped(made, {0, 0, made.size().width, made.size().height});
}

Image apply(const OperationChain& chain, std::span<const std::uint8_t> file, const DecodeOptions& how,
            const SampleDraws& draws) {
  ImageWorkspace workspace;
  return pixels_of(chain.apply(file, how, draws, workspace), workspace);
}

Image apply(const OperationChain& chain, const Image& image, const SampleDraws& draws) {
  ImageWorkspace workspace;
  return pixels_of(chain.apply(image.view(), draws, workspace), workspace);
}

Image decoded(std::span<const std::uint8_t> file) {
  Decoder decoder;
  decoder.open(file);
  Image image;
  decoder.decode({}, image);
  return image;
}

TEST_CASE("an operation gives the same pixels for an encoded image, for its pixels, and for a region") {
  const auto file = chain_file();
  const Image image = decoded(file);
  const Rect region{13, 6, 61, 50};
  for (const OpSpec& spec : all_specs()) {
    if (spec.name == "throwing") continue;  // added by added_operation_test.cpp
    INFO(spec.name);
    const OperationChain chain({spec, {"invert", {{"probability", {0.5}}}}}, {});
    for (std::uint64_t id = 0; id < 4; ++id) {
      const SampleDraws draws{9, 2, id, 0};
      CHECK(equal_pixels(apply(chain, file, {}, draws), apply(chain, image, draws)));
      CHECK(equal_pixels(apply(chain, file, {region}, draws), apply(chain, cropped(image, region), draws)));
    }
  }
}

TEST_CASE("what an operation reads beyond a region is fill, not the pixels around the region") {
  const auto file = chain_file();
  const OperationChain larger({{"center_crop", {{"size", {60, 70}}}}}, {});
  const Rect region{30, 20, 20, 20};
  const Image made = apply(larger, file, {region}, {});
  CHECK(made.size() == Size{70, 60});
  CHECK(equal_pixels(made, apply(larger, cropped(decoded(file), region), {})));
  CHECK(made.row(0)[0] == 0);
}

TEST_CASE("an empty chain decodes, also a region") {
  const auto file = chain_file();
  const OperationChain none({}, {});
  CHECK_FALSE(none.random());
  CHECK(equal_pixels(apply(none, file, {}, {}), decoded(file)));
  CHECK(equal_pixels(apply(none, file, {Rect{89, 63, 1, 1}}, {}), cropped(decoded(file), {89, 63, 1, 1})));
}

TEST_CASE("draws depend on seed, epoch, sample and the index of the operation") {
  const Image image = chain_image(kImage);
  const OperationChain crop({{"random_resized_crop", {{"size", {24}}}}}, {});
  CHECK(crop.random());
  const Image base = apply(crop, image, {1, 2, 3, 4});
  CHECK(equal_pixels(apply(crop, image, {1, 2, 3, 4}), base));
  for (const SampleDraws& other :
       {SampleDraws{5, 2, 3, 4}, SampleDraws{1, 5, 3, 4}, SampleDraws{1, 2, 5, 4}, SampleDraws{1, 2, 3, 5}})
    CHECK_FALSE(equal_pixels(apply(crop, image, other), base));
  const OperationChain two({{"invert", {{"probability", {0}}}}, {"random_resized_crop", {{"size", {24}}}}}, {});
  CHECK(equal_pixels(apply(two, image, {1, 2, 3, 3}), base));
}

TEST_CASE("a reduced JPEG is close, and only with a resize") {
  const auto file = chain_file({640, 480});
  const OperationChain resize({{"resize", {{"size", {60, 80}}}}}, {}), none({}, {});
  const Image exact = apply(resize, file, {}, {}), near = apply(resize, file, {{}, true}, {});
  CHECK(near.size() == exact.size());
  CHECK_FALSE(equal_pixels(near, exact));
  CHECK(equal_pixels(apply(none, file, {{}, true}, {}), decoded(file)));
}

TEST_CASE("invalid images and regions are errors, and the workspace stays usable") {
  const auto file = chain_file();
  const OperationChain none({}, {});
  ImageWorkspace workspace;
  const auto fails_with = [&](ErrorKind kind, const std::string& part, const auto& call) {
    try {
      call();
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == kind);
      CHECK_THAT(std::string(error.what()), Catch::Contains(part));
    }
  };
  for (const Rect region : {Rect{0, 0, 91, 1}, Rect{-1, 0, 5, 5}, Rect{0, 0, 0, 5}, Rect{2147483647, 0, 2147483647, 1}})
    fails_with(ErrorKind::kArgument, "expected a part of the image",
               [&] { (void)none.apply(file, {region}, {}, workspace); });
  const std::span<const std::uint8_t> bytes(file);
  fails_with(ErrorKind::kInput, "", [&] { (void)none.apply(bytes.first(bytes.size() / 2), {}, {}, workspace); });
  fails_with(ErrorKind::kInput, "empty file", [&] { (void)none.apply(bytes.first(0), {}, {}, workspace); });
  fails_with(ErrorKind::kArgument, "sides of 1 to 65500", [&] { (void)none.apply(PixelView{}, {}, workspace); });
  CHECK(equal_pixels(pixels_of(none.apply(file, {}, {}, workspace), workspace), decoded(file)));
}

}  // namespace
}  // namespace unstarve
