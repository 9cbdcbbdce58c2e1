#pragma once
// A point in time of a device: on the CPU the time of the host, on a GPU an event in the current stream.
// Threads: one at a time.

#include <chrono>
#include <optional>

#include <ATen/DeviceAccelerator.h>
#include <c10/core/Event.h>
#include <torch/types.h>

namespace unstarve {

class TimeMark {
 public:
  explicit TimeMark(torch::Device device) : device_(device) {
    if (!device.is_cpu()) event_.emplace(device.type(), c10::EventFlag::BACKEND_DEFAULT);
  }
  // Now, or when the work queued so far is done.
  void record() {
    if (event_) {
      event_->record(at::accelerator::getCurrentStream(device_.index()));
    } else {
      time_ = std::chrono::steady_clock::now();
    }
  }
  // Waits for a GPU to reach this mark. Both marks were recorded.
  [[nodiscard]] double ms_since(TimeMark& earlier) {
    if (!event_) return std::chrono::duration<double, std::milli>(time_ - earlier.time_).count();
    event_->synchronize();
    return earlier.event_->elapsedTime(*event_);
  }

 private:
  torch::Device device_;
  std::chrono::steady_clock::time_point time_{};
  std::optional<c10::Event> event_;
};

}  // namespace unstarve
