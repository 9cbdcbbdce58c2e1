#pragma once
// The entries of the file that the library in a watched process writes (cupti/kernel_log.h), sorted by what they are.
// kernel_log_events.h makes events of them.
//
// Threads: one. Ownership: values.
// Failure: Error(kInput) for a file of another kind, or an entry of an unknown kind. A file may end within an entry, as
//          its process may have been killed: its last window then ends with the latest entry, and has no kernels,
//          as others are missing. Nor has a window in which kernels arrived whose times are those of another clock.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "unstarve/diagnose/cupti/kernel_log.h"
#include "unstarve/diagnose/traces/intervals.h"

namespace unstarve {

struct KernelWindow {
  Interval time;                  // of CUPTI's clock
  std::int64_t monotonic_ns = 0;  // its begin, of CLOCK_MONOTONIC
};

// A time of CLOCK_MONOTONIC in the clock of `window`. Any number, also of a damaged file, has a result.
[[nodiscard]] std::int64_t in_clock_of(const KernelWindow& window, std::int64_t monotonic_ns);

struct LoggedWindow : KernelWindow {
  bool has_kernels = false;            // recorded completely, and later than all windows before with kernels
  std::size_t first_entry = 0;         // its entries begin there, and end where those of the next window begin
  std::vector<KernelLogEntry> ranges;  // kRange; empty if some of the window were lost
};

struct LoggedDevice {
  std::string name, pci_address;  // as "0000:41:00.0"
  double compute_capability = 0;
  std::uint64_t memory_bytes = 0;
};

struct KernelLogFile {
  std::uint32_t process = 0;
  std::string message;  // why recording was not possible, or has ended; empty: no reason
  std::map<std::uint32_t, std::string> names;
  std::map<int, LoggedDevice> devices;
  std::vector<LoggedWindow> windows;    // in the order of the file, none is empty
  std::vector<KernelLogEntry> entries;  // of kernels, copies, page faults, waits, overhead and calls, in any order
  std::vector<KernelLogEntry> memory;   // kMemory, in any order
};

// `name` is that of the file, for errors.
[[nodiscard]] KernelLogFile parse_kernel_log(std::span<const std::uint8_t> file, const std::string& name);

}  // namespace unstarve
