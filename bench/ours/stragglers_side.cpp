// Samples that sleep, one in a hundred of them a hundred times as long: how much of the rate without stragglers is
// left.
//
// "even": all samples sleep the mean of those, which is as much work without any straggler. "order": exact or relaxed.
#include <chrono>

#include "bench/ours/sides.h"
#include "bench/ours/timed_set.h"
#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"

namespace unstarve::bench {
namespace {

constexpr std::uint64_t kSamples = 1'000'000;
constexpr std::uint64_t kEvery = 100;  // one in so many is a straggler,
constexpr int kTimes = 100;            // which takes so many times as long
constexpr TimedSet::Time kUsual = std::chrono::milliseconds(1);

PipelineSpec spec_of(const Job& job) {
  PipelineSpec spec;
  spec.order.seed = job.at("seed");
  spec.output = {ElementType::kUint8, Layout::kNhwc, {}};
  spec.batch = {job.at("batch"), LastBatch::kDrop};
  // They sleep, so that it is not the processors that bound how many there may be.
  spec.execution.threads = job.at("threads");
  spec.execution.order = job.at("order") == "relaxed" ? ExecutionOrder::kRelaxed : ExecutionOrder::kExact;
  return spec;
}

std::shared_ptr<const Dataset> set_of(const Job& job) {
  const bool even = job.value("even", false);
  return std::make_shared<TimedSet>(kSamples, [even](std::uint64_t id) -> TimedSet::Time {
    if (even) return kUsual * (kEvery - 1 + kTimes) / kEvery;
    return id % kEvery == 1 ? kUsual * kTimes : kUsual;
  });
}

class StragglersSide final : public Side {
 public:
  explicit StragglersSide(const Job& job)
      : device_(open_device("cpu")), loader_(spec_of(job), set_of(job), *device_, {}) {}

  Block run(double seconds) override {
    using Clock = std::chrono::steady_clock;
    Block block;
    const auto start = Clock::now();
    while (block.seconds < seconds) {
      const auto batch = loader_.next();
      if (!batch) throw Error(ErrorKind::kInternal, "bench: an endless loader came to an end");
      block.samples += static_cast<std::int64_t>(batch->samples());
      block.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    return block;
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    return {{"threads", loader_.threads()}, {"samples", kSamples}};
  }

 private:
  std::unique_ptr<Device> device_;
  Loader loader_;
};

}  // namespace

std::unique_ptr<Side> make_stragglers_side(const Job& job) { return std::make_unique<StragglersSide>(job); }

}  // namespace unstarve::bench
