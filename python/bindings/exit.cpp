#include "python/bindings/exit.h"

#include <Python.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace unstarve::python {
namespace {

std::atomic<int> uses{0};  // trivially destructible

void end_process(int status, void*) {
  if (uses.load() == 0) return;
  std::fflush(nullptr);
  ::_exit(status);
}

// exit() calls the handler registered last first, before it destroys static objects.
void on_end_of_interpreter() { ::on_exit(end_process, nullptr); }

}  // namespace

InUse::InUse() noexcept { uses.fetch_add(1); }
InUse::~InUse() { uses.fetch_sub(1); }

void prepare_exit() {
  if (Py_AtExit(on_end_of_interpreter) != 0) on_end_of_interpreter();  // its table is full
}

}  // namespace unstarve::python
