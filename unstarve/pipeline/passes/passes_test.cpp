#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <set>

#include "unstarve/core/error.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;

const PassNote& note_of(const Plan& plan, std::string_view name) {
  return *std::find_if(plan.passes.begin(), plan.passes.end(), [&](const PassNote& note) { return note.name == name; });
}

// Every pass has something to do in it.
PipelineSpec busy_spec(CacheWhat cache) {
  PipelineSpec spec = small_spec(7);
  spec.operations.insert(spec.operations.begin() + 1, {"center_crop", {{"size", {40}}}});
  spec.execution.read_ahead = 8;
  spec.decode.reduced_scale = true;
  spec.cache.what = cache;
  spec.source.filter = {{}, {"3"}, 45, 0, 1.8};
  spec.source.take = 30;
  spec.passes["normalise_on_device"] = true;
  return spec;
}

TEST_CASE("names are unique, and each pass describes what it does") {
  std::set<std::string_view> names;
  REQUIRE(passes().size() == pass_switches().size());
  for (std::size_t i = 0; i < passes().size(); ++i) {
    const Pass* const pass = passes()[i];
    const PassSwitch& row = pass_switches()[i];
    CHECK(row.name == pass->name);
    CHECK(row.help == pass->help);
    CHECK(row.error == pass->error);
    CHECK(names.insert(pass->name).second);
    CHECK_FALSE(pass->help.empty());
    CHECK(pass->exact == pass->error.empty());  // what is not exact tells by how much it may be off
  }
}

Plan plan_of(const PipelineSpec& spec, const std::shared_ptr<const Dataset>& dataset) {
  return make_plan(spec, dataset, 2, Caches::kOpened, {}, Consumer::kNormalises);
}

// Interleaving is told, and never needed; data in memory have no place for an index.
bool applies(const Pass& pass) { return pass.name != "interleave" && pass.name != "scan_index"; }

TEST_CASE("each pass can be switched off singly, and the plan says so") {
  const auto dataset = std::make_shared<JpegSet>(60);
  for (const Pass* pass : passes()) {
    PipelineSpec spec = busy_spec(pass->name == "cache" ? CacheWhat::kEncoded : CacheWhat::kNothing);
    const auto name = std::string(pass->name);
    CHECK(note_of(plan_of(spec, dataset), name).applied == applies(*pass));
    spec.passes[name] = true;
    CHECK(note_of(plan_of(spec, dataset), name).applied == applies(*pass));
    spec.passes[name] = false;
    const Plan plan = plan_of(spec, dataset);
    CHECK_FALSE(note_of(plan, name).applied);
    CHECK(note_of(plan, name).reason == "switched off by passes." + name);
    for (const Pass* other : passes())
      if (other != pass && other->name != "cache") CHECK(note_of(plan, other->name).applied == applies(*other));
  }
}

TEST_CASE("passes tell their effect") {
  const auto dataset = std::make_shared<JpegSet>(60);
  const PipelineSpec spec = busy_spec(CacheWhat::kNothing);
  const Plan plan = plan_of(spec, dataset);
  CHECK_THAT(note_of(plan, "filter_before_decode").reason, Contains("30 of 60 records take part"));
  CHECK_THAT(note_of(plan, "filter_fusion").reason, Contains("3 conditions on a sample are decided in one visit"));
  CHECK_THAT(explain(plan), Contains("pass        scale_into_decode (approximate: photographs differ by "));
  CHECK(note_of(plan, "dead_field_removal").reason == "2 of 4 columns are not read: caption, licence");
  CHECK_THAT(note_of(plan, "interleave").reason, Contains("needless"));
  CHECK_THAT(explain(plan), Contains("pass        interleave (exact): not applied; needless"));
  // Whose consumer does not normalise, whose values are others than float32, or blended.
  const auto reason = [&](PipelineSpec other, Consumer consumer) {
    return note_of(make_plan(std::move(other), dataset, 2, Caches::kOpened, {}, consumer), "normalise_on_device")
        .reason;
  };
  CHECK_THAT(reason(spec, Consumer::kHost), Contains("on the host"));
  PipelineSpec other = spec;
  other.output.type = ElementType::kBfloat16;
  CHECK_THAT(reason(other, Consumer::kNormalises), Contains("output.type is another"));
  other.output.type = ElementType::kUint8;
  CHECK_THAT(reason(other, Consumer::kNormalises), Contains("uint8 as they are"));
  other = spec;
  other.passes.clear();
  CHECK_THAT(reason(other, Consumer::kNormalises), Contains("not asked for"));
}

TEST_CASE("a device that normalises as the loader does gets the same values, from a quarter of the bytes") {
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
    spec.decode.reduced_scale = false;
    const auto expected = run(spec, dataset, {{}, 2});
    for (const Pass* pass : passes()) {
      if (!pass->exact) continue;
      PipelineSpec without = spec;
      without.passes[std::string(pass->name)] = false;
      CHECK(run(without, dataset, {{}, 2}) == expected);
    }
  }
}

// Each record has a caption of 10 bytes, which read() leaves alone.
class CaptionedSet : public JpegSet {
 public:
  using JpegSet::JpegSet;
  std::uint64_t read_all(std::uint64_t id, RecordBuffer& record) const override {
    captions.fetch_add(1);
    read(id, record);
    return 10;
  }
  mutable std::atomic<int> captions{0};
};

