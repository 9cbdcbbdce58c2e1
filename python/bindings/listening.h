#pragma once
// Work that may take long, while Ctrl-C is heard.

#include <nanobind/nanobind.h>

#include <chrono>
#include <future>
#include <stop_token>
#include <thread>
#include <utility>

#include "unstarve/core/cancel.h"

namespace unstarve::python {

// How long Ctrl-C may go unheard.
inline constexpr std::chrono::milliseconds kSignalCheck{100};

// What work() gives or throws, made by a thread of its own without the GIL, which the caller holds and gives up
// meanwhile. A signal's exception asks the work to stop (core/cancel.h), and is raised once it has.
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
      const nanobind::gil_scoped_release release;
      if (done.wait_for(kSignalCheck) == std::future_status::ready) break;
    }
    if (PyErr_CheckSignals() == 0) continue;
    nanobind::python_error raised;
    {
      const nanobind::gil_scoped_release release;
      stop.request_stop();
      thread.join();
    }
    throw std::move(raised);
  }
  thread.join();
  return done.get();
}

}  // namespace unstarve::python
