// From opening to the first batch: lists the dataset, starts the loader, gets one batch; then closes everything and
// repeats with another order. Closing is not timed. With "uncached" in the job, the cached listing is removed each
// time.
#include <chrono>
#include <filesystem>

#include "bench/ours/jobs.h"
#include "bench/ours/sides.h"
#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/storage/index/index_paths.h"
#include "unstarve/storage/open.h"

namespace unstarve::bench {
namespace {

class FirstBatchSide final : public Side {
 public:
  explicit FirstBatchSide(const Job& job)
      : job_(job), spec_(pipeline_of(job)), uncached_(job.value("uncached", false)) {}

  Block run(double seconds) override {
    Block block;
    for (; block.seconds < seconds; ++block.samples) {
      ++spec_.order.seed;
      if (uncached_)
        for (const std::filesystem::path& path : index_paths(std::filesystem::canonical(spec_.source.path).string()))
          std::filesystem::remove(path);
      block.seconds += open_once();
    }
    return block;
  }

  nlohmann::json check(const std::optional<std::string>& sheet) override {
    return make_loader_side(job_)->check(sheet);  // the same pipeline
  }

 private:
  double open_once() {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto device = open_device("cpu");
    Loader loader(spec_, open_dataset(spec_.source.path, spec_.source.split), *device, {});
    const std::optional<Batch> batch = loader.next();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (!batch || batch->samples() != static_cast<std::size_t>(spec_.batch.size))
      throw Error(ErrorKind::kInternal, "bench: " + spec_.source.path + ": the first batch is incomplete");
    return seconds;
  }

  Job job_;
  PipelineSpec spec_;
  bool uncached_;
};

}  // namespace

std::unique_ptr<Side> make_first_batch_side(const Job& job) { return std::make_unique<FirstBatchSide>(job); }

}  // namespace unstarve::bench
