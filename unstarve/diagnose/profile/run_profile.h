#pragma once
// RunProfile: what a watched program did and used, as plain data. All that `watch` and `diagnose` measure or read from
// traces is reduced to it; rules and predictions are pure functions of it.
//
// The JSON form (docs/reference/profile.md) has a `version`. Readers reject unknown versions and ignore unknown fields;
// `trace` and what concerns GPUs are missing if there is nothing; what only watching shows is null in the profile of a
// trace. Times are seconds; those of several threads are summed.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/core/enum_words.h"
#include "unstarve/diagnose/profile/device_use.h"
#include "unstarve/diagnose/profile/gpu_use.h"
#include "unstarve/diagnose/profile/python_stacks.h"
#include "unstarve/diagnose/profile/rank_use.h"
#include "unstarve/diagnose/profile/thread_window.h"

namespace unstarve {

inline constexpr int kRunProfileVersion = 2;  // increased with each change of the fields

// Seconds in system calls that block, estimated from samples. All are 0 if the process belongs to another user.
struct ThreadWaits {
  double lock_s = 0;     // for another thread: locks, conditions, thread pools
  double mutex_s = 0;    // the part of it for mutexes of C and C++
  double file_s = 0;     // reads files, opens them
  double flush_s = 0;    // writes and flushes files (fsync), renames and removes them
  double pipe_s = 0;     // for another process: pipes, sockets of AF_UNIX
  double network_s = 0;  // other sockets
  double events_s = 0;   // poll, epoll, select
  double sleep_s = 0;
  double other_s = 0;
};

void add_waits(ThreadWaits& sum, const ThreadWaits& waits, double factor);

// The threads of one name in one process; numbers at the end of names are left out.
struct ThreadUse {
  std::string name;
  int threads = 0;  // at the same time, at most
  double cpu_s = 0;
  double run_delay_s = 0;  // ready to run, without a CPU
  ThreadWaits waits;
};

inline constexpr std::int64_t kSmallFileBytes = 256 << 10;  // twice what Linux reads in advance

// Samples of threads in a system call that reads a regular file; each sample of another call.
struct FileSamples {
  std::int64_t samples = 0;
  std::int64_t changed = 0;      // at another file than in the thread's sample before
  std::int64_t small = 0;        // at a file of at most kSmallFileBytes
  std::int64_t small_bytes = 0;  // sizes of these files
};

void add_file_samples(FileSamples& sum, const FileSamples& samples);

enum class ProcessRole {
  kMain,    // trains: the one with the most CPU time that is not a loader
  kLoader,  // prepares data for it: a worker of a DataLoader or of multiprocessing
  kOther,
};
template <>
inline constexpr std::array<std::string_view, 3> kWords<ProcessRole>{"main", "loader", "other"};

struct ThreadLife {
  double begin_s = 0;  // when it was first seen
  double cpu_s = 0;
};

struct ProcessUse {
  int pid = 0;  // 0: several processes that have ended, with the sum of what they used
  int parent = 0;
  ProcessRole role = ProcessRole::kOther;
  std::string name;
  std::string command{};  // with arguments, shortened
  double begin_s = 0;     // its start, or 0 if it was running already
  double end_s = 0;       // when it was last seen
  bool ended = false;
  double cpu_s = 0;
  double run_delay_s = 0;
  double busiest_thread_s = 0;        // CPU time of its busiest thread
  double busiest_thread_begin_s = 0;  // when this thread was first seen
  double main_system_s = 0;           // CPU time of its main thread in the kernel
  double ended_children_s = 0;        // CPU time of children that have ended, including those that were never seen
  std::int64_t minor_faults = 0;
  std::int64_t major_faults = 0;
  std::int64_t resident_bytes = 0;  // when it was last seen
  std::int64_t peak_resident_bytes = 0;
  std::int64_t anonymous_bytes = -1;  // as resident_bytes, without pages of files, with swapped ones; not in JSON
  std::int64_t locked_bytes = 0;      // at most: by mlock(), not swapped out
  std::int64_t pinned_bytes = 0;      // at most: by drivers and io_uring; NVIDIA's driver does not count its own here
  bool has_io = false;                // the following four are known: the process belongs to this user
  std::int64_t read_calls = 0;
  std::int64_t read_bytes = 0;     // by read(), also from the page cache and pipes
  std::int64_t storage_bytes = 0;  // that came from a device
  std::int64_t written_bytes = 0;
  std::map<int, ThreadLife> lives{};  // by id, of living threads and the busiest one that has ended; not in JSON
  ThreadUse main_thread{};            // which has begun the program; also counted in `threads`
  std::vector<ThreadUse> threads{};   // most CPU time first
  FileSamples file_samples{};
  bool has_openmp = false;  // has loaded OpenMP or OpenBLAS: OMP_NUM_THREADS limits its operator threads
};

// One CPU of the affinity mask. Shares are of wall time, 0..1.
struct CoreUse {
  int cpu = 0;  // its number
  double busy_share = 0;
  double stolen_share = 0;  // by the hypervisor
};

// The machine, or the container, while the program ran. Shares are of wall time, 0..1.
struct MachineUse {
  int affinity_cores = 1;      // in the affinity mask of the program
  double quota_cores = 0;      // CPU quota of its cgroups; 0: none
  double busy_cores = 0;       // mean, of all programs on the CPUs of the affinity mask
  double stolen_share = 0;     // by the hypervisor, of the time of these CPUs
  double throttled_share = 0;  // of the quota's periods in which tasks were stopped
  double cpu_pressure = 0;     // some task waited for a CPU
  double io_pressure = 0;      // ... for a device
  double memory_pressure = 0;  // ... for memory
  double received_bytes_per_s = 0, sent_bytes_per_s = 0;
  std::int64_t shm_bytes = 0;           // size of /dev/shm, as the program sees it
  std::int64_t shm_used_bytes = 0;      // at most
  std::int64_t memory_limit_bytes = 0;  // of its cgroups, which count /dev/shm; 0: none
  std::vector<CoreUse> cores{};         // by number
};

// How the program was watched.
struct Watching {
  double seconds = 0;           // of wall time
  std::int64_t samples = 0;     // of /proc
  double cpu_s = 0;             // that watching used, without stacks
  double stacks_cpu_s = 0;      // that recording stacks used
  std::string stopped;          // why watching ended before the program; empty: it did not
  std::string gpus_missing;     // why GPUs were not watched although they exist; empty: they were, or there are none
  std::string kernels_missing;  // why kernels were not recorded although the program used CUDA; empty: no reason
};

// Busy cores of the roles over time; all lists have the same length.
struct RunTimeline {
  double interval_s = 0;
  std::vector<double> main, loader, other;
  std::vector<double> storage_bytes_per_s;
  std::vector<double> resident_bytes;      // of the main processes, without pages of files, with swapped ones
  std::vector<double> gpu{};               // mean utilisation of its GPUs; empty: unknown
  std::vector<double> read_bytes_per_s{};  // by read(), also from the page cache and pipes
  std::vector<double> received_bytes_per_s{}, sent_bytes_per_s{};
  std::vector<double> major_faults_per_s{};
};

// Steps of the training loop.
struct StepUse {
  std::string source;           // how they are known; empty: they are not
  double rate = 0;              // steps per second while they were observed; of a period without pauses
  std::vector<double> seconds;  // of single steps, in order; the latest 2048 at most; empty: only the period is known
  std::int64_t count = 0;       // of all steps; 0: unknown
};

// How the speed of the program depends on that of a group of its processes; see slowdown_probe.h.
struct SlowdownCheck {
  ProcessRole role = ProcessRole::kMain;
  double sensitivity = 0;    // 1: the group limits the program; 0: it has time to spare
  double low = 0, high = 0;  // 95 % interval
  int pairs = 0;             // of phases with and without the slow-down
};
struct SlowdownChecks {
  double slowdown = 0;   // share of the time in which the processes were stopped; 0: this was not requested
  std::string progress;  // what was counted
  std::string problem;   // why there are no figures
  std::vector<SlowdownCheck> groups;
};

struct RunProfile {
  int version = kRunProfileVersion;
  std::string command;  // as given; of the process if it was running already
  int exit_code = -1;   // -1: unknown
  Watching watching;
  MachineUse machine;
  std::vector<ProcessUse> processes;  // most CPU time first
  // The same without the start of the run, see steady_part.h; empty: not known, missing in JSON.
  double steady_from_s = 0;
  std::vector<ProcessUse> steady;
  RunTimeline timeline;
  ThreadWindow thread_window;  // missing in JSON if there is none
  PythonStacks stacks;
  StepUse steps;
  SlowdownChecks slowdowns;       // missing in JSON if they were not requested
  std::vector<RankUse> ranks;     // see sort_ranks(); missing in JSON if there are none
  std::vector<GpuUse> gpus;       // of the machine
  std::optional<TraceUse> trace;  // of another profiler, or of the kernels that were recorded while watching
};

// What shares are computed from: `steady` and its duration, or the whole run.
[[nodiscard]] const std::vector<ProcessUse>& steady_processes(const RunProfile& profile);
[[nodiscard]] double steady_seconds(const RunProfile& profile);
// How many points its lists for cores, memory and storage have in common: a file that was written by hand may have
// lists of different lengths.
[[nodiscard]] std::size_t points_of(const RunTimeline& timeline) noexcept;
// CPU time of the program, also of processes that were too short to be seen.
[[nodiscard]] double own_cpu_s(const RunProfile& profile);
// Cores of the affinity mask that programs outside of the tree used.
[[nodiscard]] double foreign_cores(const RunProfile& profile);
// Cores that the program may use at the same time.
[[nodiscard]] double usable_cores(const MachineUse& machine);

[[nodiscard]] std::string to_json(const RunProfile& profile);
// Throws Error(kInput) on malformed JSON, a missing field, or an unknown version; `origin` names it in messages.
[[nodiscard]] RunProfile run_profile_from_json(const std::string& text, const std::string& origin);

}  // namespace unstarve