TEST_CASE("columns that nothing uses are read where their removal is switched off, and change no bit") {
  const auto dataset = std::make_shared<CaptionedSet>(60);
  const auto device = open_device("cpu");
  for (const CacheWhat cache : {CacheWhat::kNothing, CacheWhat::kEncoded}) {
    for (const int read_ahead : {0, 8}) {
      PipelineSpec spec = small_spec(6);
      spec.execution.read_ahead = read_ahead;
      spec.cache.what = cache;
      dataset->captions = 0;
      const auto expected = run(spec, dataset, {{}, 1});
      CHECK(dataset->captions == 0);
      spec.passes["dead_field_removal"] = false;
      CHECK(run(spec, dataset, {{}, 1}) == expected);
      CHECK(dataset->captions >= 60);

      dataset->captions = 0;
      Loader loader(spec, dataset, *device, {{}, 1});
      while (loader.next()) continue;
      const std::string text = loader.explain();
      CHECK(dataset->captions >= 60);  // and the first records, for the plan
      CHECK_THAT(text, Contains("dead_field_removal (exact): not applied; switched off by passes.dead_field_removal"));
      CHECK_THAT(text, Contains(std::to_string(10 * dataset->captions) +
                                " bytes beside images and labels were read and dropped"));
    }
  }
}

// Its index tells the labels; reads show how the samples were chosen.
class LabelledSet final : public CountedSet {
 public:
  using CountedSet::CountedSet;
  std::optional<std::int64_t> known_label(std::uint64_t id) const override { return static_cast<std::int64_t>(id); }
};

TEST_CASE("filters take the same samples by headers or by whole images, at once or one after the other") {
  const LabelledSet dataset(60, {7, 20});
  PipelineSpec spec = busy_spec(CacheWhat::kNothing);
  const auto chosen = [&] {
    dataset.reads = 0;
    const auto set = choose_samples(spec, dataset, 2);
    std::vector<std::uint64_t> ids;
    for (std::uint64_t place = 0; place < set->size(); ++place) ids.push_back(set->id(place));
    return ids;
  };
  const auto expected = chosen();
  CHECK(expected.size() == 30);
  CHECK(dataset.reads == 59);  // the index tells the labels, and one is dropped
  spec.passes = {{"filter_fusion", false}};
  CHECK(chosen() == expected);
  CHECK(dataset.reads == 120);  // for two bounds on sizes
  spec.passes = {{"filter_before_decode", false}};
  CHECK(chosen() == expected);
  CHECK(dataset.reads == 119);  // all for their labels, those that are left for their sizes
  spec.passes["filter_fusion"] = false;
  CHECK(chosen() == expected);
  CHECK(dataset.reads == 180);
}

// The same batches with the pass and without it, and with or without the other one that then decodes less.
TEST_CASE("a crop goes through the resize before it without changing a bit") {
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
    spec.decode.reduced_scale = false;
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
    // Where the scale is reduced, by the same weights with the pass and without it.
    spec.decode.reduced_scale = true;
    const auto reduced = run(spec, dataset, {{}, 2});
    spec.passes.erase("crop_into_resize");
    CHECK(run(spec, dataset, {{}, 2}) == reduced);
  }
}

TEST_CASE("a random crop is decoded as a part, also where the first one that is drawn is the whole image") {
  const auto dataset = std::make_shared<JpegSet>(60);
  PipelineSpec spec = small_spec(7);
  // Most of these draws ask for more than the image has, which then is taken as a whole.
  spec.operations[0] = {"random_resized_crop", {{"size", {48}}, {"scale", {0.97, 1}}}};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    spec.order.seed = seed;
    CHECK(note_of(plan_of(spec, dataset), "crop_into_decode").applied);
  }
  spec.operations[0] = {"resize", {{"size", {48, 48}}}};
  CHECK(note_of(plan_of(spec, dataset), "crop_into_decode").reason == "resize reads the whole image");
}

TEST_CASE("a crop that has nothing to go through is told why") {
  const auto dataset = std::make_shared<JpegSet>(60);
  const auto note = [&](std::vector<OpSpec> operations) {
    PipelineSpec spec = small_spec(7);
    spec.operations = std::move(operations);
    return note_of(make_plan(spec, dataset, 2), "crop_into_resize");
  };
  const OpSpec resize{"resize", {{"size", {48, 48}}}}, crop{"center_crop", {{"size", {48}}}};
  CHECK(note({crop}).reason == "no operation behind a resize");
  CHECK(note({crop, crop}).reason == "the first operation does more than resize, or something else");
  CHECK(note({resize, {"rotation", {}}}).reason == "rotation reads all that resize makes");
  CHECK(note({resize, crop}).reason == "resize makes what center_crop reads, from the pixels that this takes");
  CHECK(note_of(make_plan(small_spec(7), dataset, 2), "crop_into_resize").applied == false);
}

TEST_CASE("a switch that names no pass is refused with the names there are") {
  PipelineSpec spec = small_spec(7);
  spec.passes["crop_in_decode"] = false;
  CHECK_THROWS_WITH(make_plan(spec, std::make_shared<JpegSet>(60), 2),
                    Contains("passes.crop_in_decode: there is no such pass") && Contains("crop_into_decode"));
}

}  // namespace
}  // namespace unstarve
