// Rate with stragglers: samples sleep, one in a hundred of them a hundred times as long.
//
// "even": all samples sleep the mean time: the same work without stragglers. "order": exact or relaxed.
#include <chrono>

#include "bench/ours/sides.h"
#include "bench/ours/timed_set.h"
#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve::bench {
namespace {

constexpr std::uint64_t kStragglerSamples = 1'000'000;
constexpr std::uint64_t kEvery = 100;  // one of kEvery samples is a straggler,
constexpr int kTimes = 100;            // which takes kTimes as long
constexpr TimedSet::Time kNormal = std::chrono::milliseconds(1);

PipelineSpec stragglers_spec(const Job& job) {
  PipelineSpec spec;
  spec.source.labels = "none";
  spec.order.seed = job.at("seed");
  spec.output = {ElementType::kUint8, Layout::kNhwc, {}};
  spec.batch = {job.at("batch"), LastBatch::kDrop};
  // Samples sleep, so there may be more threads than CPU cores.
  spec.execution.threads = job.at("threads");
  spec.execution.order = job.at("order") == "relaxed" ? ExecutionOrder::kRelaxed : ExecutionOrder::kExact;
  return spec;
}

std::shared_ptr<const Dataset> set_of(const Job& job) {
  const bool even = job.value("even", false);
  return std::make_shared<TimedSet>(kStragglerSamples, [even](std::uint64_t id) -> TimedSet::Time {
    if (even) return kNormal * (kEvery - 1 + kTimes) / kEvery;
    return id % kEvery == 1 ? kNormal * kTimes : kNormal;
  });
}

class StragglersSide final : public Side {
 public:
  explicit StragglersSide(const Job& job)
      : device_(open_device("cpu")), loader_(stragglers_spec(job), set_of(job), *device_, {}) {}

  Block run(double seconds) override {
    using Clock = std::chrono::steady_clock;
    Block block;
    const auto start = Clock::now();
    while (block.seconds < seconds) {
      const auto batch = loader_.next();
      if (!batch) throw Error(ErrorKind::kInternal, "bench: the endless loader has ended");
      block.samples += static_cast<std::int64_t>(batch->samples());
      block.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    return block;
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    return {{"threads", loader_.threads()}, {"samples", kStragglerSamples}};
  }

 private:
  std::unique_ptr<Device> device_;
  Loader loader_;
};

}  // namespace

std::unique_ptr<Side> make_stragglers_side(const Job& job) { return std::make_unique<StragglersSide>(job); }

}  // namespace unstarve::bench
