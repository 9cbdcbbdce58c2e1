// Utilisation of a consumer that takes t per batch, with a loader that takes 0.9 t per batch.
//
// The samples of a Block are microseconds of consumer work: the rate is the utilisation times 10^6. "resident": the
// same consumer without a loader. Consumer and loader sleep, because the comparison measures scheduling only.
#include <chrono>
#include <thread>

#include "bench/ours/sides.h"
#include "bench/ours/timed_set.h"
#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kOverlapSamples = 1'000'000;
constexpr TimedSet::Time kRead = std::chrono::milliseconds(2);
constexpr int kThreads = 4;
constexpr int kCalibration = 30;      // batches
constexpr double kLoaderShare = 0.9;  // loader time as a share of consumer time

PipelineSpec overlap_spec(const Job& job) {
  PipelineSpec spec;
  spec.order.seed = job.at("seed");
  spec.output = {ElementType::kUint8, Layout::kNhwc, {}};
  spec.batch = {job.at("batch"), LastBatch::kDrop};
  spec.execution.threads = kThreads;
  return spec;
}

class OverlapSide final : public Side {
 public:
  explicit OverlapSide(const Job& job)
      : resident_(job.value("resident", false)),
        device_(open_device("cpu")),
        loader_(overlap_spec(job), std::make_shared<TimedSet>(kOverlapSamples, [](std::uint64_t) { return kRead; }),
                *device_, {}) {
    for (int i = 0; i < kCalibration / 3; ++i) take();
    const auto start = Clock::now();
    for (int i = 0; i < kCalibration; ++i) take();
    work_ = std::chrono::duration_cast<std::chrono::microseconds>((Clock::now() - start) / kCalibration / kLoaderShare);
  }

  Block run(double seconds) override {
    Block block;
    const auto start = Clock::now();
    while (block.seconds < seconds) {
      if (!resident_) take();
      std::this_thread::sleep_for(work_);
      block.samples += work_.count();
      block.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    return block;
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    return {{"microseconds_per_batch", work_.count()}, {"threads", kThreads}};
  }

 private:
  void take() {
    if (!loader_.next()) throw Error(ErrorKind::kInternal, "bench: the endless loader has ended");
  }

  bool resident_;
  std::unique_ptr<Device> device_;
  Loader loader_;
  std::chrono::microseconds work_{0};
};

}  // namespace

std::unique_ptr<Side> make_overlap_side(const Job& job) { return std::make_unique<OverlapSide>(job); }

}  // namespace unstarve::bench
