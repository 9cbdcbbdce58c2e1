#pragma once
// What the thread that records has to know of its program: whether it has initialised CUDA, and whether it ends.
//
// Threads: any; wait() and accept_cuda() are for the thread that records.

#include <condition_variable>
#include <mutex>

namespace unstarve {

class ProgramState {
 public:
  // The program has initialised CUDA.
  void set_cuda();
  // The program ends. Returns when the thread that records has ended, after at most `seconds`. May be called twice.
  void stop(double seconds);

  // Until `seconds` are over. True: the program ends, or has initialised CUDA since accept_cuda().
  [[nodiscard]] bool wait(double seconds);
  // Whether the program has initialised CUDA; wait() returns no more because of it.
  [[nodiscard]] bool accept_cuda();
  [[nodiscard]] bool is_stopping() const;
  // The thread that records has ended.
  void set_ended();

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false, ended_ = false;
  bool cuda_ = false, accepted_cuda_ = false;
};

}  // namespace unstarve
