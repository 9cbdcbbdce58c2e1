#include "unstarve/jobs/common/ordered_work.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

class Ordered {
 public:
  explicit Ordered(const OrderedWork& work) : work_(work), slots_(work.window) {}

  // The loop of one worker.
  void work(std::stop_token stop, const std::function<OrderedWorker()>& make_worker) {
    OrderedWorker worker;
    std::exception_ptr unmade;
    try {
      worker = make_worker();
    } catch (...) {
      unmade = std::current_exception();
    }
    for (std::uint64_t item = 0; begin(stop, item);) {
      std::exception_ptr failure = unmade;
      try {
        if (!failure) worker(item, static_cast<std::size_t>(item % work_.window));
      } catch (...) {
        failure = std::current_exception();
      }
      end(item, failure);
    }
  }

  // Waits until `item` is done. Rethrows the exception of its worker.
  void wait(std::uint64_t item, std::stop_token stop) {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[static_cast<std::size_t>(item % work_.window)];
    if (!done_.wait(lock, stop, [&] { return slot.done; })) throw Error(ErrorKind::kCancelled, "cancelled");
    if (slot.failure) std::rethrow_exception(slot.failure);
  }

  void release(std::uint64_t item) {
    {
      const std::lock_guard lock(mutex_);
      slots_[static_cast<std::size_t>(item % work_.window)] = {};
      ++taken_;
    }
    room_.notify_all();
  }

 private:
  struct Slot {
    bool done = false;
    std::exception_ptr failure;
  };

  bool begin(std::stop_token stop, std::uint64_t& item) {
    std::unique_lock lock(mutex_);
    const bool woken = room_.wait(lock, stop, [&] { return next_ == work_.items || next_ < taken_ + work_.window; });
    if (!woken || stop.stop_requested() || next_ == work_.items) return false;
    item = next_++;
    return true;
  }

  void end(std::uint64_t item, std::exception_ptr failure) {
    {
      const std::lock_guard lock(mutex_);
      slots_[static_cast<std::size_t>(item % work_.window)] = {true, std::move(failure)};
    }
    done_.notify_all();
  }

  const OrderedWork work_;
  std::mutex mutex_;
  std::condition_variable_any room_, done_;
  std::vector<Slot> slots_;
  std::uint64_t next_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace

void run_in_order(const OrderedWork& work, const std::function<OrderedWorker()>& make_worker, const OrderedWorker& take,
                  std::stop_token stop) {
  if (work.threads < 1 || work.window < 1)
    throw Error(ErrorKind::kArgument, "ordered work: expected at least one thread and one slot");
  Ordered ordered(work);
  std::vector<std::jthread> threads;  // stopped and joined on every exit
  threads.reserve(static_cast<std::size_t>(work.threads));
  for (int i = 0; i < work.threads; ++i) {
    threads.emplace_back([&](std::stop_token ending) { ordered.work(ending, make_worker); });
  }
  for (std::uint64_t item = 0; item < work.items; ++item) {
    ordered.wait(item, stop);
    take(item, static_cast<std::size_t>(item % work.window));
    ordered.release(item);
  }
}

}  // namespace unstarve
