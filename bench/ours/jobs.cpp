#include "bench/ours/jobs.h"

#include "unstarve/core/error.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve::bench {

PipelineSpec pipeline_of(const Job& job) {
  const std::string name = job.at("job");
  PipelineSpec spec;
  spec.source.path = job.value("data", "");
  spec.order.seed = job.at("seed");
  spec.batch.size = job.at("batch");
  spec.execution.threads = job.at("cores");
  spec.output.type = ElementType::kFloat32;
  if (name == "imagenet-train") {
    spec.operations = training_operations(224, {500, 375});
    spec.output.normalisation = kImagenetNormalisation;
    spec.passes["scan_index"] = job.value("indexed", false);
  } else if (name == "imagenet-eval") {
    spec.operations = evaluation_operations(224);
    spec.passes["scan_index"] = job.value("indexed", false);
    spec.output.normalisation = kImagenetNormalisation;
  } else if (name == "packed-raw-256") {
    spec.output = {ElementType::kUint8, Layout::kNhwc, {}};
  } else if (name == "cifar-train" || name == "folder-first-batch") {
    if (name == "cifar-train") spec.source.split = "train";
    spec.operations = training_operations(32, {32, 32});
    spec.output.normalisation = kCifar10Normalisation;
  } else if (name == "trivial") {
    // Samples of almost no cost: measures the overhead of the loader.
    spec.source.path = job.at("source");
    spec.output = {ElementType::kUint8, Layout::kNhwc, {}};
  } else {
    throw Error(ErrorKind::kArgument, "bench: unknown job '" + name +
                                          "'; expected imagenet-train, imagenet-eval, packed-raw-256, cifar-train, "
                                          "folder-first-batch or trivial");
  }
  spec.execution.read_ahead = job.value("read_ahead", spec.execution.read_ahead);
  // A pass enabled on both sides, and a pass disabled on this side.
  if (job.contains("with")) spec.passes[job.at("with")] = true;
  if (job.contains("without")) spec.passes[job.at("without")] = false;
  return spec;
}

}  // namespace unstarve::bench
