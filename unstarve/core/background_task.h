#pragma once
// A low-priority task on its own thread (nice 19), for example work that speeds up the next run and must not slow down
// this one.
//
// Ownership: owns its thread and the task. The destructor waits until the task has finished. In a forked child, which
//            does not have the thread, the destructor abandons it.
// Threads:   wait() from any thread except the task's own.
// Failure:   each wait() rethrows the task's exception; the destructor drops it. If the system cannot create a thread,
//            the constructor runs the task itself.
// Cost:      starting a thread, about 30 us.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <future>
#include <semaphore>
#include <thread>

namespace unstarve {

class BackgroundTask {
 public:
  // Starts after `delay`, or as soon as wait() or the destructor is called.
  explicit BackgroundTask(std::function<void()> task, std::chrono::milliseconds delay = std::chrono::milliseconds(0));
  ~BackgroundTask();
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  // Waits until the task has finished. Returns false immediately in a child that was forked before that.
  [[nodiscard]] bool wait();

 private:
  const pid_t process_;
  std::counting_semaphore<> awaited_{0};
  std::shared_future<void> result_;
  std::thread thread_;
};

}  // namespace unstarve
