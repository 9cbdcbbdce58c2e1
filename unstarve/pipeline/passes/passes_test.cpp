#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>

#include "unstarve/core/error.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/plan/explain.h"
#include "unstarve/pipeline/plan/verify.h"
#include "unstarve/pipeline/spec/pass_switches.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;

const PassNote& note_of(const Plan& plan, std::string_view name) {
  return *std::find_if(plan.passes.begin(), plan.passes.end(), [&](const PassNote& note) { return note.name == name; });
}

// A pipeline to which every pass applies.
PipelineSpec busy_spec(CacheWhat cache) {
  PipelineSpec spec = small_spec(7);
  spec.operations.insert(spec.operations.begin() + 1, {"center_crop", {{"size", {40}}}});
  spec.execution.read_ahead = 8;
  spec.cache.what = cache;
  spec.source.filter = {{}, {"3"}, 45, 0, 1.8};
  spec.source.take = 30;
  spec.passes = {{"scale_into_decode", true}, {"normalise_on_device", true}};
  return spec;
}

Plan plan_of(const PipelineSpec& spec, const std::shared_ptr<const Dataset>& dataset) {
  return plan_run(spec, dataset, {2, Consumer::kNormalises}).plan;
}

// Data in memory have no path for an index.
bool applies(std::string_view pass) { return pass != "scan_index"; }

TEST_CASE("each pass can be switched off on its own, and the plan reports it") {
  const auto dataset = std::make_shared<JpegSet>(60);
  for (const PassSwitch& pass : pass_switches()) {
    PipelineSpec spec = busy_spec(pass.name == "cache" ? CacheWhat::kEncoded : CacheWhat::kNothing);
    const auto name = std::string(pass.name);
    CHECK(note_of(plan_of(spec, dataset), name).applied == applies(name));
    spec.passes[name] = true;
    CHECK(note_of(plan_of(spec, dataset), name).applied == applies(name));
    spec.passes[name] = false;
    const Plan plan = plan_of(spec, dataset);
    CHECK_FALSE(note_of(plan, name).applied);
    CHECK(note_of(plan, name).reason == "switched off by passes." + name);
    for (const PassSwitch& other : pass_switches())
      if (other.name != name && other.name != "cache") CHECK(note_of(plan, other.name).applied == applies(other.name));
  }
}

// The program of a sample, without the names of the operations.
std::string program_of(const PipelineSpec& spec, const std::shared_ptr<const Dataset>& dataset) {
  return program_text(plan_run(spec, dataset, {2}).plan);
}

TEST_CASE("each pass rewrites the program as documented") {
  const auto dataset = std::make_shared<JpegSet>(60);
  PipelineSpec spec = small_spec(7);
  spec.operations = {{"random_resized_crop", {{"size", {48}}}}, {"horizontal_flip", {}}};
  for (const PassSwitch& pass : pass_switches()) spec.passes[std::string(pass.name)] = false;
  CHECK(program_of(spec, dataset) ==
        "Read, Open, Decode(whole), Apply(0 random_resized_crop), Materialise, Apply(1 horizontal_flip), "
        "Materialise, Store");
  spec.passes["operation_fusion"] = true;
  CHECK(program_of(spec, dataset) ==
        "Read, Open, Decode(whole), Apply(0 random_resized_crop), Apply(1 horizontal_flip), Store");
  spec.passes["crop_into_decode"] = true;
  CHECK(program_of(spec, dataset) ==
        "Read, Open, Select(0 random_resized_crop), Decode(selected), Apply(0 random_resized_crop), "
        "Apply(1 horizontal_flip), Store");
  spec.passes["scale_into_decode"] = true;
  CHECK(program_of(spec, dataset) ==
        "Read, Open, Select(0 random_resized_crop), Decode(selected, reduced), Apply(0 random_resized_crop), "
        "Apply(1 horizontal_flip), Store");
  spec.passes["resize_into_decode"] = true;
  CHECK(program_of(spec, dataset) ==
        "Read, Open, Select(0 random_resized_crop), DecodeResize(selected, reduced; 0 random_resized_crop), "
        "Apply(1 horizontal_flip), Store");
  spec.operations = {{"resize", {{"size", {56}}}}, {"center_crop", {{"size", {48}}}}, {"horizontal_flip", {}}};
  spec.passes["crop_into_resize"] = true;
  CHECK(program_of(spec, dataset) ==
        "Read, Open, Select(0 resize), SelectThrough(1 center_crop through 0), "
        "DecodeResize(selected, reduced; 0 resize), Apply(1 center_crop), Apply(2 horizontal_flip), Store");
  spec.passes["cache"] = true;
  spec.cache.what = CacheWhat::kPixels;
  CHECK(program_of(spec, dataset) ==
        "CacheLookup(hit: step 7), Read, Open, Decode(whole), Apply(0 resize), Apply(1 center_crop), CacheInsert, "
        "Apply(2 horizontal_flip), Store");
}

