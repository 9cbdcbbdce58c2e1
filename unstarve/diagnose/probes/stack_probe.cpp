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
    has_workers_ = has_workers_ || std::any_of(processes.begin(), processes.end(), [](const ProcessUse& process) {
                     return process.role == ProcessRole::kLoader;
                   });
    if (recorder_) {
      if (!recorder_->has_ended() && seconds < begin_s_ + options_.window_s + kPatience) return;
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
    begin_window(seconds, main->pid);
  }

  PythonStacks finish() {
    if (recorder_) {
      if (!recorder_->has_ended()) ::kill(recorder_->id(), SIGINT);
      for (const double begin = seconds_now(); !recorder_->has_ended() && seconds_now() < begin + kPatience;)
        ::usleep(10'000);
      with_workers_ = has_workers_;  // it is the last window: better than none
      end_window(begin_s_ + options_.window_s);
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

  void begin_window(double seconds, int pid) {
    remove_files();
    // All threads first; a program with few windows has at least these.
    kind_ = ranks_[pid].windows % 2 == 0 ? RecordingKind::kAll : RecordingKind::kInterpreter;
    with_workers_ = has_workers_;
    const bool all = kind_ == RecordingKind::kAll;
    std::vector<std::string> command{program_.string(),
                                     "record",
                                     "--pid",
                                     std::to_string(pid),
                                     "--nonblocking",
                                     "--format",
                                     "speedscope",
                                     "--rate",
                                     std::to_string(all && !with_workers_ ? options_.rate_alone : options_.rate),
                                     "--duration",
                                     fmt::format("{:.0f}", options_.window_s),
                                     "--output",
                                     output_.string(),
                                     all ? "--idle" : "--gil"};
    if (with_workers_) command.emplace_back("--subprocesses");
    const FileDescriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const FileDescriptor errors(::open(errors_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    try {
      recorder_.emplace(command, ChildStreams{nothing.get(), nothing.get(), errors.get()});
      begin_s_ = seconds;
      begin_time_ = seconds_now();
      main_process_ = pid;
    } catch (const Error& error) {
      problem_ = error.what();
      ++failures_;
    }
  }

  void end_window(double seconds) {
    if (!recorder_->has_ended()) ::kill(recorder_->id(), SIGKILL);
    const int status = recorder_->wait();
    double cost = recorder_->cpu_s();
    bool again = false;  // the window shows the start of the program, or lacks its workers
    recorder_.reset();
    const double before = 1e-9 * static_cast<double>(thread_cpu_ns());
    try {
      const StackRecording recording = parse_stack_recording(read_text_file(output_), main_process_);
      const double length = std::min(seconds_now() - begin_time_, options_.window_s);
      Rank& rank = ranks_[main_process_];
      again = kind_ == RecordingKind::kAll && with_workers_ != has_workers_ && ++rank.repeats <= kRepeats;
      if (!again) sum_.add(recording, main_process_, kind_, length, seconds);
      if (!again && kind_ == RecordingKind::kAll) {
        add_steps(steps_, find_steps(recording, main_process_));
        const double known = rank.sum.seconds();
        rank.sum.add(recording, main_process_, kind_, length, seconds);
        again = rank.sum.seconds() - known < 0.5 * length && ++rank.repeats <= kRepeats;
      }
      if (!again) {
        ++rank.windows;
        ++windows_;
      }
      failures_ = 0;
    } catch (const Error& error) {
      ++failures_;
      std::string text;
      try {
        text = message_in(read_text_file(errors_));
      } catch (const Error&) {  // it wrote nothing
      }
      problem_ = fmt::format("py-spy failed with exit code {}: {}", status, text.empty() ? error.what() : text);
    }
    remove_files();
    const double parsing = 1e-9 * static_cast<double>(thread_cpu_ns()) - before;
    cpu_s_ += cost;
    cost += parsing;
    // The first windows follow each other: all threads of each rank, then the interpreter's lock of one. Another one
    // follows a failure.
    next_s_ = windows_ <= static_cast<int>(ranks_.size()) || again || failures_ > 0
                  ? seconds
                  : seconds + std::min(cost / options_.cpu_share, kLongest);
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
  bool has_workers_ = false;   // of a loader, until now
  bool with_workers_ = false;  // they are recorded in the present window
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
