// With an engine that is a shell script; tests/python/infer has the real ones.

#include "unstarve/jobs/inference/evaluation_images.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/order/sample_set.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kImages = 24;
const std::set<std::uint64_t> kUnreadable{0, 3, 4, 9, 15, 16, 22};

// Inputs of 1 x 3 x 2 x 2, outputs of 1 x 4.
EngineProcess silent_engine() {
  const std::string script = R"(while read line; do case $line in
    *load*) echo '{"version": "7", "inputs": [{"name": "images", "type": "float32", "shape": [-1, 3, 2, 2]}],)"
                             R"( "outputs": [{"name": "classes", "type": "float32", "shape": [-1, 4]}]}';;
    *shape*) echo '{"output_shape": [1, 4], "precision": "float32", "kernels": {}}';;
    *memory*) echo '{}';;
    *run*) n=${line#*:}; n=${n%\}}; echo "{\"done\": $n}";; esac; done)";
  return {EngineCommand{"silent", {"/bin/sh", "-c", script}}, "m.onnx"};
}

EvaluationImages some_images() {
  EvaluationImages images;
  images.data.spec.errors.policy = OnError::kSkip;
  images.dataset = std::make_shared<JpegSet>(kImages, kUnreadable);
  images.samples = std::make_shared<SampleSet>(kImages);
  return images;
}

TEST_CASE("images of a run, and those that another run skips, are different ones, also if some cannot be read") {
  EngineProcess engine = silent_engine();
  const CompiledEngine compiled{engine, 2, {}};
  engine.compile(compiled.settings, std::vector<std::int64_t>{3, 2, 2}, 3);
  const EvaluationImages images = some_images();
  const auto run = [&](std::uint64_t count, std::uint64_t skip) {
    std::vector<std::uint64_t> ids;
    const std::uint64_t used = run_images(compiled, images, {.what = "test", .images = count, .skip = skip, .seed = 5},
                                          [&](const FedSamples& samples, std::span<const float> outputs) {
                                            CHECK(outputs.size() == 4 * samples.ids.size());
                                            ids.insert(ids.end(), samples.ids.begin(), samples.ids.end());
                                          });
    CHECK(used == ids.size());
    return ids;
  };
  for (const std::uint64_t first : {8, 12, 17}) {
    CAPTURE(first);
    std::vector<std::uint64_t> all = run(first, 0);
    CHECK(all.size() < first);
    CHECK(run(first, 0) == all);
    std::ranges::copy(run(0, first), std::back_inserter(all));
    CHECK(all.size() == kImages - kUnreadable.size());
    CHECK(std::set(all.begin(), all.end()).size() == all.size());
  }
  CHECK(run(0, 0).size() == kImages - kUnreadable.size());
}

}  // namespace
}  // namespace unstarve
