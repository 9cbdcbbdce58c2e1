// An operation that a program adds: its class, its spec and its batches.
#include <catch2/catch.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/operations.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/spec/check_spec.h"
#include "unstarve/pipeline/spec/spec_schema.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;

// Inverts the values of images with the given `probability`.
class Invert final : public Operation {
 public:
  explicit Invert(double probability) : probability_(probability) {}

  [[nodiscard]] bool random() const override { return true; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const override {
    if (random.uniform() >= probability_) return;
    Image& image = scratch.other_than(frame);
    image.resize(frame.size());
    copy_window(frame, 0, frame.height, {image.data(), static_cast<std::ptrdiff_t>(image.row_bytes()), 1});
    for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(255 - image.data()[i]);
    frame = Frame(image.view());
  }

 private:
  double probability_;
};

std::unique_ptr<Operation> make_negative(const OpParams& params) {
  const Parameters p("negative", params, {"probability"});
  return std::make_unique<Invert>(p.number("probability", 1, 0, 1));
}

// Once per process, because tests run in any order.
void add_negative() {
  static const bool added = [] {
    add_operation({"negative", "turns values round, at random: probability 1", make_negative});
    return true;
  }();
  REQUIRE(added);
}

PipelineSpec spec_of(const std::string& operations, int threads) {
  return pipeline_from_yaml(
      "operations: [center_crop: {size: 40}, " + operations +
          "]\noutput: {type: uint8}\nbatch: {size: 4}\nexecution: {threads: " + std::to_string(threads) + "}\n",
      "spec.yaml");
}

TEST_CASE("an operation added by a program appears in specs, batches, help and schema under its name") {
  add_negative();
  const auto data = std::make_shared<JpegSet>(20);
  const auto plain = run(spec_of("horizontal_flip: {probability: 0}", 2), data, {{}, 1});
  const auto inverted = run(spec_of("negative: {}", 2), data, {{}, 1});
  REQUIRE(inverted.size() == plain.size());
  for (std::size_t b = 0; b < plain.size(); ++b) {
    CHECK(inverted[b].ids == plain[b].ids);
    bool turned = inverted[b].pixels.size() == plain[b].pixels.size();
    for (std::size_t i = 0; turned && i < plain[b].pixels.size(); ++i)
      turned = inverted[b].pixels[i] == 255 - plain[b].pixels[i];
    CHECK(turned);
  }
  const auto some = run(spec_of("negative: {probability: 0.5}", 1), data, {{}, 2});
  CHECK(some == run(spec_of("negative: {probability: 0.5}", 4), data, {{}, 2}));
  CHECK(some != run(spec_of("negative: {}", 4), data, {{}, 2}));

  const PipelineSpec spec = spec_of("negative: {probability: 0.5}", 1);
  CHECK(pipeline_from_yaml(to_yaml(spec), "again") == spec);
  CHECK_THAT(explain(plan_run(spec, data, {1})),
             Contains("operation   negative probability=0.5: 40x40 -> 40x40, random"));
  CHECK_THAT(spec_schema(), Contains("turns values round"));
  CHECK(operations().back().name == "negative");
}

// Selects a part or the whole image, and throws an exception that is not an Error.
class Throwing final : public Operation {
 public:
  explicit Throwing(bool selects) : selects_(selects) {}

  Rect select(Size input, Random&) const override {
    return {0, 0, selects_ ? 40 : input.width, selects_ ? 40 : input.height};
  }
  [[nodiscard]] bool fixed_output() const override { return selects_; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame&, Random&, Scratch&) const override { throw std::runtime_error("made to fail"); }

 private:
  bool selects_;
};

std::unique_ptr<Operation> make_throwing(const OpParams& params) {
  const Parameters p("throwing", params, {"selects"});
  return std::make_unique<Throwing>(p.number("selects", 0, 0, 1) > 0);
}

TEST_CASE(
    "an exception of an added operation names the sample at any position in the chain, and the error policy applies") {
  static const bool added = [] {
    add_operation({"throwing", "throws: selects 0", make_throwing});
    return true;
  }();
  REQUIRE(added);
  const auto dataset = std::make_shared<JpegSet>(12);
  for (const char* const operations :
       {"[center_crop: {size: 40}, throwing]", "[throwing: {selects: 1}]", "[throwing, center_crop: {size: 40}]"}) {
    CAPTURE(operations);
    PipelineSpec spec = pipeline_from_yaml(
        std::string("operations: ") + operations + "\noutput: {type: uint8}\nbatch: {size: 4}\n", "spec.yaml");
    for (const CacheWhat what : {CacheWhat::kNothing, CacheWhat::kPixels}) {
      spec.cache.what = what;
      CHECK_THROWS_WITH(run(spec, dataset, {{}, 1}), Contains("file-") && Contains("made to fail"));
    }
    spec.errors = {OnError::kSkip, 1, 1};
    CHECK_THROWS_WITH(run(spec, dataset, {{}, 1}), Contains("bad samples") && Contains("made to fail"));
    spec.errors = {};
  }
}

// Covers a part, using an operation of the library.
std::unique_ptr<Operation> make_hiding(const OpParams& params) {
  const Parameters p("hiding", params, {"least"});
  const double least = p.number("least", 0.3, 0.1, 0.5);
  return make_operation({"erasing", {{"probability", {1}}, {"scale", {least, 0.5}}, {"value", {9}}}});
}

TEST_CASE("an added operation that uses an operation of the library has only its own parameters") {
  static const bool added = [] {
    add_operation({"hiding", "covers a part: least 0.3", make_hiding});
    return true;
  }();
  REQUIRE(added);
  const std::vector<ParameterInfo> takes = parameters_of("hiding");
  REQUIRE(takes.size() == 1);
  CHECK(takes[0].name == "least");
  const auto data = std::make_shared<JpegSet>(8);
  const auto own = run(spec_of("hiding", 2), data, {{}, 1});
  CHECK(own == run(spec_of("erasing: {probability: 1, scale: [0.3, 0.5], value: 9}", 1), data, {{}, 1}));
  CHECK(own != run(spec_of("horizontal_flip: {probability: 0}", 1), data, {{}, 1}));
}

TEST_CASE("errors in the spec of an added operation are reported as for other operations") {
  add_negative();
  const auto complaint = [](const std::string& operations) -> std::string {
    try {
      check_spec(spec_of(operations, 1));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(complaint("negative: {probability: 2}"), Contains("operations[1]") && Contains("probability"));
  CHECK_THAT(complaint("negative: {strength: 2}"), Contains("operations[1]") && Contains("strength"));
  CHECK_THAT(complaint("invrt: {}"), Contains("unknown operation 'invrt'; known: random_resized_crop") &&
                                         Contains("auto_augment_svhn, ") && Contains("negative"));
}

TEST_CASE("an operation with a duplicate or invalid name or without a factory is not added") {
  add_negative();
  CHECK_THROWS_WITH(add_operation({"negative", "", make_negative}),
                    Contains("add operation 'negative': the name is taken"));
  CHECK_THROWS_WITH(add_operation({"resize", "", make_negative}), Contains("the name is taken"));
  CHECK_THROWS_WITH(add_operation({"In vert", "", make_negative}), Contains("lower-case letters"));
  CHECK_THROWS_WITH(add_operation({"", "", make_negative}), Contains("lower-case letters"));
  CHECK_THROWS_WITH(add_operation({"none", "", nullptr}), Contains("no factory"));
}

}  // namespace
}  // namespace unstarve
