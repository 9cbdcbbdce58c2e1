// Batch operations in the loader: equal for any number of threads, applied to good samples only, rejected if
// impossible.
#include <catch2/catch.hpp>
#include <set>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/spec/check_spec.h"

namespace unstarve {
namespace {

TEST_CASE("batch operations are the same for any number of threads, and after a resume") {
  const auto dataset = std::make_shared<JpegSet>(60, std::set<std::uint64_t>{}, 60);
  for (const ElementType type :
       {ElementType::kFloat32, ElementType::kUint8, ElementType::kBfloat16, ElementType::kFloat16}) {
    PipelineSpec spec = small_spec(7, 1, 0);
    spec.output.type = type;
    spec.batch_operations = {{"label_smoothing", {}}, {"mixup", {{"probability", {0.5}}}}, {"cutmix", {}}};
    const auto expected = run(spec, dataset, {{}, 2});
    REQUIRE(expected.size() == 16);
    for (const Seen& seen : expected) CHECK(seen.targets.size() == 7 * 60);
    CHECK(expected[0].targets != expected[1].targets);
    spec.execution = {4, 3, true};
    CHECK(run(spec, dataset, {{}, 2}) == expected);
    CHECK(run(spec, dataset, {expected[5].position, 2}) == std::vector<Seen>(expected.begin() + 5, expected.end()));
  }
}

TEST_CASE("targets are the one-hot labels of the good samples") {
  const auto dataset = std::make_shared<JpegSet>(21, std::set<std::uint64_t>{4, 9}, 21);
  PipelineSpec spec = small_spec(7);
  spec.batch_operations = {{"one_hot", {}}};
  spec.errors.policy = OnError::kSkip;
  std::size_t samples = 0;
  for (const Seen& seen : run(spec, dataset, {{}, 1})) {
    REQUIRE(seen.targets.size() == seen.labels.size() * 21);
    for (std::size_t i = 0; i < seen.labels.size(); ++i, ++samples)
      for (std::size_t c = 0; c < 21; ++c)
        CHECK(seen.targets[i * 21 + c] == (static_cast<std::int64_t>(c) == seen.labels[i] ? 1.0f : 0.0f));
  }
  CHECK(samples == 19);
}

TEST_CASE("batch operations without classes, or with a label out of range, are rejected") {
  PipelineSpec spec = small_spec(7);
  spec.batch_operations = {{"mixup", {}}};
  const auto device = open_device("cpu");
  CHECK_THROWS_WITH(Loader(spec, std::make_shared<JpegSet>(21), *device, {}),
                    Catch::Matchers::Contains("no class labels"));
  Loader loader(spec, std::make_shared<JpegSet>(21, std::set<std::uint64_t>{}, 5), *device, {{}, 1});
  CHECK_THROWS_WITH(loader.next(), Catch::Matchers::Contains("expected 0 to 4"));
  spec.batch_operations = {{"mixup", {{"alpha", {-1}}}}};
  CHECK_THROWS_WITH(check_spec(spec), Catch::Matchers::Contains("batch_operations[0]"));
}

}  // namespace
}  // namespace unstarve