TEST_CASE("a program with a misplaced, missing or repeated step is not valid") {
  const auto dataset = std::make_shared<JpegSet>(20);
  const Plan valid = plan_run(small_spec(7), dataset, {2}).plan;
  CHECK(violation(valid).empty());
  for (StepIndex at = 0; at < valid.steps.size(); ++at) {
    Plan plan = valid;
    plan.steps.erase(plan.steps.begin() + at);
    CAPTURE(at);
    CHECK_FALSE(violation(plan).empty());
    plan = valid;
    plan.steps.insert(plan.steps.begin() + at, plan.steps[at]);
    CHECK_FALSE(violation(plan).empty());
    if (at + 1 == valid.steps.size()) continue;
    plan = valid;
    std::swap(plan.steps[at], plan.steps[at + 1]);
    CHECK_FALSE(violation(plan).empty());
  }
  Plan plan = valid;
  std::get<ApplyStep>(*std::find_if(plan.steps.begin(), plan.steps.end(), [](const Step& step) {
    return std::holds_alternative<ApplyStep>(step);
  })).region = OpRegion::kSelectedThrough;
  CHECK_THAT(violation(plan), Contains("another region than was drawn"));
  plan = valid;
  plan.stages[0].sizes.pop_back();
  CHECK_THAT(violation(plan), Contains("sizes"));
}

TEST_CASE("passes report their effect") {
  const auto dataset = std::make_shared<JpegSet>(60);
  const PipelineSpec spec = busy_spec(CacheWhat::kNothing);
  const PlannedRun run = plan_run(spec, dataset, {2, Consumer::kNormalises});
  CHECK_THAT(explain(run), Contains("pass        scale_into_decode (approximate: photographs differ by "));
  const auto reason = [&](const PipelineSpec& other, Consumer consumer) {
    return note_of(plan_run(other, dataset, {2, consumer}).plan, "normalise_on_device").reason;
  };
  CHECK_THAT(reason(spec, Consumer::kHost), Contains("on the host"));
  PipelineSpec other = spec;
  other.output.type = ElementType::kBfloat16;
  CHECK_THAT(reason(other, Consumer::kNormalises), Contains("output.type is not float32"));
  other.output.type = ElementType::kUint8;
  CHECK_THAT(reason(other, Consumer::kNormalises), Contains("uint8 already"));
  other = spec;
  other.passes.clear();
  CHECK_THAT(reason(other, Consumer::kNormalises), Contains("enable it by passes: {normalise_on_device: true}"));
}

TEST_CASE("a device that normalises like the loader receives the same values in a quarter of the bytes") {
  const auto dataset = std::make_shared<JpegSet>(60);
  PipelineSpec spec = busy_spec(CacheWhat::kNothing);
  spec.output.layout = Layout::kNhwc;
  const auto expected = run(spec, dataset, {{}, 2});
  const auto seen = run(spec, dataset, {{}, 2, false, {}, Consumer::kNormalises});
  REQUIRE(seen.size() == expected.size());
  const Storer storer(spec.output);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    REQUIRE(seen[i].ids == expected[i].ids);
    REQUIRE(4 * seen[i].pixels.size() == expected[i].pixels.size());
    // The batch as one high image, normalised by the storer.
    const Size size = seen[i].size;
    const auto high = static_cast<int>(seen[i].ids.size()) * size.height;
    std::vector<float> values(seen[i].pixels.size());
    storer.store(Frame(PixelView{seen[i].pixels.data(), size.width, high, std::ptrdiff_t{size.width} * kChannels}),
                 values.data());
    CHECK(std::memcmp(values.data(), expected[i].pixels.data(), expected[i].pixels.size()) == 0);
  }
}

TEST_CASE("exact passes change no bit of any batch") {
  const auto dataset = std::make_shared<JpegSet>(60);
  for (const CacheWhat cache : {CacheWhat::kNothing, CacheWhat::kEncoded, CacheWhat::kPixels}) {
    PipelineSpec spec = busy_spec(cache);
    spec.passes.erase("scale_into_decode");
    const auto expected = run(spec, dataset, {{}, 2});
    for (const PassSwitch& pass : pass_switches()) {
      if (!pass.error.empty()) continue;
      PipelineSpec without = spec;
      without.passes[std::string(pass.name)] = false;
      CHECK(run(without, dataset, {{}, 2}) == expected);
    }
  }
}

TEST_CASE("every subset of exact passes delivers the same batches") {
  const auto dataset = std::make_shared<JpegSet>(20);
  std::vector<std::string> exact;
  for (const PassSwitch& pass : pass_switches())
    if (pass.error.empty() && applies(pass.name)) exact.emplace_back(pass.name);
  for (const CacheWhat cache : {CacheWhat::kNothing, CacheWhat::kPixels}) {
    PipelineSpec spec = small_spec(5, 1);
    spec.operations = {
        {"resize", {{"size", {56}}}}, {"random_resized_crop", {{"size", {40}}}}, {"horizontal_flip", {}}};
    spec.cache.what = cache;
    const auto expected = run(spec, dataset, {{}, 1});
    for (std::uint32_t subset = 0; subset < 1u << exact.size(); ++subset) {
      for (std::size_t i = 0; i < exact.size(); ++i) spec.passes[exact[i]] = (subset >> i & 1) != 0;
      CAPTURE(subset);
      CHECK(run(spec, dataset, {{}, 1}) == expected);
    }
  }
}

