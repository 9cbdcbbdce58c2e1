// The kernels, run on the host, give the same bits as the host's operations.
#include "unstarve/ops/gpu/host_run.h"

#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/testing/test_photographs.h"
#include "unstarve/core/error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/test_chains.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using gpu::TeamOrder;
using testing::Arrangement;
using testing::between;
using testing::Chain;
using testing::defaults;
using testing::HostAndDevice;
using testing::Key;
using testing::Pixels;

TEST_CASE("every operation of the library gives the host's bits", "[gpu]") {
  Random made_up(1, 0, 0, 0);
  HostAndDevice ways;
  for (const OperationInfo& info : operations()) {
    INFO(info.name);
    const OpSpec spec = defaults(info.name);
    REQUIRE(make_operation(spec)->runs_on_gpu());
    const Chain chain({spec});
    std::uint64_t id = 0;
    for (const Size size : {Size{1, 1}, {1, 50}, {50, 1}, {23, 25}, {24, 24}, {60, 40}, {300, 200}}) {
      for (const Arrangement arrangement : {Arrangement::kInterleaved, Arrangement::kPlanar, Arrangement::kStrided}) {
        INFO(size.width << "x" << size.height);
        const Pixels pixels(size, arrangement, made_up);
        for (int trial = 0; trial < (size.width > 100 ? 2 : 6); ++trial) {
          REQUIRE(ways.equal(chain, pixels.view, {3, 1, id++}));
        }
      }
    }
  }
}

TEST_CASE("rectangles covered by colours or noise, once or repeatedly, have the host's bits", "[gpu]") {
  Random made_up(16, 0, 0, 0);
  HostAndDevice ways;
  const OpValue noise = "random", colour = {9, 8, 7};
  const OpSpec erased{"erasing", {{"probability", {1}}, {"value", noise}}};
  const OpSpec cut{"cutout", {{"size", {9, 12}}, {"holes", {3}}, {"value", colour}}};
  const OpSpec noisy{"cutout", {{"size", {8}}, {"holes", {2}}, {"value", noise}}};
  for (const std::vector<OpSpec>& specs :
       std::vector<std::vector<OpSpec>>{{erased},
                                        {noisy},
                                        {cut, defaults("vertical_flip"), defaults("contrast")},
                                        {defaults("rotation"), noisy, erased}}) {
    const Chain chain(specs);
    for (std::uint64_t id = 0; id < 10; ++id) {
      const Pixels pixels({between(made_up, 1, 40), between(made_up, 1, 40)}, Arrangement::kInterleaved, made_up);
      REQUIRE(ways.equal(chain, pixels.view, {3, 1, id}));
    }
  }
}

TEST_CASE("the fill around a warped image has the host's bits", "[gpu]") {
  Random made_up(19, 0, 0, 0);
  HostAndDevice ways;
  const OpValue colour = {9, 130, 250}, nearest = "nearest", bilinear = "bilinear";
  for (const OpSpec& spec : {OpSpec{"rotation", {{"degrees", {45}}}}, OpSpec{"affine", {{"scale", {0.5}}}},
                             OpSpec{"perspective", {{"probability", {1}}}}}) {
    for (const OpValue& interpolation : {nearest, bilinear}) {
      INFO(spec.name << " " << interpolation.word);
      OpSpec filled = spec, black = spec;
      filled.params["interpolation"] = black.params["interpolation"] = interpolation;
      filled.params["fill"] = colour;
      const Pixels pixels({50, 40}, Arrangement::kInterleaved, made_up);
      REQUIRE(ways.equal(Chain({filled}), pixels.view, {3, 1, 7}));
      const std::vector<std::uint8_t> made = ways.made();
      REQUIRE(ways.equal(Chain({black}), pixels.view, {3, 1, 7}));
      CHECK(made != ways.made());
    }
  }
  // The fill of a policy's translation shows next to the fill of an earlier border.
  const OpSpec pad{"pad_crop", {{"size", {44, 54}}, {"padding", {6}}, {"fill", {200}}}};
  for (const OpSpec& policy :
       {OpSpec{"rand_augment", {{"changes", {4}}, {"magnitude", {29}}, {"num_magnitude_bins", {30}}, {"fill", colour}}},
        OpSpec{"trivial_augment", {{"num_magnitude_bins", {2}}, {"fill", colour}}},
        OpSpec{"aug_mix", {{"severity", {10}}, {"fill", colour}}},
        OpSpec{"auto_augment_cifar10", {{"fill", colour}}}}) {
    INFO(policy.name);
    const Chain chain({pad, policy, defaults("contrast")});
    for (std::uint64_t id = 0; id < 40; ++id) {
      const Pixels pixels({50, 40}, Arrangement::kInterleaved, made_up);
      REQUIRE(ways.equal(chain, pixels.view, {3, 1, id}));
    }
  }
}

