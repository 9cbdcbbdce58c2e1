#pragma once
// Guards that release and acquire Python's global interpreter lock (GIL), as nanobind's.
//
// CPython before 3.14 ends a thread that requests the GIL while the interpreter exits, such as a daemon thread, by
// pthread_exit(). That unwinds the stack, and aborts the process at the first destructor or noexcept function. With
// these guards such a thread sleeps until the process ends, as with CPython 3.14. exit.h covers what follows: static
// objects that such threads still use.
//
// Threads: a guard is used by one thread. Failure: none.

#include <nanobind/nanobind.h>
#include <unistd.h>

#include "python/bindings/exit.h"

namespace unstarve::python {

// Never returns in a thread without a thread state after the interpreter has ended: requesting the GIL would then
// dereference a null pointer. The main thread may still destroy objects.
inline void wait_if_ended() noexcept {
  if (Py_IsInitialized() != 0 || ::gettid() == ::getpid() || PyGILState_GetThisThreadState() != nullptr) return;
  while (true) ::pause();
}

// Returns request(), or never if the interpreter exits.
template <class Request>
auto request_gil(const Request& request) noexcept {
  try {
    return request();
  } catch (...) {  // abi::__forced_unwind of pthread_exit(), which must not leave this block
    while (true) ::pause();
  }
}

class GilRelease {
 public:
  GilRelease() noexcept : state_(PyEval_SaveThread()) {}
  ~GilRelease() {
    request_gil([this] { PyEval_RestoreThread(state_); });
  }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  InUse in_use_;
  PyThreadState* state_;
};

class GilAcquire {
 public:
  GilAcquire() noexcept
      : state_(request_gil([] {
          wait_if_ended();
          return PyGILState_Ensure();
        })) {}
  ~GilAcquire() { PyGILState_Release(state_); }
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace unstarve::python
