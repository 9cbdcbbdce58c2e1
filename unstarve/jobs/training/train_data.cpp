#include "unstarve/jobs/training/train_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>

#include "unstarve/core/cancel.h"
#include "unstarve/core/error.h"
#include "unstarve/pipeline/order/check_data.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {
namespace {

void check_classes(int classes, const Dataset& training) {
  if (training.classes().size() > static_cast<std::size_t>(classes))
    throw Error(ErrorKind::kArgument, fmt::format("train.classes: found {}; expected at least the {} of the data",
                                                  classes, training.classes().size()));
}

void check_equal_classes(const Dataset& training, const Dataset& validation) {
  if (training.classes() != validation.classes())
    throw Error(ErrorKind::kInput,
                fmt::format("validation data: classes {}; expected the classes of the training data, {}",
                            fmt::join(validation.classes(), ", "), fmt::join(training.classes(), ", ")));
}

}  // namespace

bool has_source(const PipelineSpec& spec) { return !spec.source.path.empty() || !spec.mix.empty(); }

void require_labels_to_train(const PipelineSpec& spec, const Dataset& dataset) {
  require_labels(spec, dataset);
  if (spec.declines_labels() || dataset.field_index(FieldKind::kLabel) < 0)
    throw Error(ErrorKind::kArgument,
                fmt::format("train {}: labels: none; expected labels to train and evaluate with. Choose a column with "
                            "#label=NAME or source.labels: NAME.",
                            name_of_sources(spec)));
}

TrainData open_train_data(const TrainDataSpecs& specs, std::stop_token stop, ConfigurationFaults& faults) {
  const CancelScope scope(std::move(stop));
  TrainData data;
  faults.collect([&] { data.training = open_sources(specs.training); });
  if (data.training) {
    faults.collect([&] { require_labels_to_train(specs.training, *data.training); });
    faults.collect([&] { check_classes(specs.classes, *data.training); });
  }
  if (!has_source(specs.validation)) return data;
  faults.collect([&] {
    try {
      data.validation = open_sources(specs.validation);
    } catch (const Error& error) {
      throw Error(error.kind(), std::string("--val: ") + error.what());
    }
  });
  if (data.validation) faults.collect([&] { require_labels_to_train(specs.validation, *data.validation); });
  if (data.training && data.validation) faults.collect([&] { check_equal_classes(*data.training, *data.validation); });
  return data;
}

}  // namespace unstarve
