// Recorders of a build against a CPU package of libtorch: by its device-generic interface (2.13 and later), which works
// when the program runs with a CUDA package.

#include "unstarve/torch/graphs/step_recorder.h"

#include <memory>
#include <utility>

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#if __has_include(<ATen/core/GraphImplInterface.h>)
#include <ATen/core/GraphImplInterface.h>  // since 2.13
#define UNSTARVE_GENERIC_GRAPHS
#endif

namespace unstarve {

#ifdef UNSTARVE_GENERIC_GRAPHS
namespace {

// Shared by the steps of a recorder. The allocator forgets a pool with the last graph that uses it.
using Pool = std::shared_ptr<const c10::MempoolId_t>;

class GenericStep final : public RecordedStep {
 public:
  GenericStep(Pool pool, std::unique_ptr<at::GraphImplInterface> graph)
      : pool_(std::move(pool)), graph_(std::move(graph)) {}
  void replay() override { graph_->replay(); }

 private:
  Pool pool_;
  std::unique_ptr<at::GraphImplInterface> graph_;
};

class GenericRecorder final : public StepRecorder {
 public:
  explicit GenericRecorder(torch::Device device)
      : device_(device),
        stream_(c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, /*isHighPriority=*/false)) {}

  void warm_up(const std::function<void()>& work) override {
    at::accelerator::synchronizeDevice(device_.index());
    {
      const c10::StreamGuard guard(stream_);
      work();
    }
    at::accelerator::synchronizeDevice(device_.index());
  }

  std::unique_ptr<RecordedStep> record(const std::function<void()>& work) override {
    at::accelerator::synchronizeDevice(device_.index());
    at::accelerator::emptyCache();  // of the memory of the warm-ups
    const c10::StreamGuard guard(stream_);
    at::Generator generator = at::globalContext().defaultGenerator(device_);
    const at::Generator before = generator.clone();
    auto graph = at::create_graph_impl(device_.type());
    Pool pool = pool_.lock();
    try {
      graph->capture_begin(pool != nullptr ? *pool : kNewPool, at::GraphCaptureMode::ThreadLocal);
      work();
      graph->capture_end();
    } catch (...) {
      // The allocator may still refer to the graph, so that is never deleted. Nothing is recorded after a failure.
      end_failed(*graph.release());
      generator.graphsafe_set_state(before);  // it may still be that of a recording
      throw;
    }
    if (pool == nullptr) pool = std::make_shared<const c10::MempoolId_t>(graph->pool());
    pool_ = pool;
    return std::make_unique<GenericStep>(std::move(pool), std::move(graph));
  }

 private:
  // The stream must no longer be recording. The error of this call says only that the recording is invalid.
  static void end_failed(at::GraphImplInterface& graph) {
    try {
      graph.capture_end();
    } catch (const std::exception&) {
    }
  }

  static constexpr c10::MempoolId_t kNewPool{0, 0};

  torch::Device device_;
  c10::Stream stream_;
  std::weak_ptr<const c10::MempoolId_t> pool_;
};

RecorderChoice generic_recorder(torch::Device device) {
  if (!at::has_graph_impl(device.type()))
    return {.reason = fmt::format("libtorch {} has no graphs for {}", TORCH_VERSION, device.str())};
  return {.recorder = std::make_unique<GenericRecorder>(device)};
}

}  // namespace
#endif

RecorderChoice make_step_recorder(torch::Device device) {
  if (device.is_cpu()) return {.reason = "the device is the CPU; expected a GPU"};
#ifdef UNSTARVE_GENERIC_GRAPHS
  return generic_recorder(device);
#else
  return {.reason =
              fmt::format("this build with the CPU package of libtorch {} cannot record; expected 2.13 or later, or "
                          "a build with a CUDA package",
                          TORCH_VERSION)};
#endif
}

}  // namespace unstarve
