#pragma once
// One piece of work that nobody waits for, on a thread of its own behind whatever else wants the processors (nice 19),
// and after what is more urgent: what makes the next run quicker must not make this one slower.
//
// Ownership: owns its thread and the task. The destructor waits for the task's end; in a process that was forked
//            meanwhile, where the thread is not, it lets go of it.
// Threads:   wait() from any thread but the task's own.
// Failure:   what the task throws is thrown by wait(), each time, and dropped by the destructor. Where the system gives
//            no thread the constructor runs the task itself.
// Cost:      starting a thread, some 30 us.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <future>
#include <semaphore>
#include <thread>

namespace unstarve {

class BackgroundTask {
 public:
  // Begins after `delay`, or as soon as somebody waits.
  explicit BackgroundTask(std::function<void()> task, std::chrono::milliseconds delay = std::chrono::milliseconds(0));
  ~BackgroundTask();
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  // Waits for the task's end; false, at once, in a process that was forked before it.
  [[nodiscard]] bool wait();

 private:
  const pid_t process_;
  std::counting_semaphore<> awaited_{0};
  std::shared_future<void> result_;
  std::thread thread_;
};

}  // namespace unstarve
