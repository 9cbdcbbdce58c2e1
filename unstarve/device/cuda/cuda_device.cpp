// A CUDA device through the runtime API. Calls that depend on the current device first set it, as that setting is per
// thread and any thread may call. Waiting for events and releasing do not depend on it (CUDA Programming Guide, Stream
// and Event Behavior).
#include <cuda_runtime.h>

#include <string>

#include "unstarve/core/error.h"
#include "unstarve/device/backends.h"

namespace unstarve {
namespace {

std::string message(const std::string& operation, cudaError_t status) {
  return operation + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")";
}

void check(cudaError_t status, const std::string& operation) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // otherwise the next call would report it again
  throw Error(status == cudaErrorMemoryAllocation ? ErrorKind::kMemory : ErrorKind::kInternal,
              message(operation, status));
}

void make_current(int index) { check(cudaSetDevice(index), "set device cuda:" + std::to_string(index)); }

// Destructors ignore errors: at program exit the driver may be gone already, and errors of earlier work are reported by
// the call that waits for it.
class DeviceMemory final : public Memory {
 public:
  DeviceMemory(int index, std::size_t bytes) : index_(index), bytes_(bytes) {
    make_current(index_);
    if (bytes_ > 0) check(cudaMalloc(&data_, bytes_), "allocate " + std::to_string(bytes_) + " bytes on the device");
  }
  ~DeviceMemory() override { (void)cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  std::uint8_t* data() override { return static_cast<std::uint8_t*>(data_); }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }
  [[nodiscard]] bool pinned() const override { return false; }

