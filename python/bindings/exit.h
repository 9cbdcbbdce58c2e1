#pragma once
// The end of a process whose threads still use the library.
//
// Daemon threads, and the threads of loaders that they hold, run until the process ends. exit() destroys static objects
// before that. If such threads exist, the process therefore ends without destroying them, after all exit handlers of
// Python and with its exit status.
//
// Threads: all functions are thread-safe. Failure: none.

namespace unstarve::python {

// Marks the library as in use by threads that exit() does not wait for.
class InUse {
 public:
  InUse() noexcept;
  ~InUse();
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
};

// To be called when the module is imported.
void prepare_exit();

}  // namespace unstarve::python
