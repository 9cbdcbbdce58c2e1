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
                fmt::format("resuming from {}: {}; expected the data, seed, filters and order that it was "
                            "trained with",
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
  ResumePosition place{pipeline, {std::move(samples), {}}, data_identity(dataset), {}, 0, 0};
  if (!done.data.empty()) {
    RunStart start = start_of(RunState(pipeline, place.basis.samples, place.data), done, checkpoint);
    place.start = std::move(start.at);
    place.basis.stretches = std::move(start.stretches);
    if (start.bucket_run != 0) place.pipeline.batch.bucket.run = start.bucket_run;
  }
  const Order order(place.pipeline.order, place.pipeline.batch, place.basis);
  place.per_epoch = static_cast<std::int64_t>(order.batches_per_epoch());
  if (done.data.empty() && done.step > 0) {
    if (pipeline.execution.order == ExecutionOrder::kRelaxed)
      throw Error(ErrorKind::kArgument,
                  fmt::format("resuming from {}: found {} steps, but not which samples they used (it is of an earlier "
                              "version), which in relaxed order does not follow from that; expected exact order",
                              checkpoint, done.step));
    emit_notice(
        fmt::format("{} does not say where in the data its run stood (it is of an earlier version): going on "
                    "behind {} batches of {}, which is right if data, filters, seed, batch size and ranks are "
                    "as they were",
                    checkpoint, done.step, pipeline.batch.size));
    place.start.epoch = static_cast<std::uint32_t>(done.step / place.per_epoch);
    place.start.batch = static_cast<std::uint64_t>(done.step % place.per_epoch);
    return place;
  }
  const auto left = static_cast<std::int64_t>(order.rest(place.start.offset, place.start.used).batches_per_epoch());
  const std::int64_t passed = (static_cast<std::int64_t>(place.start.epoch) + 1) * place.per_epoch - left;
  place.first_step = done.step - passed;
  return place;
}

}  // namespace unstarve
