#pragma once
// Parsers of files in /proc and of cgroups. Fields that a kernel does not have are 0.
//
// Source:  proc(5), Documentation/accounting/psi.rst, Documentation/admin-guide/cgroup-v2.rst of Linux.
// Failure: std::nullopt for text of another form. Threads: pure functions, except those that read.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/diagnose/profile/rank_use.h"

namespace unstarve {

// The numbers that name entries of a folder of /proc: processes or threads. Empty if it cannot be read.
[[nodiscard]] std::vector<int> numbers_in(const std::filesystem::path& folder);
// The text of a small file that remains open, read from its beginning; empty if it cannot be read.
[[nodiscard]] std::string_view read_again(const FileDescriptor& file, std::span<char> buffer);

// Units of the times in /proc: ticks, from the start of the machine on.
[[nodiscard]] double ticks_per_s();
[[nodiscard]] double since_boot_s();

// /proc/PID/stat, or /proc/PID/task/TID/stat of one thread
struct TaskStat {
  std::string name;  // of the program file or the thread, 15 bytes at most
  char state = '?';  // R running, S sleeping, D waiting for a device, Z ended, ...
  int parent = 0;
  int threads = 0;
  std::int64_t minor_faults = 0;
  std::int64_t major_faults = 0;  // that waited for a device
  std::int64_t cpu_ticks = 0;     // user and system time of all threads
  std::int64_t system_ticks = 0;  // the latter
  std::int64_t ended_ticks = 0;   // of children that have ended and were waited for
  std::int64_t start_ticks = 0;   // since the machine started
  std::int64_t resident_pages = 0;
};
[[nodiscard]] std::optional<TaskStat> parse_task_stat(std::string_view text);

// /proc/PID/task/TID/schedstat
struct RunTimes {
  std::int64_t running_ns = 0;
  std::int64_t waiting_ns = 0;  // ready to run, without a CPU
};
[[nodiscard]] std::optional<RunTimes> parse_run_times(std::string_view text);

// /proc/PID/task/TID/status: how often the thread waited, instead of being interrupted by other threads.
[[nodiscard]] std::optional<std::int64_t> parse_voluntary_switches(std::string_view text);

// /proc/PID/task/TID/syscall: the system call in which a thread is.
struct SystemCall {
  static constexpr std::int64_t kNone = -1;  // it runs, or waits outside of system calls
  std::int64_t number = kNone;               // SYS_read, ...
  std::uint64_t argument = 0;                // the first one
  std::uint64_t second = 0;                  // the second one
};
[[nodiscard]] std::optional<SystemCall> parse_system_call(std::string_view text);

// /proc/PID/io
struct IoCounts {
  std::int64_t read_calls = 0;
  std::int64_t read_bytes = 0;     // by read(), also from the page cache and pipes
  std::int64_t storage_bytes = 0;  // that came from a device
  std::int64_t written_bytes = 0;  // to a device
};
[[nodiscard]] std::optional<IoCounts> parse_io_counts(std::string_view text);

// /proc/pressure/*: microseconds in which some task waited for the resource.
[[nodiscard]] std::optional<std::int64_t> parse_pressure_us(std::string_view text);

// /proc/stat: ticks of each of the CPUs in `cpus` that it has; nothing if it has none of them.
struct CpuTicks {
  std::int64_t busy = 0;    // user, nice, system, interrupts
  std::int64_t idle = 0;    // also waiting for devices
  std::int64_t stolen = 0;  // by the hypervisor
};
[[nodiscard]] std::optional<std::map<int, CpuTicks>> parse_cpu_ticks(std::string_view text, const std::set<int>& cpus);

// Cpus_allowed_list of /proc/PID/status; empty: unknown.
[[nodiscard]] std::set<int> parse_allowed_cpus(std::string_view text);

// cpu.stat of a cgroup with a CPU quota: its periods, and those in which tasks were stopped.
struct QuotaPeriods {
  std::int64_t all = 0;
  std::int64_t stopped = 0;
};
[[nodiscard]] std::optional<QuotaPeriods> parse_quota_periods(std::string_view text);

// /proc/net/dev: of all interfaces except the loopback.
struct NetworkBytes {
  std::int64_t received = 0, sent = 0;
};
[[nodiscard]] std::optional<NetworkBytes> parse_network_bytes(std::string_view text);

// /proc/PID/status; 0 for threads of the kernel and processes that have ended.
struct StatusMemory {
  std::int64_t locked_bytes = 0;  // VmLck: by mlock()
  std::int64_t pinned_bytes = 0;  // VmPin: by drivers and io_uring
  // RssAnon, RssShmem and VmSwap: without pages of files. Unknown before Linux 4.5.
  std::optional<std::int64_t> anonymous_bytes;
};
[[nodiscard]] StatusMemory parse_status_memory(std::string_view text);

// /proc/PID/cmdline: the arguments.
[[nodiscard]] std::vector<std::string> parse_command_line(std::string_view text);

// /proc/PID/environ: RANK and LOCAL_RANK of torchrun, or those of Slurm, Open MPI, and MPICH or Intel MPI.
[[nodiscard]] RankNumbers parse_rank_numbers(std::string_view text);

}  // namespace unstarve
