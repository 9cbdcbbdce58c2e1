#include "unstarve/pipeline/plan/plan.h"

#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <vector>

#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"

namespace unstarve {
namespace {

std::size_t values_in(const BatchField& field) {
  std::size_t values = 1;
  for (const std::size_t length : field.shape) values *= length;
  return values;
}

TEST_CASE("the fields of a batch are those that the loader delivers") {
  constexpr std::size_t kClasses = 20;
  const auto dataset = std::make_shared<JpegSet>(20, std::set<std::uint64_t>{}, kClasses);
  PipelineSpec spec = small_spec(7);
  for (const StoreFormat& output :
       {StoreFormat{ElementType::kFloat32, Layout::kNchw, kImagenetNormalisation},
        StoreFormat{ElementType::kUint8, Layout::kNhwc, {}}, StoreFormat{ElementType::kBfloat16, Layout::kNhwc, {}}}) {
    for (const bool mixes : {false, true}) {
      spec.output = output;
      spec.batch_operations = mixes ? std::vector<OpSpec>{{"mixup", {}}} : std::vector<OpSpec>{};
      const std::vector<BatchField> fields = batch_fields(plan_run(spec, dataset, {2}).plan);
      const Seen batch = run(spec, dataset, {{}, 1}).at(0);
      REQUIRE(fields.size() == (mixes ? 4 : 3));
      CHECK(fields[0].name == "image");
      CHECK(fields[0].type == name_of(output.type));
      CHECK(values_in(fields[0]) * element_bytes(output.type) == batch.pixels.size());
      CHECK(fields[0].shape[output.layout == Layout::kNchw ? 1 : 3] == 3);
      CHECK(values_in(fields[1]) == batch.labels.size());
      CHECK(values_in(fields[2]) == batch.ids.size());
      if (mixes) CHECK(values_in(fields[3]) == batch.targets.size());
    }
  }
}

}  // namespace
}  // namespace unstarve
