#include "unstarve/diagnose/probes/gpu_probe.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "unstarve/core/clock.h"
#include "unstarve/core/machine/thread_time.h"
#include "unstarve/device/nvml_sampler.h"
#include "unstarve/diagnose/probes/gpu_recorder.h"

namespace unstarve {
namespace {

constexpr double kShortestLook = 0.1, kLongestLook = 10;  // seconds
constexpr auto kPatience = std::chrono::seconds(2);

// Whether the absence of GPUs needs an explanation.
bool is_surprising(NvmlProblem problem) {
  const char* const named = std::getenv("UNSTARVE_NVML");
  return (named != nullptr && *named != '\0') ||
         (problem != NvmlProblem::kNoLibrary && problem != NvmlProblem::kNoDriver);
}

}  // namespace

struct GpuProbe::Shared {
  GpuProbeOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false, ended = false;
  std::optional<GpuRecorder> recorder;
  std::string missing;
  double cpu_s = 0;
};

GpuProbe::GpuProbe(const GpuProbeOptions& options) : shared_(std::make_shared<Shared>()) {
  shared_->options = options;
  try {
    std::thread([shared = shared_] { run(shared); }).detach();
  } catch (const std::system_error& error) {
    shared_->ended = true;
    shared_->missing = error.what();
  }
}

GpuProbe::~GpuProbe() { stop(); }

void GpuProbe::run(const std::shared_ptr<Shared>& shared) {
  std::string missing;
  try {
    NvmlSampler sampler(shared->options.library);
    const GpuStates& states = sampler.states();
    std::unique_lock lock(shared->mutex);
    if (states.problem != NvmlProblem::kNone && is_surprising(states.problem)) missing = states.message;
    if (!states.gpus.empty()) shared->recorder.emplace(states, shared->options.root);
    while (shared->recorder && !shared->stop) {
      lock.unlock();
      const double before = 1e-9 * static_cast<double>(thread_cpu_ns());
      const std::vector<GpuLook> looks = sampler.look();
      const double after = 1e-9 * static_cast<double>(thread_cpu_ns());
      lock.lock();
      shared->recorder->add(seconds_now(), looks);
      shared->cpu_s = after;
      const std::chrono::duration<double> wait(
          std::clamp((after - before) / shared->options.cpu_share, kShortestLook, kLongestLook));
      shared->changed.wait_for(lock, wait, [&] { return shared->stop; });
    }
  } catch (const std::exception& error) {
    missing = error.what();
  }
  // The library is closed: it is not used while the process ends.
  const std::lock_guard lock(shared->mutex);
  shared->missing = missing;
  shared->ended = true;
  shared->changed.notify_all();
}

void GpuProbe::set_program(std::span<const ProcessUse> processes) {
  std::set<int> numbers;
  for (const ProcessUse& process : processes)
    if (process.pid != 0) numbers.insert(process.pid);
  const std::lock_guard lock(shared_->mutex);
  if (shared_->recorder) shared_->recorder->set_program(numbers);
}

double GpuProbe::take_utilisation() {
  const std::lock_guard lock(shared_->mutex);
  return shared_->recorder ? shared_->recorder->take_utilisation() : -1;
}

void GpuProbe::stop() {
  std::unique_lock lock(shared_->mutex);
  if (shared_->stop) return;  // of a driver that hangs, the patience has ended
  shared_->stop = true;
  shared_->changed.notify_all();
  if (!shared_->changed.wait_for(lock, kPatience, [this] { return shared_->ended; }) && shared_->missing.empty())
    shared_->missing = "the driver did not answer";
}

std::vector<GpuUse> GpuProbe::use(double from_s) const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->recorder ? shared_->recorder->use(from_s) : std::vector<GpuUse>();
}

std::string GpuProbe::missing() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->missing;
}

double GpuProbe::cpu_s() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->cpu_s;
}

}  // namespace unstarve