TEST_CASE("every kind of border gives the host's bits, whatever operations come before and after", "[gpu]") {
  Random random(18, 0, 0, 0);
  HostAndDevice ways;
  const std::vector<OpSpec> before = {defaults("horizontal_flip"), defaults("vertical_flip"), defaults("contrast"),
                                      defaults("rotation"),        defaults("center_crop"),   defaults("saturation")};
  const std::vector<OpSpec> after = {defaults("resize"), defaults("gaussian_blur"), defaults("equalize"),
                                     defaults("erasing"), defaults("center_crop")};
  const auto any_of = [&](const std::vector<OpSpec>& all) {
    return all[random.below(static_cast<std::uint32_t>(all.size()))];
  };
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    const char* const modes[] = {"constant", "edge", "reflect", "symmetric"};
    const OpValue mode = modes[trial % 4], fill = {1, 2, 3};
    const OpSpec pad{"pad_crop",
                     {{"size", {24, 31}}, {"padding", {9, 2, 30, 5}}, {"padding_mode", mode}, {"fill", fill}}};
    const Chain chain({any_of(before), any_of(before), pad, any_of(after), pad});
    const Pixels pixels({between(random, 1, 40), between(random, 1, 40)}, static_cast<Arrangement>(random.below(3)),
                        random);
    INFO("trial " << trial << " " << modes[trial % 4]);
    REQUIRE(ways.equal(chain, pixels.view, {9, 4, trial}));
  }
}

TEST_CASE("resizing by every interpolation gives the host's bits", "[gpu]") {
  Random made_up(6, 0, 0, 0);
  HostAndDevice ways;
  for (const char* const interpolation : {"nearest", "bilinear", "bicubic", "box", "area", "lanczos"}) {
    for (const char* const antialias : {"true", "false"}) {
      INFO(interpolation << " " << antialias);
      const Chain chain({{"resize", {{"size", {31, 24}}, {"interpolation", interpolation}, {"antialias", antialias}}}});
      for (const Size size : {Size{1, 1}, {5, 60}, {24, 31}, {90, 70}}) {
        const Pixels pixels(size, Arrangement::kInterleaved, made_up);
        REQUIRE(ways.equal(chain, pixels.view, {3, 1, 0}));
      }
    }
  }
}

TEST_CASE("a resize with max_size gives the host's bits", "[gpu]") {
  Random made_up(20, 0, 0, 0);
  HostAndDevice ways;
  const Chain chain({{"resize", {{"size", {30}}, {"max_size", {41}}}}});
  for (const auto& [size, made] : {std::pair{Size{90, 70}, Size{38, 30}}, {{90, 60}, {41, 27}}, {{1, 500}, {1, 41}}}) {
    REQUIRE(ways.equal(chain, Pixels(size, Arrangement::kInterleaved, made_up).view, {3, 1, 0}));
    CHECK(ways.size() == made);
  }
}

TEST_CASE("random chains of operations give the host's bits in any order of a team's threads", "[gpu]") {
  std::vector<OpSpec> all;
  for (const OperationInfo& info : operations()) all.push_back(defaults(info.name));
  Random random(2, 0, 0, 0);
  HostAndDevice ways;
  int several_passes = 0;
  for (std::uint64_t trial = 0; trial < 600; ++trial) {
    std::vector<OpSpec> specs;
    std::string names;
    for (int i = between(random, 1, 7); i > 0; --i) {
      specs.push_back(all[random.below(static_cast<std::uint32_t>(all.size()))]);
      names += specs.back().name + " ";
    }
    const Pixels pixels({between(random, 1, 70), between(random, 1, 70)}, static_cast<Arrangement>(random.below(3)),
                        random);
    INFO(names << "on " << pixels.view.width << "x" << pixels.view.height << ", trial " << trial);
    REQUIRE(ways.equal(Chain(specs), pixels.view, {9, 4, trial}, static_cast<TeamOrder>(trial % 3)));
    several_passes += ways.recording().single_pass ? 0 : 1;
  }
  CHECK(several_passes > 100);
  CHECK(several_passes < 500);
}

