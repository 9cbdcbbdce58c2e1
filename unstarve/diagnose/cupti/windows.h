#pragma once
// When libunstarve_cupti.so (module.cpp) records: in short windows, by a thread of its own. In a window, kinds of
// records and functions of CUPTI are enabled, and ranges are recorded (nvtx_ranges.h).
//
// Ownership: module.cpp owns the only CuptiRecorder of a process.
// Threads:   see the members; the functions are for the thread that records, except write_message().
// Failure:   reasons are written to the log as messages. Only std::bad_alloc is thrown.

#include <unistd.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "unstarve/diagnose/cupti/cupti_api.h"
#include "unstarve/diagnose/cupti/kernel_log.h"

namespace unstarve {

// Until the first window, in windows, between them. Tests set $UNSTARVE_CUPTI_TIMES to "first,on,off".
struct WindowTimes {
  double first = 3, on = 1, off = 9;
};

struct CuptiRecorder {
  CuptiFunctions cupti;
  WindowTimes times;
  CuptiGiveBuffer give_buffer = nullptr;
  CuptiTakeBuffer take_buffer = nullptr;
  pid_t process = getpid();

  std::mutex mutex;  // for the members up to the empty line
  KernelLog log;
  std::unordered_map<std::string_view, std::uint32_t> names;
  std::uint32_t names_used = 0;
  std::vector<std::uint8_t*> free_buffers;
  std::size_t buffers = 0;
  bool given_up = false;  // another profiler uses CUPTI: records that still arrive are not evaluated

  std::mutex stop_mutex;
  std::condition_variable changed;
  bool stop = false, ended = false;
  bool cuda = false;  // has been initialised

  // Of the thread that records.
  bool cuda_known = false, kernels = false;  // kernels: are recorded
  std::vector<std::uint32_t> functions[3];   // by domain; those that are recorded
};

void write_message(CuptiRecorder& recorder, const std::string& text);

// Until `seconds` are over. True: the program ends, or initialises CUDA.
[[nodiscard]] bool wait_for_change(CuptiRecorder& recorder, double seconds);

// Before the first window with kernels: the functions that launch, copy, allocate or wait. Others, such as
// cudaGetDevice(), are too many.
void choose_functions(CuptiRecorder& recorder);

// False: no further window.
[[nodiscard]] bool record_window(CuptiRecorder& recorder);

}  // namespace unstarve
