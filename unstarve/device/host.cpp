// The host as a device: copies are memcpy and complete when the call returns, so that streams never wait.
#include <cstring>
#include <new>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/memory/aligned.h"
#include "unstarve/device/backends.h"

namespace unstarve {
namespace {

// By default CPUs offer 2^47 bytes of address space. A larger request is a defect and must not overflow the arithmetic
// of alignment.
constexpr std::size_t kAddressSpace = std::size_t{1} << 47;

class HostMemory final : public Memory {
 public:
  explicit HostMemory(std::size_t bytes, bool touched = true) : bytes_(bytes) {
    try {
      if (bytes > kAddressSpace) throw std::bad_alloc();
      memory_ = AlignedBytes(bytes);
    } catch (const std::bad_alloc&) {
      throw Error(ErrorKind::kMemory,
                  "allocate host memory: " + std::to_string(bytes) + " bytes exceed the available memory");
    }
    // Touched now, so that page faults do not affect the first timed step.
    if (touched && bytes > 0) std::memset(memory_.data(), 0, bytes);
  }
  std::uint8_t* data() override { return memory_.data(); }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }
  [[nodiscard]] bool pinned() const override { return false; }

 private:
  std::size_t bytes_;
  AlignedBytes memory_;
};

class HostEvent final : public Event {
 public:
  void wait() override {}
  bool done() override { return true; }
  double seconds_since(Event& earlier) override {
    const auto* const other = dynamic_cast<const HostEvent*>(&earlier);
    if (other == nullptr) throw Error(ErrorKind::kInternal, "time between events of two devices");
    return static_cast<double>(ns_ - other->ns_) * 1e-9;
  }

 private:
  const std::int64_t ns_ = steady_clock().now_ns();
};

class HostStream final : public Stream {
 public:
  std::unique_ptr<Event> record() override { return std::make_unique<HostEvent>(); }
  std::unique_ptr<Event> record_timed() override { return record(); }
  void wait_for(Event& event) override { event.wait(); }
  void synchronise() override {}
  void* native() override { return nullptr; }
};

class HostDevice final : public Device {
 public:
  [[nodiscard]] std::string name() const override { return "cpu"; }
  [[nodiscard]] bool is_host() const override { return true; }
  std::unique_ptr<Memory> allocate(std::size_t bytes) override { return std::make_unique<HostMemory>(bytes); }
  std::unique_ptr<Memory> allocate_pinned(std::size_t bytes) override { return std::make_unique<HostMemory>(bytes); }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<HostStream>(); }
  std::unique_ptr<Stream> borrow_stream(void*) override { return make_stream(); }
  void copy_to_device(void* dst, const void* src, std::size_t bytes, Stream&) override { copy(dst, src, bytes); }
  void copy_to_host(void* dst, const void* src, std::size_t bytes, Stream&) override { copy(dst, src, bytes); }

 private:
  static void copy(void* dst, const void* src, std::size_t bytes) {
    if (bytes > 0) std::memcpy(dst, src, bytes);
  }
};

}  // namespace

std::unique_ptr<Device> open_host() { return std::make_unique<HostDevice>(); }

std::unique_ptr<Memory> allocate_pageable(std::size_t bytes) { return std::make_unique<HostMemory>(bytes); }
std::unique_ptr<Memory> allocate_untouched(std::size_t bytes) { return std::make_unique<HostMemory>(bytes, false); }

}  // namespace unstarve
