#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/loader/loader_fixtures.h"
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
  spec.execution.read_ahead = 8;
  spec.decode.reduced_scale = true;
  spec.cache.what = cache;
  return spec;
}

TEST_CASE("names are unique, and each pass tells what it does") {
  std::set<std::string_view> names;
  for (const Pass* pass : passes()) {
    CHECK(names.insert(pass->name).second);
    CHECK_FALSE(pass->help.empty());
  }
}

TEST_CASE("each pass can be switched off singly, and the plan says so") {
  const auto dataset = std::make_shared<JpegSet>(60);
  for (const Pass* pass : passes()) {
    PipelineSpec spec = busy_spec(pass->name == "cache" ? CacheWhat::kEncoded : CacheWhat::kNothing);
    const auto name = std::string(pass->name);
    CHECK(note_of(make_plan(spec, dataset, 2), name).applied);
    spec.passes[name] = true;
    CHECK(note_of(make_plan(spec, dataset, 2), name).applied);
    spec.passes[name] = false;
    const Plan plan = make_plan(spec, dataset, 2);
    CHECK_FALSE(note_of(plan, name).applied);
    CHECK(note_of(plan, name).reason == "switched off by passes." + name);
    for (const Pass* other : passes())
      if (other != pass && other->name != "cache") CHECK(note_of(plan, other->name).applied);
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

TEST_CASE("a switch that names no pass is refused with the names there are") {
  PipelineSpec spec = small_spec(7);
  spec.passes["crop_in_decode"] = false;
  CHECK_THROWS_WITH(make_plan(spec, std::make_shared<JpegSet>(60), 2),
                    Contains("passes.crop_in_decode: there is no such pass") && Contains("crop_into_decode"));
}

}  // namespace
}  // namespace unstarve
