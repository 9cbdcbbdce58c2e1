// From nothing opened to the first batch: the data set listed, the loader started, one batch made; all of it let go and
// opened again with another order. What closing takes is not counted. With "anew" in the job every time is the first
// ever: a listing kept by the one before is removed.
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
  explicit FirstBatchSide(const Job& job) : job_(job), spec_(pipeline_of(job)), anew_(job.value("uncached", false)) {}

  Block run(double seconds) override {
    Block block;
    for (; block.seconds < seconds; ++block.samples) {
      ++spec_.order.seed;
      if (anew_)
        for (const std::filesystem::path& place : index_paths(std::filesystem::canonical(spec_.source.path).string()))
          std::filesystem::remove(place);
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
      throw Error(ErrorKind::kInternal, "bench: " + spec_.source.path + ": the first batch is not whole");
    return seconds;
  }

  Job job_;
  PipelineSpec spec_;
  bool anew_;
};

}  // namespace

std::unique_ptr<Side> make_first_batch_side(const Job& job) { return std::make_unique<FirstBatchSide>(job); }

}  // namespace unstarve::bench
