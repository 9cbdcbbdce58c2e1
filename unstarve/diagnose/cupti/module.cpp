// libunstarve_cupti.so, which CUDA loads when a program initialises it, and NVTX at the first range, because watch sets
// CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH. From a thread of its own, it records kernels, copies, memory and
// calls of the runtime by CUPTI, and ranges (nvtx_ranges.h), in short windows, into the file that kernel_log.h
// describes.
//
//   CUDA starts      3 s             4 s                   13 s            14 s
//   |----------------|== recording ==|---------------------|== recording ==|--- ...
//
// Before CUDA starts, or without it, the same windows begin with NVTX and contain ranges only.
//
// It never ends or changes the program: no exception leaves it, and any failure means that it records no (more) kernels
// and writes the reason into its file. It records none if another profiler subscribes to CUPTI, and gives up for good
// when one appears, without a further call of CUPTI: torch.profiler then has the records to itself. Ranges continue.
// cuptiFinalize() is never called, as it is safe only while no thread is in CUDA.
//
// Memory:  1 MB per buffer that CUPTI holds; 8 are kept. Disk: kMostLogBytes.
// Threads: CUPTI calls the two buffer functions from any thread.
//
// It has run with a library that replaces CUPTI in tests, and with the CUPTI of CUDA 13.0 on one H100 and without GPU.
// traces/kernel_log_events.h measures in every run what recording costs.

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "unstarve/diagnose/cupti/cupti_api.h"
#include "unstarve/diagnose/cupti/kernel_log.h"
#include "unstarve/diagnose/cupti/nvtx_ranges.h"
#include "unstarve/diagnose/cupti/windows.h"

namespace unstarve {
namespace {

CuptiRecorder* recorder = nullptr;  // never deleted: CUPTI may call the functions below at any time

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = nullptr;
  *size = *most_records = 0;
  if (getpid() != recorder->process) return;  // a copy by fork(), in which the mutex may be locked
  try {
    const std::lock_guard lock(recorder->mutex);
    *buffer = recorder->buffers.give();
    if (*buffer != nullptr) *size = BufferPool::kBufferBytes;
  } catch (...) {
  }
}

void take_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  if (buffer == nullptr || getpid() != recorder->process) return;
  try {
    const std::lock_guard lock(recorder->mutex);
    CuptiRecord* record = nullptr;
    while (valid > 0 && !recorder->given_up &&
           recorder->cupti.functions().next(buffer, valid, &record) == kCuptiSuccess && record != nullptr)
      recorder->records.write(record);
    recorder->log.flush();
    recorder->buffers.take_back(buffer);
  } catch (...) {
  }
}

// False: the reason is written.
bool load() {
  const std::string problem = recorder->cupti.load();
  if (!problem.empty()) write_message(*recorder, problem);
  return problem.empty();
}

// While the program ends, CUPTI is not used. It waits for at most two seconds, and may be called twice.
void stop_at_exit() {
  if (getpid() != recorder->process) return;  // a copy by fork() has no such thread
  recorder->program.stop(2);
}

// False: the program ends.
bool run_until_cuda() {
  const bool cuda = recorder->program.accept_cuda();
  bool interrupted = recorder->program.wait(recorder->times.first);
  recorder->kernels = !interrupted && cuda && load();
  // Runs before what libcupti has registered while it was loaded.
  if (recorder->kernels) (void)std::atexit(stop_at_exit);
  while (!interrupted && record_window(*recorder)) interrupted = recorder->program.wait(recorder->times.off);
  return interrupted && !recorder->program.is_stopping();
}

void run() {
  try {
    {
      const std::lock_guard lock(recorder->mutex);
      recorder->records.set_own_thread();
    }
    while (run_until_cuda()) {
    }
    const std::lock_guard lock(recorder->mutex);
    recorder->log.flush();
  } catch (...) {
  }
  recorder->program.set_ended();
}

std::atomic_flag starting = ATOMIC_FLAG_INIT;

// In the child of fork(), which has neither the thread nor whoever held the flag.
void after_fork() {
  close_ranges();
  starting.clear();
}

// False: nothing is recorded.
bool start(const char* folder) {
  if (recorder == nullptr) (void)pthread_atfork(nullptr, nullptr, after_fork);
  recorder = new (std::nothrow) CuptiRecorder;  // that of the parent, in a child, may have locked mutexes
  if (recorder == nullptr || !recorder->log.open(folder)) return false;
  recorder->give_buffer = give_buffer;
  recorder->take_buffer = take_buffer;
  forget_ranges();
  if (const char* const times = std::getenv("UNSTARVE_CUPTI_TIMES")) {
    (void)std::sscanf(times, "%lf,%lf,%lf", &recorder->times.first, &recorder->times.on, &recorder->times.off);
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are for its own threads
  bool started = true;
  try {
    std::thread(run).detach();
    (void)std::atexit(stop_at_exit);
  } catch (...) {
    write_message(*recorder, "no thread could be started");
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

// At the first call in a process. False: nothing is recorded. `starts_cuda`: CUDA calls.
bool start_once(bool starts_cuda) {
  const char* const folder = std::getenv(kCuptiVariable);
  if (folder == nullptr) return false;
  while (starting.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  static pid_t process = 0;
  static bool started = false;
  try {
    if (std::exchange(process, getpid()) != getpid()) started = start(folder);
    if (started && starts_cuda) recorder->program.set_cuda();
  } catch (...) {
    started = false;
  }
  starting.clear(std::memory_order_release);
  return started;
}

}  // namespace
}  // namespace unstarve

// Called by CUDA. 1: success.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  (void)unstarve::start_once(true);
  return 1;
}

// Called by every library with NVTX at its first range. 0: ranges are not recorded.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(unstarve::NvtxExportTable tables) {
  return unstarve::start_once(false) && unstarve::attach_nvtx(tables) ? 1 : 0;
}
