#pragma once
// Which process StackProbe records next, and how: the order of stack_probe.h.
//
// Threads: one at a time. Failure: only std::bad_alloc is thrown.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/diagnose/probes/stack_recording.h"
#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

struct StackTarget {
  int rank = 0;        // the process that trains
  std::string python;  // its interpreter, as it was called
  RecordingKind kind = RecordingKind::kAll;
  int process = 0;  // which is recorded: the rank, or a worker
  int workers = 0;  // that the worker represents
};

class StackTurns {
 public:
  // Whether a process executes Python.
  using IsPython = std::function<bool(int process)>;
  explicit StackTurns(IsPython is_python) : is_python_(std::move(is_python)) {}

  // Nothing: no process that trains has run long enough, or there were too many failures. `processes` have their roles;
  // `seconds`: since the beginning. A window of the result follows.
  [[nodiscard]] std::optional<StackTarget> next(double seconds, std::span<const ProcessUse> processes);

  // How the window of `target` ended. True: the next window is not delayed. `is_start`: the window shows mostly the
  // start of the program, and is repeated, a few times at most.
  bool recorded(const StackTarget& target, bool is_start);
  // A window of a worker is not repeated: the worker may have ended.
  bool failed(const StackTarget& target);
  // py-spy could not be started.
  void not_started() { ++failures_; }
  // No further window.
  void give_up();

  [[nodiscard]] bool python_seen() const { return python_seen_; }

 private:
  struct Rank {
    int windows = 0, repeats = 0;
    RecordingKind next = RecordingKind::kAll;
  };
  const ProcessUse* next_rank(double seconds, std::span<const ProcessUse> processes);
  [[nodiscard]] std::vector<int> workers_of(int rank, std::span<const ProcessUse> processes) const;
  bool end_turn(const StackTarget& target, bool again);

  IsPython is_python_;
  std::map<int, Rank> ranks_;  // by process id
  int windows_ = 0, failures_ = 0;
  std::size_t worker_windows_ = 0;
  bool python_seen_ = false;
};

}  // namespace unstarve
