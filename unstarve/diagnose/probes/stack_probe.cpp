#include "unstarve/diagnose/probes/stack_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <utility>

#include "unstarve/core/child_process.h"
#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/thread_time.h"
#include "unstarve/diagnose/probes/stack_recording.h"
#include "unstarve/diagnose/probes/step_finder.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr double kImports = 2;    // seconds before the first window
constexpr double kLongest = 600;  // seconds between two windows
constexpr int kFailures = 4;      // after which no further window is tried

bool is_executable(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0 && !fs::is_directory(path); }

// Whether the process executes Python, by the name of its program.
bool is_python(int pid) {
  std::error_code error;
  const std::string name = fs::read_symlink("/proc/" + std::to_string(pid) + "/exe", error).filename().string();
  return name.starts_with("python") || name.starts_with("pypy");
}

// The last line with a message; py-spy writes several.
std::string message_in(const std::string& text) {
  std::istringstream lines(text);
  std::string message;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Error: ")) line.erase(0, 7);
    const bool is_message = line.find_first_not_of(" \t") != std::string::npos && !line.starts_with("py-spy>") &&
                            !line.starts_with("Reason:");
    if (is_message) message = line;
  }
  return printable(message);
}

}  // namespace

fs::path find_py_spy(const fs::path& python) {
  const char* const chosen = std::getenv("UNSTARVE_PY_SPY");
  if (chosen != nullptr) return chosen;
  std::vector<fs::path> folders{python.parent_path()};
  std::error_code error;
  folders.push_back(fs::read_symlink("/proc/self/exe", error).parent_path());
  if (const char* const own = std::getenv("UNSTARVE_PYTHON")) folders.push_back(fs::path(own).parent_path());
  if (const char* const environment = std::getenv("VIRTUAL_ENV")) folders.push_back(fs::path(environment) / "bin");
  if (const char* const path = std::getenv("PATH")) {
    std::istringstream entries(path);
    for (std::string entry; std::getline(entries, entry, ':');) folders.emplace_back(entry);
  }
  for (const fs::path& folder : folders)
    if (!folder.empty() && is_executable(folder / "py-spy")) return folder / "py-spy";
  return {};
}

class StackProbe::State {
 public:
  explicit State(const StackProbeOptions& options) : options_(options) {
    std::error_code error;
    const fs::path temporary = fs::temp_directory_path(error);
    const std::string name = fmt::format("unstarve-stacks-{}-{:x}", ::getpid(), reinterpret_cast<std::uintptr_t>(this));
    output_ = temporary / (name + ".json");
    errors_ = temporary / (name + ".txt");
  }
  ~State() {
    recorder_.reset();
    remove_files();
  }

  void look(double seconds, std::span<const ProcessUse> processes) {
    if (recorder_) {
      if (!recorder_->has_ended() && seconds < begin_s_ + length_s_ + kPatience) return;
      end_window(seconds);
    }
    if (seconds < next_s_ || failures_ >= kFailures) return;
    const ProcessUse* const main = main_python(seconds, processes);
    if (main == nullptr) return;
    program_ = find_py_spy(main->command.substr(0, main->command.find(' ')));
    if (program_.empty()) {
      failures_ = kFailures;
      problem_ = "py-spy was not found; install it by `pip install py-spy`";
      return;
    }
    begin_window(seconds, main->pid, processes);
  }

