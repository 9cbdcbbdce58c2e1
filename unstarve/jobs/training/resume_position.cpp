#include "unstarve/jobs/training/resume_position.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/order/run_state.h"
#include "unstarve/storage/dataset/data_identity.h"

namespace unstarve {
namespace {

RunStart start_of(const RunState& run, const TrainProgress& done, const std::string& checkpoint) {
  try {
    return run.start(std::vector{done.data});
  } catch (const Error& error) {
    throw Error(error.kind(),
                fmt::format("resume from {}: {}. Continue with the data, seed, filters and order of the original run",
                            checkpoint, error.what()));
  }
}

EpochSteps steps_of_epochs(const Order& order) {
  std::vector<std::int64_t> first;
  const std::uint32_t changing = order.shares().empty() ? 0 : order.shares().back().epoch;
  for (std::uint32_t epoch = 0; epoch < changing; ++epoch)
    first.push_back(static_cast<std::int64_t>(order.of_epoch(epoch).batches_per_epoch()));
  return EpochSteps(static_cast<std::int64_t>(order.of_epoch(changing).batches_per_epoch()), std::move(first));
}

}  // namespace

std::string ResumePosition::state(const RankProgress& progress) const {
  const RunState run(pipeline, basis.samples, data);
  return run.text(progress, basis.stretches.empty() ? run.first_stretches() : basis.stretches);
}

ResumePosition resume_position_in(const PipelineSpec& pipeline, const Dataset& dataset, OrderBasis basis,
                                  const TrainProgress& done, const std::string& checkpoint) {
  if (done.data.empty() && done.step > 0)
    throw Error(ErrorKind::kArgument,
                fmt::format("resume from {}: found {} steps but no position in the data; expected a checkpoint of "
                            "unstarve train. Start a new run with these weights (--weights)",
                            checkpoint, done.step));
  ResumePosition position{pipeline, std::move(basis), data_identity(dataset), {}, {}, 0};
  if (!done.data.empty()) {
    RunStart start = start_of(RunState(pipeline, position.basis.samples, position.data), done, checkpoint);
    position.start = std::move(start.at);
    position.basis.stretches = std::move(start.stretches);
    if (start.bucket_run != 0) position.pipeline.batch.bucket.run = start.bucket_run;
  }
  const Order order(position.pipeline.order, position.pipeline.batch, position.basis);
  position.epoch_steps = steps_of_epochs(order);
  const Order of_epoch = order.of_epoch(position.start.epoch);
  const auto left =
      static_cast<std::int64_t>(of_epoch.remaining(position.start.offset, position.start.used).batches_per_epoch());
  position.first_step = done.step - (position.epoch_steps.before(std::int64_t{position.start.epoch} + 1) - left);
  return position;
}

}  // namespace unstarve