// Batches are the same with and without the pass, with and without crop_into_decode.
TEST_CASE("crop_into_resize changes no bit") {
  const auto dataset = std::make_shared<JpegSet>(60);
  const std::vector<std::vector<OpSpec>> chains{
      {{"resize", {{"size", {56}}}}, {"center_crop", {{"size", {48}}}}},
      {{"resize", {{"size", {56, 72}}, {"interpolation", {"bicubic"}}}}, {"center_crop", {{"size", {56, 40}}}}},
      // Beyond an edge.
      {{"resize", {{"size", {44, 60}}}}, {"center_crop", {{"size", {48}}}}},
      {{"resize", {{"size", {56}}, {"max_size", {57}}}}, {"center_crop", {{"size", {40}}}}},
      {{"resize", {{"size", {50, 50}}}}, {"pad_crop", {{"size", {48}}, {"padding", {0}}}}},
      {{"resize", {{"size", {64}}, {"interpolation", {"lanczos"}}}},
       {"random_resized_crop", {{"size", {48}}}},
       {"horizontal_flip", {}}},
      {{"random_resized_crop", {{"size", {64}}}}, {"center_crop", {{"size", {48}}}}, {"rand_augment", {}}},
  };
  for (const std::vector<OpSpec>& chain : chains) {
    PipelineSpec spec = busy_spec(CacheWhat::kNothing);
    spec.operations = chain;
    spec.passes.erase("scale_into_decode");
    INFO(chain[0].name << ", " << chain[1].name);
    const PassNote note = note_of(plan_of(spec, dataset), "crop_into_resize");
    INFO(note.reason);
    CHECK(note.applied);
    const auto seen = run(spec, dataset, {{}, 2});
    spec.passes["crop_into_decode"] = false;
    CHECK(run(spec, dataset, {{}, 2}) == seen);
    spec.passes["resize_into_decode"] = false;
    CHECK(run(spec, dataset, {{}, 2}) == seen);
    spec.passes["crop_into_resize"] = false;
    CHECK(run(spec, dataset, {{}, 2}) == seen);
    // At a reduced scale, the weights are the same with and without the pass.
    spec.passes["scale_into_decode"] = true;
    const auto reduced = run(spec, dataset, {{}, 2});
    spec.passes.erase("crop_into_resize");
    CHECK(run(spec, dataset, {{}, 2}) == reduced);
  }
}

TEST_CASE("a random crop is decoded in part even if the first draw is the whole image") {
  const auto dataset = std::make_shared<JpegSet>(60);
  PipelineSpec spec = small_spec(7);
  // Most of these draws exceed the image and select all of it.
  spec.operations[0] = {"random_resized_crop", {{"size", {48}}, {"scale", {0.97, 1}}}};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    spec.order.seed = seed;
    CHECK(note_of(plan_of(spec, dataset), "crop_into_decode").applied);
  }
  spec.operations[0] = {"resize", {{"size", {48, 48}}}};
  CHECK(note_of(plan_of(spec, dataset), "crop_into_decode").reason == "resize reads the whole image");
}

TEST_CASE("crop_into_resize gives the reason if it does not apply") {
  const auto dataset = std::make_shared<JpegSet>(60);
  const auto note = [&](std::vector<OpSpec> operations) {
    PipelineSpec spec = small_spec(7);
    spec.operations = std::move(operations);
    return note_of(plan_run(spec, dataset, {2}).plan, "crop_into_resize");
  };
  const OpSpec resize{"resize", {{"size", {48, 48}}}}, crop{"center_crop", {{"size", {48}}}};
  CHECK(note({crop}).reason == "no operation follows a resize");
  CHECK(note({crop, crop}).reason == "the first operation is not a plain resize");
  CHECK(note({resize, {"rotation", {}}}).reason == "rotation reads the whole output of resize");
  CHECK(note({resize, crop}).reason == "resize computes only the pixels that center_crop reads");
  CHECK(note_of(plan_run(small_spec(7), dataset, {2}).plan, "crop_into_resize").applied == false);
}

TEST_CASE("a switch of an unknown pass is rejected with the known names") {
  PipelineSpec spec = small_spec(7);
  spec.passes["crop_in_decode"] = false;
  CHECK_THROWS_WITH(plan_run(spec, std::make_shared<JpegSet>(60), {2}),
                    Contains("passes.crop_in_decode: unknown pass") && Contains("crop_into_decode"));
}

}  // namespace
}  // namespace unstarve
