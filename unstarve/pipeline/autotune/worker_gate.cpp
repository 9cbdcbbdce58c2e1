#include "unstarve/pipeline/autotune/worker_gate.h"

namespace unstarve::autotune {

void WorkerGate::set(int open) {
  {
    std::lock_guard lock(mutex_);
    open_.store(open, std::memory_order_relaxed);
  }
  changed_.notify_all();
}

bool WorkerGate::enter(int number) {
  if (closed_.load(std::memory_order_relaxed)) return false;
  if (number < open()) return true;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_.load(std::memory_order_relaxed) || number < open(); });
  return !closed_.load(std::memory_order_relaxed);
}

void WorkerGate::close() {
  {
    std::lock_guard lock(mutex_);
    closed_.store(true, std::memory_order_relaxed);
  }
  changed_.notify_all();
}

}  // namespace unstarve::autotune
