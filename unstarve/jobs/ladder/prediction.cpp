#include "unstarve/jobs/ladder/prediction.h"

#include <algorithm>

namespace unstarve {
namespace {

constexpr double kVariation = 0.02;

// The loader makes the same pixels with the same work per sample.
bool same_work_per_sample(const PipelineSpec& a, const PipelineSpec& b) {
  return a.passes == b.passes && a.output.type == b.output.type && a.output.layout == b.output.layout &&
         a.batch.size == b.batch.size;
}

// Without prefetched batches the consumer waits for a whole batch: its times are those of the blocks, without the first
// batches that the profile includes.
void fit_load(StepModel& model, double wait_s) {
  const double modelled = (model.load_cpu_s + model.load_wait_s) / model.threads;
  if (modelled <= 0 || wait_s <= 0) return;
  model.load_cpu_s *= wait_s / modelled;
  model.load_wait_s *= wait_s / modelled;
}

}  // namespace

GainPrediction predict_candidate(const Profile& profile, const MeasuredStep& step, const LadderContext& context,
                                 const Settings& now, const Settings& candidate) {
  if (candidate.host != now.host || candidate.train.operator_threads != now.train.operator_threads) return {};
  const int cores = context.machine.topology.usable();
  StepModel before = step_model_of(profile);
  before.threads = std::max(now.pipeline.execution.threads, 1);
  before.prefetch = now.pipeline.execution.prefetch;
  before.cores = cores;
  before.consume_s = step.seconds - step.wait_s;
  if (before.prefetch == 0) fit_load(before, step.wait_s);
  if (context.has_network() && !context.target.cuda()) before.consume_cpu_s = before.consume_s * cores;  // at most
  if (candidate.train != now.train || !same_work_per_sample(now.pipeline, candidate.pipeline)) {
    const bool consumer = now.pipeline.passes == candidate.pipeline.passes;
    return bound_gain(before, consumer ? StepSide::kConsumer : StepSide::kLoader, step.seconds);
  }
  StepModel after = before;
  after.threads = std::max(candidate.pipeline.execution.threads, 1);
  after.prefetch = candidate.pipeline.execution.prefetch;
  if (after.threads == before.threads && after.prefetch == before.prefetch) return {};
  GainPrediction prediction = predict_gain(before, after, step.seconds);
  prediction.low *= 1 - kVariation;
  prediction.high *= 1 + kVariation;
  return prediction;
}

}  // namespace unstarve
