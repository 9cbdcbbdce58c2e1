#pragma once
// The processes below one process, with their threads: what they use while it is watched.
//
//   find()   new processes, names that have changed, locked memory, OpenMP: reads the parent of every process of the
//            machine; rarely
//   look()   counters of all threads that are known, and new threads; often
//
// A process remains in the tree if its parent ends. One that starts and ends between two calls of find() is seen only
// in ended_children_s of its parent.
//
// Memory:  limited: of processes that have ended, the 200 with the most CPU time are kept and the others are added up
//          by name; a process has at most 64 names of threads, a tree 64 names of sums.
// Failure: never throws except std::bad_alloc. Files of other users that cannot be read leave their counts at 0.
// Threads: one at a time.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unstarve/diagnose/probes/descriptor_target.h"
#include "unstarve/diagnose/probes/proc_text.h"
#include "unstarve/diagnose/probes/thread_waits.h"
#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

struct TaskTreeOptions {
  // A process that adopts those whose parents end (PR_SET_CHILD_SUBREAPER): its new children belong to the tree.
  // 0: none.
  int adopter = 0;
  int guard = 0;  // a child of the adopter that does not belong to the tree; 0: none
  std::filesystem::path proc = "/proc";
};

class TaskTree {
 public:
  // `root` is a process. Processes that exist now count from now on; those that start later count from their start.
  explicit TaskTree(int root, TaskTreeOptions options = {});

  // `seconds`: since the beginning. `ignored`: a child of the adopter that does not belong to the tree; 0: none.
  void find(double seconds, int ignored = 0);
  void look(double seconds);

  // Roles are not set.
  [[nodiscard]] std::vector<ProcessUse> use() const;

 private:
  using FileId = std::pair<std::uint64_t, std::uint64_t>;  // device and number
  struct Thread {
    std::string group;  // its name without numbers
    RunTimes first, last;
    ThreadWaits waits;
    Wait wait = Wait::kNone;  // in the look at last_s
    DescriptorTarget target;  // of its system calls
    FileId file{};            // that it read when it was last seen reading one
    double begin_s = 0, last_s = 0;
    bool seen = false;  // in the present look
  };
  struct Process {
    ProcessUse use;
    TaskStat first, last;
    IoCounts first_io, last_io;
    std::int64_t first_system_ticks = 0, last_system_ticks = 0;  // of its main thread
    std::map<int, Thread> threads;                               // alive, by id
    ThreadUse ended_main_thread;
    std::size_t counted = 0;                 // threads when their names were counted
    std::map<std::string, ThreadUse> ended;  // by group
    std::int64_t start_ticks = 0;
    std::int64_t maps_ticks = 0;  // of CPU time, before its libraries are searched again
  };

  void add(int pid, const TaskStat& stat, double seconds);
  void look_at(Process& process, double seconds);
  void look_at_threads(Process& process, double seconds);
  void read_names_and_locks(Process& process) const;
  [[nodiscard]] bool loads_openmp(int pid) const;
  // Sets what the thread waits for, and counts the file that it reads.
  void look_at_call(Process& process, Thread& thread, const std::string& task) const;
  static void count_threads(Process& process);
  static void end_thread(Process& process, int id, const Thread& thread);
  void end(const Process& process);
  [[nodiscard]] static ProcessUse summary(const Process& process);
  [[nodiscard]] std::optional<TaskStat> stat_of(int pid) const;
  [[nodiscard]] std::string_view read(const std::string& path) const;

  TaskTreeOptions options_;
  int root_;
  double boot_s_;  // from the start of the machine to the beginning
  bool first_find_ = true;
  std::map<int, Process> alive_;
  std::vector<ProcessUse> ended_;
  std::map<std::string, ProcessUse> merged_;  // processes that have ended, by name
  mutable std::string buffer_;
};

}  // namespace unstarve
