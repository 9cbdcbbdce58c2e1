#include "unstarve/diagnose/probes/stack_turns.h"

namespace unstarve {
namespace {

constexpr double kImports = 2;  // seconds before the first window
constexpr int kMostFailures = 4;
constexpr std::size_t kMostRanks = 64;
constexpr int kMostRepeats = 5;

}  // namespace

std::optional<StackTarget> StackTurns::next(double seconds, std::span<const ProcessUse> processes) {
  if (failures_ >= kMostFailures) return std::nullopt;
  const ProcessUse* const rank = next_rank(seconds, processes);
  if (rank == nullptr) return std::nullopt;
  StackTarget target;
  target.rank = target.process = rank->pid;
  target.python = rank->command.substr(0, rank->command.find(' '));
  target.kind = ranks_[rank->pid].next;
  if (target.kind != RecordingKind::kWorker) return target;
  const std::vector<int> workers = workers_of(rank->pid, processes);
  target.workers = static_cast<int>(workers.size());
  if (workers.empty())
    target.kind = RecordingKind::kInterpreter;
  else
    target.process = workers[worker_windows_++ % workers.size()];
  return target;
}

// Of the ranks, the one with fewest windows.
const ProcessUse* StackTurns::next_rank(double seconds, std::span<const ProcessUse> processes) {
  const ProcessUse* next = nullptr;
  for (const ProcessUse& process : processes) {  // most CPU time first
    if (process.role != ProcessRole::kMain || process.ended || !is_python_(process.pid)) continue;
    python_seen_ = true;
    if (seconds < process.begin_s + kImports) continue;
    if (!ranks_.contains(process.pid) && ranks_.size() >= kMostRanks) continue;
    const int windows = ranks_[process.pid].windows;
    if (next == nullptr || windows < ranks_[next->pid].windows) next = &process;
  }
  return next;
}

// The workers that are alive, those of `rank` first.
std::vector<int> StackTurns::workers_of(int rank, std::span<const ProcessUse> processes) const {
  std::vector<int> own, others;
  for (const ProcessUse& process : processes) {
    if (process.role != ProcessRole::kLoader || process.ended || !is_python_(process.pid)) continue;
    (process.parent == rank ? own : others).push_back(process.pid);
  }
  return own.empty() ? others : own;
}

bool StackTurns::recorded(const StackTarget& target, bool is_start) {
  failures_ = 0;
  return end_turn(target, is_start && ++ranks_[target.rank].repeats <= kMostRepeats);
}

bool StackTurns::failed(const StackTarget& target) {
  const bool again = target.kind != RecordingKind::kWorker;
  failures_ += again ? 1 : 0;
  return end_turn(target, again);
}

void StackTurns::give_up() { failures_ = kMostFailures; }

bool StackTurns::end_turn(const StackTarget& target, bool again) {
  if (!again) {
    ++windows_;
    Rank& rank = ranks_[target.rank];
    ++rank.windows;
    rank.next = target.kind == RecordingKind::kAll      ? RecordingKind::kWorker
                : target.kind == RecordingKind::kWorker ? RecordingKind::kInterpreter
                                                        : RecordingKind::kAll;
  }
  // The first windows follow each other: all threads of each rank, a worker, the interpreter's lock of one, and all
  // threads again. Another one follows a failure.
  const std::size_t first = ranks_.size() + 1 + (worker_windows_ > 0 ? 1 : 0);
  return again || static_cast<std::size_t>(windows_) <= first;
}

}  // namespace unstarve
