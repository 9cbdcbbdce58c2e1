#pragma once
// The host as a device that logs the order of its streams and events, and fails on request.
//
// Streams and events have numbers, from 1 in the order in which they are made. The log has a line for each call that
// waits: "synchronise stream 1", "stream 2 waits for event 1", "wait for event 1".
//
// Threads: one at a time. `log` outlives the device and what it makes.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/device/device.h"

namespace unstarve::testing {

struct DeviceLog {
  std::vector<std::string> lines;
  int streams = 0, events = 0;
  int failing_allocation = 0;  // the number of the allocation from now on that fails; 0: none
  bool record_fails = false;   // the next time
};

class LoggedEvent final : public Event {
 public:
  explicit LoggedEvent(DeviceLog& log) : log_(log), number_(++log.events) {}
  void wait() override { log_.lines.push_back("wait for event " + std::to_string(number_)); }
  [[nodiscard]] bool done() override { return true; }
  [[nodiscard]] double seconds_since(Event&) override { return 1e-3; }
  [[nodiscard]] int number() const { return number_; }

 private:
  DeviceLog& log_;
  const int number_;
};

class LoggedStream final : public Stream {
 public:
  explicit LoggedStream(DeviceLog& log) : log_(log), name_("stream " + std::to_string(++log.streams)) {}
  [[nodiscard]] std::unique_ptr<Event> record() override {
    if (std::exchange(log_.record_fails, false)) throw Error(ErrorKind::kInternal, "record an event: failed");
    return std::make_unique<LoggedEvent>(log_);
  }
  [[nodiscard]] std::unique_ptr<Event> record_timed() override { return record(); }
  void wait_for(Event& event) override {
    log_.lines.push_back(name_ + " waits for event " + std::to_string(dynamic_cast<LoggedEvent&>(event).number()));
  }
  void synchronise() override { log_.lines.push_back("synchronise " + name_); }
  [[nodiscard]] void* native() override { return nullptr; }

 private:
  DeviceLog& log_;
  const std::string name_;
};

class LoggedDevice final : public Device {
 public:
  explicit LoggedDevice(DeviceLog& log) : log_(log), host_(open_device("cpu")), on_host_(host_->make_stream()) {}
  [[nodiscard]] std::string name() const override { return host_->name(); }
  [[nodiscard]] bool is_host() const override { return true; }
  [[nodiscard]] std::unique_ptr<Memory> allocate(std::size_t bytes) override {
    if (log_.failing_allocation > 0 && --log_.failing_allocation == 0)
      throw Error(ErrorKind::kMemory, "allocate: failed");
    return host_->allocate(bytes);
  }
  [[nodiscard]] std::unique_ptr<Memory> allocate_pinned(std::size_t bytes) override { return allocate(bytes); }
  [[nodiscard]] std::unique_ptr<Stream> make_stream() override { return std::make_unique<LoggedStream>(log_); }
  [[nodiscard]] std::unique_ptr<Stream> borrow_stream(void*) override { return make_stream(); }
  void copy_to_device(void* dst, const void* src, std::size_t bytes, Stream&) override {
    host_->copy_to_device(dst, src, bytes, *on_host_);
  }
  void copy_to_host(void* dst, const void* src, std::size_t bytes, Stream&) override {
    host_->copy_to_host(dst, src, bytes, *on_host_);
  }

 private:
  DeviceLog& log_;
  std::unique_ptr<Device> host_;
  std::unique_ptr<Stream> on_host_;
};

}  // namespace unstarve::testing
