#include "unstarve/jobs/training/train_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/core/cancel.h"
#include "unstarve/core/error.h"
#include "unstarve/pipeline/order/check_data.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

void check_classes(int classes, const PipelineSpec& spec, const Dataset& training) {
  const auto found = static_cast<std::size_t>(classes), of_data = training.classes().size();
  if (of_data > found)
    throw Error(ErrorKind::kArgument,
                fmt::format("train.classes: found {}; expected at least the {} of the data", found, of_data));
  if (of_data < found && !spec.batch_operations.empty())
    throw Error(ErrorKind::kArgument,
                fmt::format("train.classes: found {}; expected the {} of the data, for which the batch operations make "
                            "targets. Remove train.classes or pipeline.batch_operations",
                            found, of_data));
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
  // Without a source, its fault is known.
  if (has_source(specs.training) || !faults.any())
    faults.collect([&] { data.training = open_sources(specs.training); });
  if (data.training) {
    faults.collect([&] { require_labels_to_train(specs.training, *data.training); });
    faults.collect([&] { check_classes(specs.classes, specs.training, *data.training); });
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

PipelineSpec validation_spec(const Settings& settings, const PipelineSpec& given) {
  PipelineSpec spec = settings.pipeline;
  const TrainSettings& train = settings.train;
  const int side = train.evaluation_size > 0 ? train.evaluation_size : train.image_size;
  spec.operations = given.operations.empty() ? evaluation_operations(side) : given.operations;
  spec.source = given.source;
  spec.mix = given.mix;
  for (SourceSpec& source : spec.mix) {
    source.weight.reset();
    source.earlier_weights.clear();
  }
  const OrderSpec& order = settings.pipeline.order;
  spec.order = {false, order.seed, order.rank, order.world};
  spec.batch = {spec.batch.size, LastBatch::kKeep};
  spec.batch_operations.clear();  // evaluation uses unmixed images
  spec.cache = {};                // the cache is for the training data
  spec.device = {};
  if (spec.errors.policy == OnError::kReplace) spec.errors.policy = OnError::kSkip;  // none counts twice
  spec.execution.prefetch = std::max(1, spec.execution.prefetch);
  return spec;
}

void notify_ignored(const PipelineSpec& given) {
  std::vector<std::string> nodes;
  const OrderSpec& order = given.order;
  if (order.balance) nodes.push_back("order.balance");
  if (order.repeat > 1) nodes.push_back("order.repeat");
  if (order.epoch > 0) nodes.push_back("order.epoch");
  if (!given.mix.empty() && given.mix[0].weight) nodes.push_back("mix[].weight");
  if (!given.batch_operations.empty()) nodes.push_back("batch_operations");
  if (given.device != DeviceSpec{}) nodes.push_back("device");
  if (!nodes.empty())
    emit_notice(fmt::format("evaluation uses each sample of {} once: {} of its spec is ignored", name_of_sources(given),
                            fmt::join(nodes, ", ")));
}

}  // namespace unstarve
