#include "unstarve/jobs/inference/model_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "unstarve/core/error.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

std::string shape_text(std::span<const std::int64_t> shape) {
  std::vector<std::string> sides;
  for (const std::int64_t side : shape) sides.push_back(side < 0 ? "?" : std::to_string(side));
  return fmt::format("{}", fmt::join(sides, " x "));
}

}  // namespace

std::vector<std::int64_t> sample_shape(const std::string& what, const ModelFacts& model, int image_size) {
  const auto fail = [&](const std::string& text) { throw Error(ErrorKind::kInput, fmt::format("{}: {}", what, text)); };
  if (model.inputs.size() != 1) fail(fmt::format("found {} inputs; expected one, the images", model.inputs.size()));
  if (model.outputs.empty()) fail("found no output; expected one, the classes");
  const TensorFacts& input = model.inputs[0];
  if (input.type != "float32") fail(fmt::format("input {} is {}; expected float32", input.name, input.type));
  const auto& shape = input.shape;
  if (shape.size() != 4 || (shape[1] != kChannels && shape[1] != -1))
    fail(fmt::format("input {} is {}; expected images: batch x 3 x height x width", input.name, shape_text(shape)));
  std::vector<std::int64_t> sample{kChannels};
  for (const std::int64_t side : {shape[2], shape[3]}) {
    if (side < 0 && image_size == 0)
      fail(fmt::format("input {} is {}, without a size of the images; expected one. Pass --image-size", input.name,
                       shape_text(shape)));
    if (side >= 0 && image_size > 0 && side != image_size)
      fail(
          fmt::format("--image-size {}: input {} is {}; expected its size", image_size, input.name, shape_text(shape)));
    sample.push_back(side < 0 ? image_size : side);
  }
  if (sample[1] != sample[2])
    fail(fmt::format("input {} is {}; expected square images", input.name, shape_text(shape)));
  return sample;
}

std::size_t classes_of(const std::string& what, const CompiledFacts& compiled, int batch) {
  const auto& shape = compiled.output_shape;
  const std::size_t values = values_of(shape);
  if (shape.empty() || shape[0] != batch || values / static_cast<std::size_t>(batch) < 2)
    throw Error(ErrorKind::kInput,
                fmt::format("{}: the first output is {} for a batch of {}; expected batch x classes, at least two",
                            what, shape_text(shape), batch));
  return values / static_cast<std::size_t>(batch);
}

bool labels_fit(const std::string& what, const PipelineSpec& data, const Dataset& dataset, std::size_t classes) {
  const std::size_t named = dataset.classes().size();
  if (data.declines_labels() || dataset.field_index(FieldKind::kLabel) < 0) return false;
  if (named > classes)
    throw Error(ErrorKind::kInput,
                fmt::format("{}: the model has {} classes and the data {}; expected at most {} classes. Pass the "
                            "model of this data, or a spec with source.labels: none",
                            what, classes, named, classes));
  if (named > 0 && named < classes) {
    emit_notice(fmt::format("accuracy unknown: the model has {} classes and the data {}", classes, named));
    return false;
  }
  return true;
}

}  // namespace unstarve
