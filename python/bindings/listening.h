#pragma once
// Runs long work while Ctrl-C remains effective.

#include <nanobind/nanobind.h>

#include <chrono>
#include <future>
#include <stop_token>
#include <thread>
#include <utility>

#include "python/bindings/gil.h"
#include "unstarve/core/cancel.h"

namespace unstarve::python {

// Longest delay before Ctrl-C takes effect.
inline constexpr std::chrono::milliseconds kSignalCheck{100};

// Returns the result of work(), which runs in another thread without the GIL, or throws its exception. The caller holds
// the GIL, which is released meanwhile. If a signal handler raises, the work is cancelled (core/cancel.h), and the
// exception is thrown when the work has ended.
template <class Work>
auto listening(Work work) {
  using Result = decltype(work());
  std::stop_source stop;
  std::packaged_task<Result()> task([&] {
    const CancelScope scope(stop.get_token());
    return work();
  });
  std::future<Result> done = task.get_future();
  std::jthread thread(std::move(task));
  while (true) {
    {
      const GilRelease release;
      if (done.wait_for(kSignalCheck) == std::future_status::ready) break;
    }
    if (PyErr_CheckSignals() == 0) continue;
    nanobind::python_error raised;
    {
      const GilRelease release;
      stop.request_stop();
      thread.join();
    }
    throw std::move(raised);
  }
  thread.join();
  return done.get();
}

}  // namespace unstarve::python
