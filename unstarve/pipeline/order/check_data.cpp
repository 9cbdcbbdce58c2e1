#include "unstarve/pipeline/order/check_data.h"

#include <algorithm>
#include <limits>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/pipeline/order/sample_facts.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {

namespace {

// A folder of images in one subfolder is a dataset of one class, which is rarely intended.
void report_one_class(const PipelineSpec& spec, const Dataset& dataset) {
  if (dataset.classes().size() != 1 || dataset.size() < 2) return;
  emit_notice(
      fmt::format("labels of {} ({}): found the class '{}' only, so every valid label is 0; expected two or more "
                  "classes. Use labels=None (YAML: source.labels: none; path: #label=none) for images alone.",
                  name_of_sources(spec), dataset.format(), dataset.classes().front()));
}

}  // namespace

void require_labels(const PipelineSpec& spec, const Dataset& dataset) {
  if (spec.declines_labels()) return;
  if (dataset.field_index(FieldKind::kLabel) >= 0) return report_one_class(spec, dataset);
  const std::string found = dataset.missing_labels();
  if (found.empty()) return;  // declined by an option of the path
  const std::string choice = dataset.label_choice();
  throw input_error(
      "labels of {} ({}): found {}; expected a class number or name for each image. Use labels=None (YAML: "
      "source.labels: none{}) for images alone, whose labels are then {}{}.",
      name_of_sources(spec), dataset.format(), found, choice.empty() ? "" : "; path: #label=none", kNoLabel,
      choice.empty() ? ""
                     : fmt::format(", or labels=\"NAME\" (source.labels: NAME; #label=NAME) to choose a {}", choice));
}

void require_one_size(const PipelineSpec& spec, const Dataset& dataset, const SampleSet& samples,
                      const std::function<void()>& check) {
  constexpr std::uint64_t kCompared = 64;
  if (spec.batch.pad.to != PadTo::kNothing || spec.errors.policy != OnError::kFail ||
      samples.records() > std::numeric_limits<std::uint32_t>::max())
    return;
  std::vector<std::unique_ptr<Operation>> operations;
  for (const OpSpec& operation : spec.operations) operations.push_back(make_operation(at_epoch(operation, 0)));
  if (std::any_of(operations.begin(), operations.end(), [](const auto& o) { return o->fixed_output(); })) return;
  std::vector<std::uint32_t> ids;
  const std::uint64_t compared = std::min(samples.size(), kCompared);
  for (std::uint64_t i = 0; i < compared; ++i)
    ids.push_back(static_cast<std::uint32_t>(samples.id(i * samples.size() / compared)));
  const auto stored = SampleFacts(dataset, threads_for_facts(spec), check).sizes(ids);
  std::size_t first = ids.size();
  Size expected;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!stored[i]) continue;  // the error policy applies when the sample is loaded
    Size size = *stored[i];
    try {
      for (const auto& operation : operations) size = operation->output_size(size);
    } catch (const Error&) {
      continue;
    }
    if (first == ids.size()) {
      first = i;
      expected = size;
    } else if (size != expected) {
      throw input_error(
          "batch: found images of different sizes, {}x{} ({}) and {}x{} ({}); expected one size. Add resize((height, "
          "width)), random_resized_crop(size) or another operation with a fixed size, or pad the images with "
          "batch(pad=True) (YAML: batch.pad.to: largest).",
          expected.width, expected.height, dataset.location(ids[first]), size.width, size.height,
          dataset.location(ids[i]));
    }
  }
}

void check_data(const PipelineSpec& spec, const Dataset& dataset, const SampleSet& samples,
                const std::function<void()>& check) {
  require_labels(spec, dataset);
  require_one_size(spec, dataset, samples, check);
}

}  // namespace unstarve
