#pragma once
// When libunstarve_cupti.so (module.cpp) records: in short windows, by a thread of its own. In a window, kinds of
// records and functions of CUPTI are enabled, and ranges are recorded (nvtx_ranges.h).
//
// Ownership: module.cpp owns the only CuptiRecorder of a process.
// Threads:   see the members; the functions are for the thread that records, except write_message().
// Failure:   reasons are written to the log as messages. Only std::bad_alloc is thrown.

#include <unistd.h>

#include <mutex>
#include <string>

#include "unstarve/diagnose/cupti/buffer_pool.h"
#include "unstarve/diagnose/cupti/cupti_library.h"
#include "unstarve/diagnose/cupti/kernel_log.h"
#include "unstarve/diagnose/cupti/program_state.h"
#include "unstarve/diagnose/cupti/record_writer.h"

namespace unstarve {

// Until the first window, in windows, between them. Tests set $UNSTARVE_CUPTI_TIMES to "first,on,off".
struct WindowTimes {
  double first = 3, on = 1, off = 9;
};

struct CuptiRecorder {
  CuptiLibrary cupti;
  WindowTimes times;
  CuptiGiveBuffer give_buffer = nullptr;
  CuptiTakeBuffer take_buffer = nullptr;
  pid_t process = getpid();
  ProgramState program;
  bool kernels = false;  // are recorded; of the thread that records

  std::mutex mutex;  // for the members below
  KernelLog log;
  RecordWriter records{log, cupti.functions()};
  BufferPool buffers;
  bool devices_written = false;
  bool given_up = false;  // another profiler uses CUPTI: records that still arrive are not evaluated
};

void write_message(CuptiRecorder& recorder, const std::string& text);

// False: no further window.
[[nodiscard]] bool record_window(CuptiRecorder& recorder);

}  // namespace unstarve
