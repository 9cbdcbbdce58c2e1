#include "unstarve/diagnose/probes/stack_probe.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/machine/thread_time.h"
#include "unstarve/diagnose/probes/proc_text.h"
#include "unstarve/diagnose/probes/py_spy.h"
#include "unstarve/diagnose/probes/stack_recording.h"
#include "unstarve/diagnose/probes/stack_turns.h"
#include "unstarve/diagnose/probes/step_finder.h"

namespace unstarve {
namespace {

constexpr double kLongestBetween = 600;  // seconds between two windows
constexpr double kEndingTime = 5;        // seconds in which py-spy ends after its window
constexpr double kShort = 2;             // seconds of a run in which Python may still begin

// By the name of its program.
bool is_python(int process) {
  std::error_code error;
  const std::string name =
      std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", error).filename().string();
  return name.starts_with("python") || name.starts_with("pypy");
}

// Nothing: of another user, or of a process that has ended.
std::optional<std::string> text_of(const std::filesystem::path& file) {
  try {
    return read_text_file(file);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Of a source file as the process sees it, which may be in a container; nothing if it cannot be read, or is too large
// for a file that someone wrote.
std::optional<std::string> source_of(int pid, const std::string& file) {
  constexpr std::uintmax_t kLargestSource = 1 << 20;
  const std::filesystem::path process = "/proc/" + std::to_string(pid);
  const std::filesystem::path path = file.starts_with('/') ? process / "root" / file.substr(1) : process / "cwd" / file;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  if (std::filesystem::file_size(path, error) > kLargestSource || error) return std::nullopt;
  return text_of(path);
}

// Whether the process started `seconds` ago or later.
bool is_younger(int process, double seconds) {
  const std::optional<std::string> text = text_of("/proc/" + std::to_string(process) + "/stat");
  const std::optional<TaskStat> stat = text ? parse_task_stat(*text) : std::nullopt;
  return stat && since_boot_s() - static_cast<double>(stat->start_ticks) / ticks_per_s() < seconds;
}

}  // namespace

class StackProbe::State {
 public:
  explicit State(const StackProbeOptions& options) : options_(options) {}

  void look(double seconds, std::span<const ProcessUse> processes) {
    latest_s_ = seconds;
    if (window_.run) {
      if (!window_.run->has_ended() && seconds < end_s() + kEndingTime) return;
      end_window(seconds);
    }
    if (seconds < next_s_) return;
    const std::optional<StackTarget> target = turns_.next(seconds, processes);
    if (!target) return;
    const std::filesystem::path program = find_py_spy(target->python);
    if (program.empty()) {
      turns_.give_up();
      problem_ = "py-spy was not found; install it with `pip install py-spy`";
      return;
    }
    begin_window(seconds, program, *target);
  }

  PythonStacks finish() {
    if (window_.run) {
      interrupted_ = !window_.run->has_ended();
      if (interrupted_) window_.run->interrupt();
      for (const double begin = seconds_now(); !window_.run->has_ended() && seconds_now() < begin + kEndingTime;)
        ::usleep(10'000);
      end_window(end_s());
    }
    return so_far();
  }

  [[nodiscard]] PythonStacks so_far() const {
    PythonStacks stacks = recorded_.all.stacks();
    if (!stacks.stacks.empty()) return stacks;
    const bool ended = turns_.python_seen() || latest_s_ < kShort;
    stacks.missing = !problem_.empty() ? problem_
                     : ended           ? "the program ended before stacks were recorded"
                                       : "no Python program was found";
    return stacks;
  }

  [[nodiscard]] std::map<int, PythonStacks> by_process() const {
    std::map<int, PythonStacks> result;
    for (const auto& [pid, sum] : recorded_.ranks) result.emplace(pid, sum.stacks());
    return result;
  }
  [[nodiscard]] const StepUse& steps() const { return recorded_.steps; }
  [[nodiscard]] int recorder() const { return window_.run ? window_.run->id() : 0; }
  [[nodiscard]] double cpu_s() const { return cpu_s_; }

 private:
  // What windows recorded.
  struct Recorded {
    StackSum all;                   // of all ranks
    std::map<int, StackSum> ranks;  // by process id
    StepUse steps;

    // Returns whether the window shows mostly the start of the program.
    bool add(const StackTarget& target, const PySpyResult& result, double seconds) {
      if (target.kind == RecordingKind::kWorker)
        all.add_worker(*result.recording, target.workers, seconds);
      else
        all.add(*result.recording, target.rank, target.kind, result.seconds, seconds);
      if (target.kind != RecordingKind::kAll) return false;
      add_steps(steps, find_steps(*result.recording, target.rank));
      const double kept = ranks[target.rank].add(*result.recording, target.rank, target.kind, result.seconds, seconds);
      return kept < 0.5 * result.seconds;
    }
  };
  // The present window, or the latest one.
  struct Window {
    StackTarget target;
    double begin_s = 0;
    bool from_start = false;      // StackRecording::from_start
    std::optional<PySpyRun> run;  // nothing after its end
  };

  [[nodiscard]] double length_s() const {
    return window_.target.kind == RecordingKind::kWorker ? options_.worker_s : options_.window_s;
  }
  // Of the present window.
  [[nodiscard]] double end_s() const { return window_.begin_s + length_s(); }

  void begin_window(double seconds, const std::filesystem::path& program, const StackTarget& target) {
    window_.target = target;
    window_.begin_s = seconds;
    window_.from_start = is_younger(target.rank, seconds + kShort);
    const int rate = target.kind == RecordingKind::kAll ? options_.rate_all : options_.rate;
    try {
      window_.run.emplace(program,
                          PySpyTask{target.process, length_s(), rate, target.kind == RecordingKind::kInterpreter});
    } catch (const Error& error) {
      problem_ = error.what();
      turns_.not_started();
    }
  }

  void end_window(double seconds) {
    const double before = 1e-9 * static_cast<double>(thread_cpu_ns());
    PySpyResult result = window_.run->end();
    window_.run.reset();
    const StackTarget& target = window_.target;
    bool immediately;
    if (result.recording) {
      const auto source = [&](const std::string& file) { return source_of(target.process, file); };
      if (target.kind == RecordingKind::kAll) mark_flushes(*result.recording, source);
      if (target.kind != RecordingKind::kInterpreter) add_image_calls(*result.recording, source);
      result.recording->from_start = window_.from_start;
      immediately = turns_.recorded(target, recorded_.add(target, result, seconds));
    } else {
      immediately = turns_.failed(target);
      // A worker may end, and a window that is interrupted early has no recording.
      if (target.kind != RecordingKind::kWorker && !interrupted_) problem_ = result.problem;
    }
    cpu_s_ += result.cpu_s;
    spent_s_ += result.cpu_s + 1e-9 * static_cast<double>(thread_cpu_ns()) - before;
    next_s_ = immediately ? seconds : std::clamp(spent_s_ / options_.cpu_share, seconds, seconds + kLongestBetween);
  }

  const StackProbeOptions options_;
  StackTurns turns_{is_python};
  Window window_;
  double next_s_ = 0;  // when the next window may begin
  double cpu_s_ = 0;
  double spent_s_ = 0;  // CPU time of all windows, with the evaluation
  std::string problem_;
  double latest_s_ = 0;
  bool interrupted_ = false;
  Recorded recorded_;
};

StackProbe::StackProbe(const StackProbeOptions& options) : state_(std::make_unique<State>(options)) {}
StackProbe::~StackProbe() = default;
void StackProbe::look(double seconds, std::span<const ProcessUse> processes) { state_->look(seconds, processes); }
int StackProbe::recorder() const { return state_->recorder(); }
double StackProbe::cpu_s() const { return state_->cpu_s(); }
PythonStacks StackProbe::so_far() const { return state_->so_far(); }
PythonStacks StackProbe::finish() { return state_->finish(); }
std::map<int, PythonStacks> StackProbe::by_process() const { return state_->by_process(); }
const StepUse& StackProbe::steps() const { return state_->steps(); }

}  // namespace unstarve