 private:
  int index_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

class PinnedMemory final : public Memory {
 public:
  PinnedMemory(int index, std::size_t bytes) : bytes_(bytes) {
    make_current(index);
    if (bytes_ == 0) return;
    // Portable: page-locked for every device, not only for the current one.
    const cudaError_t status = cudaHostAlloc(&data_, bytes_, cudaHostAllocPortable);
    // The only argument that can be invalid is a size that no host has.
    check(status == cudaErrorInvalidValue ? cudaErrorMemoryAllocation : status,
          "allocate " + std::to_string(bytes_) + " bytes of pinned memory");
  }
  ~PinnedMemory() override {
    if (data_ != nullptr) (void)cudaFreeHost(data_);
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  std::uint8_t* data() override { return static_cast<std::uint8_t*>(data_); }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }
  [[nodiscard]] bool pinned() const override { return true; }

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

class CudaEvent final : public Event {
 public:
  CudaEvent(int index, cudaStream_t stream, bool timed) {
    make_current(index);
    // Events without timing are cheaper. With blocking sync a waiting thread sleeps instead of spinning on a core that
    // the loader needs.
    check(cudaEventCreateWithFlags(&event_, (timed ? 0U : cudaEventDisableTiming) | cudaEventBlockingSync),
          "create an event");
    const cudaError_t status = cudaEventRecord(event_, stream);
    if (status != cudaSuccess) (void)cudaEventDestroy(event_);
    check(status, "record an event");
  }
  ~CudaEvent() override { (void)cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void wait() override { check(cudaEventSynchronize(event_), "wait for an event"); }
  bool done() override {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return false;
    }
    check(status, "query an event");
    return true;
  }
  double seconds_since(Event& earlier) override {
    const auto* const other = dynamic_cast<const CudaEvent*>(&earlier);
    if (other == nullptr) throw Error(ErrorKind::kInternal, "time between events of two devices");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, other->native(), event_), "measure the time between events");
    return static_cast<double>(ms) * 1e-3;
  }
  [[nodiscard]] cudaEvent_t native() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaStream final : public Stream {
 public:
  explicit CudaStream(int index) : index_(index) {
    make_current(index_);
    // Non-blocking: not ordered with the legacy default stream, which other libraries use.
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
  }
  CudaStream(int index, cudaStream_t borrowed) : index_(index), owned_(false), stream_(borrowed) {}
  ~CudaStream() override {
    if (owned_) (void)cudaStreamDestroy(stream_);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  std::unique_ptr<Event> record() override { return std::make_unique<CudaEvent>(index_, stream_, false); }
  std::unique_ptr<Event> record_timed() override { return std::make_unique<CudaEvent>(index_, stream_, true); }
  void wait_for(Event& event) override {
    make_current(index_);
    if (const auto* of_cuda = dynamic_cast<const CudaEvent*>(&event)) {
      check(cudaStreamWaitEvent(stream_, of_cuda->native(), 0), "make a stream wait for an event");
    } else {
      event.wait();  // of another device: block until it is done
    }
  }
  void synchronise() override {
    make_current(index_);  // a borrowed stream may be null: the default stream of the current device
    check(cudaStreamSynchronize(stream_), "wait for a stream");
  }
  void* native() override { return stream_; }

 private:
  int index_;
  bool owned_ = true;
  cudaStream_t stream_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(int index, const std::string& model) : index_(index), model_(model) {}
  [[nodiscard]] std::string name() const override { return "cuda:" + std::to_string(index_) + " " + model_; }
  [[nodiscard]] bool is_host() const override { return false; }
  std::unique_ptr<Memory> allocate(std::size_t bytes) override { return std::make_unique<DeviceMemory>(index_, bytes); }
  std::unique_ptr<Memory> allocate_pinned(std::size_t bytes) override {
    return std::make_unique<PinnedMemory>(index_, bytes);
  }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CudaStream>(index_); }
  std::unique_ptr<Stream> borrow_stream(void* native) override {
    return std::make_unique<CudaStream>(index_, static_cast<cudaStream_t>(native));
  }
  void copy_to_device(void* dst, const void* src, std::size_t bytes, Stream& stream) override {
    copy(dst, src, bytes, cudaMemcpyHostToDevice, stream);
  }
  void copy_to_host(void* dst, const void* src, std::size_t bytes, Stream& stream) override {
    copy(dst, src, bytes, cudaMemcpyDeviceToHost, stream);
  }

 private:
  void copy(void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind, Stream& stream) const {
    if (bytes == 0) return;
    make_current(index_);
    const char* const direction = kind == cudaMemcpyHostToDevice ? "to" : "from";
    check(cudaMemcpyAsync(dst, src, bytes, kind, static_cast<cudaStream_t>(stream.native())),
          "copy " + std::to_string(bytes) + " bytes " + direction + " the device");
  }

  int index_;
  std::string model_;
};

std::string version_text(int version) {  // 13000 -> "13.0"
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

std::unique_ptr<Device> open_cuda(int index) {
  const std::string operation = "open device cuda:" + std::to_string(index);
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    throw Error(ErrorKind::kMissing, operation + ": found no usable GPU (" + cudaGetErrorString(status) +
                                         "); expected an NVIDIA GPU whose driver supports CUDA " +
                                         version_text(CUDART_VERSION) +
                                         ". Use the device cpu, or run `unstarve doctor`.");
  }
  if (index >= count) {
    throw Error(ErrorKind::kMissing, operation + ": found " + std::to_string(count) +
                                         " GPU(s); expected a number below that. Use cuda:0 or the device cpu.");
  }
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), operation);
  make_current(index);
  return std::make_unique<CudaDevice>(index, properties.name);
}

void report_cuda(DeviceReport& report) {
  report.cuda_in_build = true;
  int version = 0;
  if (cudaRuntimeGetVersion(&version) == cudaSuccess) report.cuda_runtime = version_text(version);
  version = 0;
  if (cudaDriverGetVersion(&version) == cudaSuccess && version > 0) report.driver = version_text(version);

  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess)
    report.reason = report.driver.empty() ? "found no NVIDIA driver" : message("list CUDA devices", status);
  for (int index = 0; status == cudaSuccess && index < count; ++index) {
    cudaDeviceProp properties{};
    const cudaError_t status_of_device = cudaGetDeviceProperties(&properties, index);
    if (status_of_device != cudaSuccess) {
      report.reason = message("get the properties of device cuda:" + std::to_string(index), status_of_device);
      continue;
    }
    report.gpus.push_back({properties.name, properties.totalGlobalMem, properties.major, properties.minor});
  }
  if (report.gpus.empty() && report.reason.empty()) report.reason = "this machine has no CUDA device";
  (void)cudaGetLastError();
}

}  // namespace unstarve
