#include "unstarve/jobs/training/validation_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "unstarve/pipeline/order/sources.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {

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
