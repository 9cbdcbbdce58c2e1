#pragma once
// A minimal interface to accelerators: device memory, pinned host memory, streams, events and copies. Implementations:
// the host (always) and CUDA (build option).
//
// Ownership: Memory, Stream and Event own only their resource; destroy them before the Device.
// Threads:   any. Calls of a CUDA device make it the current device of the calling thread, and leave it so.
// Failure:   Error(kMemory) if an allocation fails, Error(kMissing) from open_device() if there is no such device,
//            Error(kInternal) with CUDA's message otherwise.
// Capture:   allocate pinned memory at construction time only, not between steps: cudaHostAlloc stalls the device and
//            aborts a CUDA graph capture in progress.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace unstarve {

class Memory {
 public:
  virtual ~Memory() = default;
  [[nodiscard]] virtual std::uint8_t* data() = 0;  // a device pointer for device memory
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  [[nodiscard]] virtual bool pinned() const = 0;
};

class Event {
 public:
  virtual ~Event() = default;
  // Blocks the calling thread until all work before the event has run.
  virtual void wait() = 0;
  [[nodiscard]] virtual bool done() = 0;
  // Seconds since `earlier`. Both events are from record_timed() of one device and done. Throws Error(kInternal).
  [[nodiscard]] virtual double seconds_since(Event& earlier) = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;
  // An event that completes when all work queued so far has run.
  [[nodiscard]] virtual std::unique_ptr<Event> record() = 0;
  // The same with a time stamp, at a small cost.
  [[nodiscard]] virtual std::unique_ptr<Event> record_timed() = 0;
  // Work queued afterwards waits for `event`.
  virtual void wait_for(Event& event) = 0;
  virtual void synchronise() = 0;
  // cudaStream_t, or null on the host.
  [[nodiscard]] virtual void* native() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual std::string name() const = 0;  // "cpu", "cuda:0 NVIDIA H200"
  [[nodiscard]] virtual bool is_host() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Memory> allocate(std::size_t bytes) = 0;
  // Page-locked host memory. The host device returns ordinary memory, 64-byte aligned, pinned() false.
  [[nodiscard]] virtual std::unique_ptr<Memory> allocate_pinned(std::size_t bytes) = 0;
  [[nodiscard]] virtual std::unique_ptr<Stream> make_stream() = 0;
  // Wraps another library's stream of this device (as from native()), which must outlive the result. The host ignores
  // it.
  [[nodiscard]] virtual std::unique_ptr<Stream> borrow_stream(void* native) = 0;
  // Host to device; asynchronous to the caller only when the source is pinned.
  virtual void copy_to_device(void* dst, const void* src, std::size_t bytes, Stream& stream) = 0;
  virtual void copy_to_host(void* dst, const void* src, std::size_t bytes, Stream& stream) = 0;
};

// Pageable host memory, 64-byte aligned, zeroed, so that later writes cause no page faults.
[[nodiscard]] std::unique_ptr<Memory> allocate_pageable(std::size_t bytes);
// The same, uninitialised: the first write to a page causes a page fault.
[[nodiscard]] std::unique_ptr<Memory> allocate_untouched(std::size_t bytes);

// "cpu", "cuda" or "cuda:N"; Error(kArgument) for any other name.
[[nodiscard]] std::unique_ptr<Device> open_device(const std::string& name);
// True for a name that open_device() accepts; the device need not exist.
[[nodiscard]] bool is_device_name(const std::string& name);
// True if both names mean one device: "cuda" is "cuda:0". Any other name equals only itself.
[[nodiscard]] bool same_device(const std::string& a, const std::string& b);

// The devices of this build and machine, for `doctor`. Never throws.
struct DeviceReport {
  bool cuda_in_build = false;
  std::string cuda_runtime;  // "13.0", empty without CUDA
  std::string driver;        // empty if there is none
  std::string reason;        // why no device is usable, or empty
  struct Gpu {
    std::string name;
    std::size_t memory_bytes = 0;
    int capability_major = 0, capability_minor = 0;
  };
  std::vector<Gpu> gpus;
};
[[nodiscard]] DeviceReport report_devices();

}  // namespace unstarve