TEST_CASE("a blend of images gives the host's bits anywhere in a chain", "[gpu]") {
  const auto blend = [](double width, double depth) {
    return OpSpec{"aug_mix", {{"mixture_width", {width}}, {"chain_depth", {depth}}, {"severity", {10}}}};
  };
  const std::vector<std::vector<OpSpec>> chains = {
      {blend(1, 1)},
      {defaults("horizontal_flip"), defaults("contrast"), blend(3, -1), defaults("equalize"),
       defaults("gaussian_blur")},
      {defaults("rotation"), blend(4, 5), defaults("rotation"), defaults("sharpness")},
      {defaults("resize"), blend(16, 2), blend(2, 3), defaults("resize")}};
  Random random(11, 0, 0, 0);
  HostAndDevice ways;
  for (std::uint64_t trial = 0; trial < 60; ++trial) {
    const Pixels pixels({between(random, 1, 50), between(random, 1, 50)}, static_cast<Arrangement>(random.below(3)),
                        random);
    INFO("trial " << trial << ", " << pixels.view.width << "x" << pixels.view.height);
    REQUIRE(ways.equal(Chain(chains[trial % chains.size()]), pixels.view, {3, 1, trial},
                       static_cast<TeamOrder>(trial / 4 % 3)));
    CHECK_FALSE(ways.recording().single_pass);
  }
  // The image and the sums of the blend, in addition to the memory for its changes.
  const Pixels pixels({20, 16}, Arrangement::kInterleaved, random);
  REQUIRE(ways.equal(Chain({blend(2, 1)}), pixels.view, {}));
  CHECK(ways.recording().scratch.saved_bytes == 20 * 16 * 3);
  CHECK(ways.recording().scratch.sum_bytes == 20 * 16 * 3 * 4);
}

TEST_CASE("a typical training chain is one pass from the source to the batch", "[gpu]") {
  Random random(3, 0, 0, 0);
  const Pixels pixels({90, 70}, Arrangement::kInterleaved, random);
  HostAndDevice ways;
  const Chain one({defaults("random_resized_crop"),
                   defaults("horizontal_flip"),
                   {"brightness", {{"factor", {0.5}}}},
                   {"saturation", {{"factor", {1.5}}}},
                   {"erasing", {{"probability", {1}}}}});
  CHECK(ways.equal(one, pixels.view, {}));
  CHECK(ways.recording().single_pass);
  CHECK(ways.recording().commands.size() == 1);
  CHECK(ways.recording().scratch.bytes() == 0);
  // A rotation after a resize: the resized pixels are written in between.
  const Chain two({defaults("random_resized_crop"), defaults("rotation")});
  CHECK(ways.equal(two, pixels.view, {}));
  CHECK_FALSE(ways.recording().single_pass);
  CHECK(ways.recording().commands.size() == 2);
  CHECK(ways.recording().scratch.bytes() == 2 * 24 * 24 * 3);  // two slots
}

