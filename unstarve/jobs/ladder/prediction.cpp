#include "unstarve/jobs/ladder/prediction.h"

#include <algorithm>

namespace unstarve {
namespace {

// The loader makes the same pixels with the same work per sample.
bool same_work_per_sample(const PipelineSpec& a, const PipelineSpec& b) {
  return a.passes == b.passes && a.output.type == b.output.type && a.output.layout == b.output.layout &&
         a.batch.size == b.batch.size;
}

}  // namespace

GainPrediction predict_candidate(const Profile& profile, double step_s, const LadderContext& context,
                                 const Settings& now, const Settings& candidate) {
  if (candidate.host != now.host || candidate.train.operator_threads != now.train.operator_threads) return {};
  const int cores = context.machine.topology.usable();
  StepModel before = step_model_of(profile);
  before.threads = std::max(now.pipeline.execution.threads, 1);
  before.prefetch = now.pipeline.execution.prefetch;
  before.cores = cores;
  if (context.has_network() && !context.target.cuda()) before.consume_cpu_s = before.consume_s * cores;  // at most
  if (candidate.train != now.train || !same_work_per_sample(now.pipeline, candidate.pipeline)) {
    const bool consumer = now.pipeline.passes == candidate.pipeline.passes;
    return bound_gain(before, consumer ? StepSide::kConsumer : StepSide::kLoader, step_s);
  }
  StepModel after = before;
  after.threads = std::max(candidate.pipeline.execution.threads, 1);
  after.prefetch = candidate.pipeline.execution.prefetch;
  if (after.threads == before.threads && after.prefetch == before.prefetch) return {};
  return predict_gain(before, after, step_s);
}

}  // namespace unstarve
