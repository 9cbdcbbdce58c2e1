#pragma once
// The accelerator, as narrow as the rest needs it: memory on the device, pinned memory on the host, streams, events and
// copies. Implementations: the host itself (always) and CUDA (build option).
//
// Ownership: Memory, Stream and Event own their resource and keep nothing alive but it; destroy them before the Device.
// Threads:   every call may come from any thread.
// Failure:   Error(kMemory) when memory is refused, Error(kMissing) from open_device() when there is no such device,
//            Error(kInternal) with CUDA's own message for anything else.
// Capture:   pinned memory is only allocated at construction time, never between steps: cudaHostAlloc stalls the device
//            and kills a CUDA graph capture in progress.

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
  // Blocks the calling thread until everything recorded before has run.
  virtual void wait() = 0;
  [[nodiscard]] virtual bool done() = 0;
  // Seconds from `earlier` to this one, both of record_timed() and of one device, both done. Throws Error(kInternal).
  [[nodiscard]] virtual double seconds_since(Event& earlier) = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;
  // The event completes when all work queued so far has run.
  [[nodiscard]] virtual std::unique_ptr<Event> record() = 0;
  // The same, and it knows when that was: costs a little more.
  [[nodiscard]] virtual std::unique_ptr<Event> record_timed() = 0;
  // Work queued later waits for `event`.
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
  // Page-locked host memory; on the host device ordinary memory, 64-byte aligned, pinned() false.
  [[nodiscard]] virtual std::unique_ptr<Memory> allocate_pinned(std::size_t bytes) = 0;
  [[nodiscard]] virtual std::unique_ptr<Stream> make_stream() = 0;
  // Another library's stream of this device, as native() would give it; it must outlive what is returned. The host
  // ignores it.
  [[nodiscard]] virtual std::unique_ptr<Stream> borrow_stream(void* native) = 0;
  // Host to device; asynchronous to the caller only when the source is pinned.
  virtual void copy_to_device(void* dst, const void* src, std::size_t bytes, Stream& stream) = 0;
  virtual void copy_to_host(void* dst, const void* src, std::size_t bytes, Stream& stream) = 0;
};

// Ordinary pageable host memory, 64-byte aligned, pages touched.
[[nodiscard]] std::unique_ptr<Memory> allocate_pageable(std::size_t bytes);
// The same, of no known contents: whoever writes a page first takes its fault.
[[nodiscard]] std::unique_ptr<Memory> allocate_untouched(std::size_t bytes);

// "cpu", "cuda" or "cuda:N"; Error(kArgument) for any other name.
[[nodiscard]] std::unique_ptr<Device> open_device(const std::string& name);
// Whether it is one of these names; there need not be such a device.
[[nodiscard]] bool is_device_name(const std::string& name);
// Whether both name one device: "cuda" is "cuda:0". A name that is none of these is the same as itself alone.
[[nodiscard]] bool same_device(const std::string& a, const std::string& b);

// What a build and machine offer, for `doctor`: never throws.
struct DeviceReport {
  bool cuda_in_build = false;
  std::string cuda_runtime;  // "13.0", empty without CUDA
  std::string driver;        // empty when there is none
  std::string reason;        // why no device can be used, empty when one can
  struct Gpu {
    std::string name;
    std::size_t memory_bytes = 0;
    int capability_major = 0, capability_minor = 0;
  };
  std::vector<Gpu> gpus;
};
[[nodiscard]] DeviceReport report_devices();

}  // namespace unstarve