TEST_CASE("batches of photographs give the host's bits", "[gpu]") {
  const auto path = testing::photographs();
  if (path.empty()) return;
  const MappedFile archive(path);
  // Several sizes, one after the other.
  std::vector<Image> images;
  Decoder decoder;
  testing::for_each_file(archive.bytes(), [&](std::span<const std::uint8_t> bytes) {
    if (images.size() == 10) return;
    decoder.open(bytes);
    decoder.decode({}, images.emplace_back());
  });
  REQUIRE(images.size() == 10);
  std::vector<std::uint8_t> source;
  std::vector<SourceImage> sources;
  for (const Image& image : images) {
    sources.push_back(SourceImage::interleaved(static_cast<std::int64_t>(source.size()), image.size()));
    source.insert(source.end(), image.data(), image.data() + image.bytes());
  }

  const Size size{96, 80};
  const std::vector<double> target{80, 96};
  const std::vector<Chain> chains = [&] {
    std::vector<Chain> made;
    made.emplace_back(std::vector<OpSpec>{{"random_resized_crop", {{"size", target}}}, defaults("horizontal_flip")});
    made.emplace_back(std::vector<OpSpec>{{"resize", {{"size", {110}}}}, {"center_crop", {{"size", target}}}});
    made.emplace_back(std::vector<OpSpec>{{"random_resized_crop", {{"size", target}}},
                                          defaults("horizontal_flip"),
                                          defaults("color_jitter"),
                                          defaults("rand_augment"),
                                          defaults("erasing")});
    made.emplace_back(std::vector<OpSpec>{{"random_resized_crop", {{"size", target}}},
                                          defaults("trivial_augment"),
                                          {"gaussian_blur", {{"probability", {1}}}},
                                          defaults("lighting")});
    return made;
  }();
  const StoreFormat formats[] = {{ElementType::kUint8, Layout::kNchw, {}},
                                 {ElementType::kFloat32, Layout::kNchw, kImagenetNormalisation},
                                 {ElementType::kFloat32, Layout::kNhwc, kImagenetNormalisation},
                                 {ElementType::kBfloat16, Layout::kNhwc, kCifar10Normalisation}};
  Scratch scratch;
  AlignedBytes packet, memory;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const Chain& chain = chains[i];
    const StoreFormat& format = formats[i];
    INFO("chain " << i);
    const Storer storer(format);
    const std::size_t bytes = storer.sample_bytes(size);
    std::vector<std::uint8_t> host(images.size() * bytes), device(host.size(), 0xEE);
    BatchRecorder recorder(chain.specs, chain.operations, size);
    for (std::size_t sample = 0; sample < images.size(); ++sample) {
      const Key key{77, 3, 1000 + sample};
      storer.store(run_operations(chain, Frame(images[sample].view()), key, scratch), host.data() + sample * bytes);
      recorder.add(sources[sample], key.seed, key.draw, key.id);
    }
    packet.reserve_discard(gpu::packet_bytes(recorder.recording()));
    gpu::write_packet(recorder.recording(), packet.data());
    memory.reserve_discard(static_cast<std::size_t>(recorder.recording().scratch.bytes()));
    gpu::run_on_host(gpu::read_packet(recorder.recording(), packet.data()), {source.data(), memory.data()},
                     testing::output_of(format, size, device.data()));
    CHECK(host == device);
  }
}

TEST_CASE("an operation added by the program is rejected by name", "[gpu]") {
  struct Doubled final : Operation {
    Size output_size(Size selected) const override { return selected; }
    void apply(Frame&, Random&, Scratch&) const override {}
  };
  const OpSpec spec{"added_by_program", {}};
  std::vector<std::unique_ptr<Operation>> own;
  own.push_back(std::make_unique<Doubled>());
  CHECK_THROWS_WITH(BatchRecorder(std::span(&spec, 1), own, {8, 8}),
                    "operations[0]: operation added_by_program has no kernel for GPUs; run it and the ones before it "
                    "on the host");
}

TEST_CASE("a sample of the wrong size is left out of its batch", "[gpu]") {
  const Chain chain({defaults("gaussian_blur"), defaults("rand_augment")});
  BatchRecorder recorder(chain.specs, chain.operations, {24, 24});
  recorder.add(SourceImage::interleaved(0, {24, 24}), 1, 2, 3);
  const Recording before = recorder.recording();
  CHECK_THROWS_WITH(recorder.add(SourceImage::interleaved(0, {25, 24}), 1, 2, 4),
                    "image of 25x24 pixels after the operations; expected 24x24, the size of the images of the batch");
  recorder.add(SourceImage::interleaved(0, {24, 24}), 1, 2, 3);
  const Recording& after = recorder.recording();
  CHECK(after.samples.size() == 2);
  CHECK(after.layers.size() == 2 * before.layers.size());
  CHECK(after.commands.size() == 2 * before.commands.size());
  CHECK(after.blur_weights.size() == 2 * before.blur_weights.size());
  recorder.clear();
  CHECK(recorder.recording().samples.empty());
  CHECK(gpu::packet_bytes(recorder.recording()) == 0);
}

}  // namespace
}  // namespace unstarve
