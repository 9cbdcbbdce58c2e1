// Training steps as CUDA graphs, in builds against a CUDA package of libtorch.

#include "unstarve/torch/graphs/step_recorder.h"

#include <exception>
#include <utility>

#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace unstarve {
namespace {

// Shared by the steps of a recorder. The allocator forgets a pool with the last graph that uses it.
using Pool = std::shared_ptr<const c10::MempoolId_t>;

class CudaStep final : public RecordedStep {
 public:
  CudaStep(Pool pool, std::unique_ptr<at::cuda::CUDAGraph> graph) : pool_(std::move(pool)), graph_(std::move(graph)) {}
  void replay() override { graph_->replay(); }

 private:
  Pool pool_;
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
};

class CudaRecorder final : public StepRecorder {
 public:
  explicit CudaRecorder(torch::Device device)
      : stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())) {}

  void warm_up(const std::function<void()>& work) override {
    c10::cuda::device_synchronize();
    {
      const c10::cuda::CUDAStreamGuard guard(stream_);
      work();
    }
    c10::cuda::device_synchronize();
  }

  std::unique_ptr<RecordedStep> record(const std::function<void()>& work) override {
    c10::cuda::device_synchronize();
    c10::cuda::CUDACachingAllocator::emptyCache();  // of the memory of the warm-ups
    // The default stream cannot be recorded. Kernels of the backward pass are queued by other threads to this stream.
    const c10::cuda::CUDAStreamGuard guard(stream_);
    at::Generator generator = at::globalContext().defaultGenerator(stream_.device());
    const at::Generator before = generator.clone();
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    Pool pool = pool_.lock();
    if (pool == nullptr) pool = std::make_shared<const c10::MempoolId_t>(at::cuda::graph_pool_handle());
    try {
      // Thread-local: other threads, as those of the loader, may allocate pinned memory meanwhile.
      graph->capture_begin(*pool, cudaStreamCaptureModeThreadLocal);
      work();
      graph->capture_end();
    } catch (...) {
      end_failed(std::move(graph), *pool);
      generator.graphsafe_set_state(before);  // it may still be that of a recording
      throw;
    }
    pool_ = pool;
    return std::make_unique<CudaStep>(std::move(pool), std::move(graph));
  }

 private:
  // Ends the recording of the stream. capture_end() fails if it is invalid, and then leaves the allocators to us: as
  // long as they serve a recording, they free no memory.
  void end_failed(std::unique_ptr<at::cuda::CUDAGraph> graph, c10::MempoolId_t pool) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    C10_CUDA_CHECK_WARN(cudaStreamIsCapturing(stream_, &status));
    bool ended = false;
    if (status != cudaStreamCaptureStatusNone) {
      try {
        graph->capture_end();
        ended = true;
      } catch (const std::exception&) {  // says only that the recording is invalid
      }
    }
    if (ended) return;
    // Each throws if the recording had ended for that allocator.
    const auto quietly = [](const auto& end) {
      try {
        end();
      } catch (const std::exception&) {
      }
    };
    quietly([&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(stream_.device_index(), pool); });
    quietly([&] { at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(pool); });
    // An allocator that still has its filter refers to the graph, which is therefore not deleted: once per trainer.
    (void)graph.release();
  }

  c10::cuda::CUDAStream stream_;
  std::weak_ptr<const c10::MempoolId_t> pool_;
};

}  // namespace

RecorderChoice make_step_recorder(torch::Device device) {
  if (device.is_cpu()) return {.reason = "the device is the CPU; expected a GPU"};
  const c10::cuda::CUDAGuard guard(device);
  return {.recorder = std::make_unique<CudaRecorder>(device)};
}

}  // namespace unstarve
