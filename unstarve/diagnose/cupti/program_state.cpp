#include "unstarve/diagnose/cupti/program_state.h"

#include <chrono>

namespace unstarve {

void ProgramState::set_cuda() {
  const std::lock_guard lock(mutex_);
  cuda_ = true;
  changed_.notify_all();
}

void ProgramState::stop(double seconds) {
  std::unique_lock lock(mutex_);
  stop_ = true;
  changed_.notify_all();
  (void)changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return ended_; });
}

bool ProgramState::wait(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [this] { return stop_ || cuda_ != accepted_cuda_; });
}

bool ProgramState::accept_cuda() {
  const std::lock_guard lock(mutex_);
  return accepted_cuda_ = cuda_;
}

bool ProgramState::is_stopping() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void ProgramState::set_ended() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace unstarve
