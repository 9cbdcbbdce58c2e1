#pragma once
// A value that each process makes for itself: threads, locks in use and connections do not survive a fork.
//
//   PerProcess<Engine> engine([] { return std::make_unique<Engine>(); });
//   engine.get().fetch(...);  // in a forked child: of an engine that the child has made
//
// Ownership: owns the value of the process that destroys it. A child never destroys the value of its parent, whose
//            threads it could not join: its memory remains.
// Threads:   get() from any thread. If several make the value at the same time, that of one is used.
// Failure:   get() throws what `make` throws. Cost: a system call for the process id.

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace unstarve {

template <class T>
class PerProcess {
 public:
  using Make = std::function<std::unique_ptr<T>()>;
  explicit PerProcess(Make make) : make_(std::move(make)) {}
  ~PerProcess() {
    const Made* const made = made_.load(std::memory_order_acquire);
    if (made != nullptr && made->process == ::getpid()) delete made;
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  [[nodiscard]] T& get() const {
    Made* known = made_.load(std::memory_order_acquire);
    const pid_t process = ::getpid();
    if (known != nullptr && known->process == process) return *known->value;
    auto made = std::make_unique<Made>(Made{process, make_()});
    if (made_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) return *made.release()->value;
    return *known->value;  // another thread was faster
  }

 private:
  struct Made {
    pid_t process;
    std::unique_ptr<T> value;
  };
  const Make make_;
  mutable std::atomic<Made*> made_{nullptr};
};

}  // namespace unstarve
