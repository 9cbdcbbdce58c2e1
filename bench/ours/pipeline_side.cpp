// A pipeline given as YAML, with a consumer that takes a given time per batch.
#include <chrono>
#include <optional>
#include <thread>

#include "bench/ours/sides.h"
#include "unstarve/core/error.h"
#include "unstarve/core/profile.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/spec/spec_yaml.h"
#include "unstarve/storage/open.h"

namespace unstarve::bench {
namespace {

using Clock = std::chrono::steady_clock;

class PipelineSide final : public Side {
 public:
  explicit PipelineSide(const Job& job)
      : spec_(pipeline_from_yaml(job.at("pipeline"), "pipeline")),
        work_(job.value("consumer_ms", 0.0)),
        device_(open_device("cpu")),
        loader_(spec_, open_dataset(spec_.source.path, spec_.source.split), *device_, {}) {
    (void)run(job.value("warm_seconds", 0.0));
  }

  Block run(double seconds) override {
    Block block;
    const double cpu = process_cpu_seconds();
    const auto start = Clock::now();
    while (block.seconds < seconds) {
      const std::optional<Batch> batch = loader_.next();
      if (!batch) throw Error(ErrorKind::kInternal, "bench: the endless loader has ended");
      if (work_.count() > 0) std::this_thread::sleep_for(work_);
      block.samples += static_cast<std::int64_t>(batch->samples());
      block.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    block.cpu_seconds = process_cpu_seconds() - cpu;
    return block;
  }

  // The current settings and the decisions of the autotuner.
  nlohmann::json check(const std::optional<std::string>&) override {
    const Profile profile = loader_.profile();
    nlohmann::json decisions = nlohmann::json::array();
    for (const TuningStep& step : profile.tuning)
      decisions.push_back({{"seconds", step.seconds},
                           {"threads", step.threads},
                           {"prefetch", step.prefetch},
                           {"read_ahead", step.read_ahead},
                           {"reason", step.reason}});
    return {{"threads", profile.loader_threads},
            {"prefetch", profile.prefetch_batches},
            {"read_ahead", profile.read_ahead},
            {"decisions", decisions}};
  }

 private:
  PipelineSpec spec_;
  std::chrono::duration<double, std::milli> work_;
  std::unique_ptr<Device> device_;
  Loader loader_;
};

}  // namespace

std::unique_ptr<Side> make_pipeline_side(const Job& job) { return std::make_unique<PipelineSide>(job); }

}  // namespace unstarve::bench
