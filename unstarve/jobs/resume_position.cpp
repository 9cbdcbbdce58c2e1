#include "unstarve/jobs/resume_position.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/order/run_state.h"
#include "unstarve/storage/dataset/data_identity.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

RunStart start_of(const RunState& run, const TrainProgress& done, const std::string& checkpoint) {
  try {
    return run.start(std::vector{done.data});
  } catch (const Error& error) {
    throw Error(error.kind(),
                fmt::format("resume from {}: {}; expected the data, seed, filters and order of the original "
                            "run",
                            checkpoint, error.what()));
  }
}

}  // namespace

std::int64_t ResumePosition::steps_of(double epochs) const {
  return first_step + std::llround(std::ceil(epochs * static_cast<double>(per_epoch)));
}

double ResumePosition::epochs_at(std::int64_t step) const {
  return static_cast<double>(step - first_step) / static_cast<double>(per_epoch);
}

std::string ResumePosition::state(const RankProgress& progress) const {
  const RunState run(pipeline, basis.samples, data);
  return run.text(progress, basis.stretches.empty() ? run.first_stretches() : basis.stretches);
}

ResumePosition resume_position_in(const PipelineSpec& pipeline, const Dataset& dataset,
                                  std::shared_ptr<const SampleSet> samples, const TrainProgress& done,
                                  const std::string& checkpoint) {
  ResumePosition position{pipeline, {std::move(samples), {}}, data_identity(dataset), {}, 0, 0};
  if (!done.data.empty()) {
    RunStart start = start_of(RunState(pipeline, position.basis.samples, position.data), done, checkpoint);
    position.start = std::move(start.at);
    position.basis.stretches = std::move(start.stretches);
    if (start.bucket_run != 0) position.pipeline.batch.bucket.run = start.bucket_run;
  }
  const Order order(position.pipeline.order, position.pipeline.batch, position.basis);
  position.per_epoch = static_cast<std::int64_t>(order.batches_per_epoch());
  if (done.data.empty() && done.step > 0) {
    if (pipeline.execution.order == ExecutionOrder::kRelaxed)
      throw Error(ErrorKind::kArgument,
                  fmt::format("resume from {}: found {} steps but not the samples they used (written by an earlier "
                              "version); relaxed order requires these. Use exact order",
                              checkpoint, done.step));
    emit_notice(
        fmt::format("{} has no resume position in the data (written by an earlier version): continuing "
                    "after {} batches of {}, which is correct if data, filters, seed, batch size and ranks are "
                    "unchanged",
                    checkpoint, done.step, pipeline.batch.size));
    position.start.epoch = static_cast<std::uint32_t>(done.step / position.per_epoch);
    position.start.batch = static_cast<std::uint64_t>(done.step % position.per_epoch);
    return position;
  }
  const auto left =
      static_cast<std::int64_t>(order.remaining(position.start.offset, position.start.used).batches_per_epoch());
  const std::int64_t passed = (static_cast<std::int64_t>(position.start.epoch) + 1) * position.per_epoch - left;
  position.first_step = done.step - passed;
  return position;
}

}  // namespace unstarve
