#include "unstarve/core/background_task.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <system_error>
#include <utility>

namespace unstarve {
namespace {

// For the calling thread only: Linux has one nice value per thread (setpriority(2), "C library/kernel differences"),
// and raising it needs no privilege.
void lower_priority() noexcept { (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19); }

}  // namespace

BackgroundTask::BackgroundTask(std::function<void()> task, std::chrono::milliseconds delay) : process_(::getpid()) {
  const auto work = std::make_shared<std::packaged_task<void()>>(std::move(task));
  result_ = work->get_future().share();
  try {
    thread_ = std::thread([this, work, delay] {
      pthread_setname_np(pthread_self(), "unstarve-task");
      lower_priority();
      (void)awaited_.try_acquire_for(delay);
      (*work)();
    });
  } catch (const std::system_error&) {
    (*work)();
  }
}

BackgroundTask::~BackgroundTask() {
  if (!thread_.joinable()) return;
  if (::getpid() == process_) {
    awaited_.release();
    thread_.join();
  } else {
    new std::thread(std::move(thread_));  // the thread does not exist here: its handle can be neither joined nor freed
  }
}

bool BackgroundTask::wait() {
  if (::getpid() != process_ && result_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  awaited_.release();
  result_.get();
  return true;
}

}  // namespace unstarve