  PythonStacks finish() {
    if (recorder_) {
      if (!recorder_->has_ended()) ::kill(recorder_->id(), SIGINT);
      for (const double begin = seconds_now(); !recorder_->has_ended() && seconds_now() < begin + kPatience;)
        ::usleep(10'000);
      end_window(begin_s_ + length_s_);
    }
    return so_far();
  }

  [[nodiscard]] PythonStacks so_far() const {
    PythonStacks stacks = sum_.stacks();
    if (!stacks.stacks.empty()) return stacks;
    stacks.missing = !problem_.empty() ? problem_
                     : python_seen_    ? "the program ended before stacks were recorded"
                                       : "no Python program was found";
    return stacks;
  }

  [[nodiscard]] std::map<int, PythonStacks> by_process() const {
    std::map<int, PythonStacks> result;
    for (const auto& [pid, rank] : ranks_) result.emplace(pid, rank.sum.stacks());
    return result;
  }
  [[nodiscard]] const StepUse& steps() const { return steps_; }
  [[nodiscard]] int recorder() const { return recorder_ ? recorder_->id() : 0; }
  [[nodiscard]] double cpu_s() const { return cpu_s_; }

 private:
  static constexpr double kPatience = 5;  // seconds in which py-spy ends after its window
  static constexpr std::size_t kRanks = 64;
  static constexpr int kRepeats = 5;

  struct Rank {
    int windows = 0, repeats = 0;
    RecordingKind next = RecordingKind::kAll;
    StackSum sum;
  };

  // Of the ranks, the one with fewest windows.
  const ProcessUse* main_python(double seconds, std::span<const ProcessUse> processes) {
    const ProcessUse* next = nullptr;
    for (const ProcessUse& process : processes) {  // most CPU time first
      if (process.role != ProcessRole::kMain || process.ended || !is_python(process.pid)) continue;
      python_seen_ = true;
      if (seconds < process.begin_s + kImports) continue;
      if (!ranks_.contains(process.pid) && ranks_.size() >= kRanks) continue;
      const int windows = ranks_[process.pid].windows;
      if (next == nullptr || windows < ranks_[next->pid].windows) next = &process;
    }
    return next;
  }

  // The workers that are alive, those of `rank` first.
  static std::vector<int> workers_of(int rank, std::span<const ProcessUse> processes) {
    std::vector<int> own, others;
    for (const ProcessUse& process : processes) {
      if (process.role != ProcessRole::kLoader || process.ended || !is_python(process.pid)) continue;
      (process.parent == rank ? own : others).push_back(process.pid);
    }
    return own.empty() ? others : own;
  }

  void begin_window(double seconds, int pid, std::span<const ProcessUse> processes) {
    remove_files();
    // All threads first; a program with few windows has at least these.
    kind_ = ranks_[pid].next;
    main_process_ = recorded_ = pid;
    if (kind_ == RecordingKind::kWorker) {
      const std::vector<int> workers = workers_of(pid, processes);
      workers_ = static_cast<int>(workers.size());
      if (workers.empty())
        kind_ = RecordingKind::kInterpreter;
      else
        recorded_ = workers[worker_windows_++ % workers.size()];
    }
    length_s_ = kind_ == RecordingKind::kWorker ? options_.worker_s : options_.window_s;
    const int rate = kind_ == RecordingKind::kAll ? options_.rate_all : options_.rate;
    const std::vector<std::string> command{program_.string(),
                                           "record",
                                           "--pid",
                                           std::to_string(recorded_),
                                           "--nonblocking",
                                           "--format",
                                           "speedscope",
                                           "--rate",
                                           std::to_string(rate),
                                           "--duration",
                                           fmt::format("{:.0f}", length_s_),
                                           "--output",
                                           output_.string(),
                                           kind_ == RecordingKind::kInterpreter ? "--gil" : "--idle"};
    const FileDescriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const FileDescriptor errors(::open(errors_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    try {
      recorder_.emplace(command, ChildStreams{nothing.get(), nothing.get(), errors.get()});
      begin_s_ = seconds;
      begin_time_ = seconds_now();
    } catch (const Error& error) {
      problem_ = error.what();
      ++failures_;
    }
  }

  void end_window(double seconds) {
    if (!recorder_->has_ended()) ::kill(recorder_->id(), SIGKILL);
    const int status = recorder_->wait();
    const double cost = recorder_->cpu_s();
    recorder_.reset();
    const double before = 1e-9 * static_cast<double>(thread_cpu_ns());
    Rank& rank = ranks_[main_process_];
    bool again = false;  // the window shows the start of the program
    try {
      const StackRecording recording = parse_stack_recording(read_text_file(output_), recorded_);
      const double length = std::min(seconds_now() - begin_time_, length_s_), known = rank.sum.seconds();
      if (kind_ == RecordingKind::kWorker)
        sum_.add_worker(recording, workers_, seconds);
      else
        sum_.add(recording, main_process_, kind_, length, seconds);
      if (kind_ == RecordingKind::kAll) {
        add_steps(steps_, find_steps(recording, main_process_));
        rank.sum.add(recording, main_process_, kind_, length, seconds);
        again = rank.sum.seconds() - known < 0.5 * length && ++rank.repeats <= kRepeats;
      }
      failures_ = 0;
    } catch (const Error& error) {
      std::string text;
      try {
        text = message_in(read_text_file(errors_));
      } catch (const Error&) {  // it wrote nothing
      }
      again = kind_ != RecordingKind::kWorker;  // a worker may end
      if (again) {
        ++failures_;
        problem_ = fmt::format("py-spy failed with exit code {}: {}", status, text.empty() ? error.what() : text);
      }
    }
    if (!again) {
      ++windows_;
      ++rank.windows;
      rank.next = kind_ == RecordingKind::kAll      ? RecordingKind::kWorker
                  : kind_ == RecordingKind::kWorker ? RecordingKind::kInterpreter
                                                    : RecordingKind::kAll;
    }
    remove_files();
    const double parsing = 1e-9 * static_cast<double>(thread_cpu_ns()) - before;
    cpu_s_ += cost;
    spent_s_ += cost + parsing;
    // The first windows follow each other: all threads of each rank, a worker, the interpreter's lock of one. Another
    // one follows a failure.
    const std::size_t first = ranks_.size() + (worker_windows_ > 0 ? 1 : 0);
    next_s_ = static_cast<std::size_t>(windows_) <= first || again
                  ? seconds
                  : std::clamp(spent_s_ / options_.cpu_share, seconds, seconds + kLongest);
  }

  void remove_files() const {
    std::error_code error;
    fs::remove(output_, error);
    fs::remove(errors_, error);
  }

  StackProbeOptions options_;
  fs::path program_, output_, errors_;
  std::optional<ChildProcess> recorder_;
  RecordingKind kind_ = RecordingKind::kAll;
  int main_process_ = 0;
  double begin_s_ = 0, next_s_ = 0, begin_time_ = 0;
  double cpu_s_ = 0;
  int windows_ = 0, failures_ = 0;
  bool python_seen_ = false;
  double spent_s_ = 0;   // CPU time of all windows, with the evaluation
  double length_s_ = 0;  // of the present window
  int recorded_ = 0;     // the process that is recorded: main_process_, or one of `workers_`
  int workers_ = 0;
  std::size_t worker_windows_ = 0;
  std::string problem_;
  StackSum sum_;               // of all ranks
  std::map<int, Rank> ranks_;  // by process id
  StepUse steps_;
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
