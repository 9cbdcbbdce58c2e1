#include "unstarve/jobs/watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/module_loader.h"
#include "unstarve/core/temporary_folder.h"
#include "unstarve/diagnose/cupti/kernel_log.h"
#include "unstarve/diagnose/metrics/metrics_server.h"
#include "unstarve/diagnose/metrics/metrics_text.h"
#include "unstarve/diagnose/probes/py_spy.h"
#include "unstarve/diagnose/probes/sampler.h"
#include "unstarve/diagnose/probes/slowdown_probe.h"
#include "unstarve/diagnose/probes/step_log.h"

namespace unstarve {
namespace {

constexpr double kPoll = 0.2;  // seconds between two checks of the time
constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Signals wait in this process, so that it can pass them on. The destructor restores the mask.
class HeldSignals {
 public:
  // `ignored`: also those that the caller ignores (nohup). A command may handle them nevertheless.
  explicit HeldSignals(bool ignored) {
    sigemptyset(&signals_);
    for (const int signal : kPassedOn)
      if (ignored || !is_ignored(signal)) sigaddset(&signals_, signal);
    sigaddset(&signals_, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals_, &before_);
    child_before_ = std::signal(SIGCHLD, SIG_DFL);  // if it is ignored, children cannot be waited for
  }
  ~HeldSignals() {
    std::signal(SIGCHLD, child_before_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  struct Arrived {
    int signal = 0;              // 0: none
    bool from_terminal = false;  // the command has received it, too
  };
  // Waits for a signal at most `seconds`, which are less than 1.
  [[nodiscard]] Arrived wait(double seconds) const {
    const timespec time{0, static_cast<long>(seconds * 1e9)};
    siginfo_t info{};
    const int signal = sigtimedwait(&signals_, &info, &time);
    // The kernel signals all processes in the foreground of a terminal, but of its hang-up only the session leader.
    const bool of_hang_up = (signal == SIGHUP || signal == SIGCONT) && getsid(0) == getpid();
    return signal > 0 ? Arrived{signal, info.si_code == SI_KERNEL && !of_hang_up} : Arrived{};
  }
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t signals_{}, before_{};
  void (*child_before_)(int) = SIG_DFL;
};

// Starts the command with the signal mask of `signals.before()`.
pid_t start(const std::vector<std::string>& command, const HeldSignals& signals) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int report[2];  // the child writes errno if it cannot execute the command
  if (pipe2(report, O_CLOEXEC) != 0) throw io_error("start", command[0], errno);
  const pid_t child = fork();
  if (child == 0) {
    // This program ignores both (cli/program.cpp), and ignored signals remain ignored.
    std::signal(SIGPIPE, SIG_DFL);
    std::signal(SIGXFSZ, SIG_DFL);
    sigprocmask(SIG_SETMASK, &signals.before(), nullptr);
    prctl(PR_SET_PTRACER, getppid());  // permits this process, and py-spy, to read its stacks
    execvp(words[0], words.data());
    const int error = errno;
    (void)!write(report[1], &error, sizeof error);
    _exit(127);
  }
  int error = child < 0 ? errno : 0;
  close(report[1]);
  int reported = 0;
  if (child > 0 && read(report[0], &reported, sizeof reported) == sizeof reported) error = reported;
  close(report[0]);
  if (error == 0) return child;
  if (child > 0) waitpid(child, nullptr, 0);
  throw CommandFailed(io_error("start", command[0], error), error == ENOENT ? 127 : 126);
}

std::vector<RunFinding> findings_in(const RunProfile& profile) {
  return profile.watching.seconds >= kShortestWatch ? findings_of(profile) : std::vector<RunFinding>();
}

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::string joined(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  return text;
}

// A sampler whose failure does not end the caller: the profile then has the reason.
class CarefulSampler {
 public:
  CarefulSampler(int process, const SamplerOptions& options) {
    guarded([&] { sampler_ = std::make_unique<Sampler>(process, options); });
  }
  // Does nothing after the first call. `stopped`: why the program still runs; empty: it has ended.
  void finish(const std::string& stopped) {
    if (!sampler_) return;
    guarded([&] {
      profile_ = sampler_->finish();
      profile_.watching.stopped = stopped;
    });
    sampler_.reset();
  }
  [[nodiscard]] RunProfile& profile() { return profile_; }
  [[nodiscard]] int recorder() const { return sampler_ ? sampler_->recorder() : 0; }

 private:
  template <class Work>
  void guarded(const Work& work) {
    try {
      work();
    } catch (const std::exception& error) {
      profile_.watching.stopped = fmt::format("by an error: {}", error.what());
    }
  }
  std::unique_ptr<Sampler> sampler_;
  RunProfile profile_;
};

constexpr const char* kTimeIsOver = "after the time of --seconds";

// Waits for the children that were adopted, among them a guard that was killed. The sampler waits for its recorder,
// whose number is read after a child is known to have ended, so that a recorder that ends immediately is known.
void reap_others(pid_t command, const CarefulSampler& sampler) {
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 && info.si_pid != command &&
         info.si_pid != sampler.recorder()) {
    waitpid(info.si_pid, nullptr, WNOHANG);
    info.si_pid = 0;
  }
}

bool has_ended(pid_t child) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    throw io_error("wait for", "the command", errno);
  return info.si_pid == child;
}

// Serves the profile so far. Each request makes the text again, in the thread of the server.
class LiveMetrics {
 public:
  // `published`: the profile is required in any case.
  explicit LiveMetrics(const std::string& address, bool published = false) {
    if (published || !address.empty()) latest_ = std::make_shared<LatestProfile>();
    if (address.empty()) return;
    server_ = std::make_unique<MetricsServer>(metrics_address(address),
                                              [latest = latest_, counters = RunCounters()]() mutable {
                                                const std::shared_ptr<const RunProfile> profile = latest->get();
                                                if (!profile) return std::string();
                                                counters.add(*profile);
                                                return metrics_text(*profile, counters, findings_in(*profile));
                                              });
  }
  [[nodiscard]] std::shared_ptr<LatestProfile> latest() const { return latest_; }

 private:
  std::shared_ptr<LatestProfile> latest_;
  std::unique_ptr<MetricsServer> server_;
};

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// CUDA and NVTX then load the recorder into the command. Returns why it does not record kernels; empty: it does, or
// --no-cupti was given.
std::string record_kernels(const WatchOptions& options, const std::filesystem::path& folder) {
  if (!options.kernels || folder.empty()) return "";
  const std::filesystem::path module = find_module(kCuptiModule);
  if (module.empty()) return fmt::format("{} of this build is not in the run path", kCuptiModule);
  setenv(kCuptiVariable, folder.c_str(), 1);
  if (!is_set(kNvtxInjection)) setenv(kNvtxInjection, module.c_str(), 1);
  if (is_set(kInjection)) return fmt::format("{} already names {}", kInjection, std::getenv(kInjection));
  setenv(kInjection, module.c_str(), 1);
  return "";
}

RunProfile watch_command(const WatchOptions& options) {
  const HeldSignals signals(true);
  const std::unique_ptr<SlowdownGuard> guard = options.confirm ? std::make_unique<SlowdownGuard>() : nullptr;
  for (const char* const name : {kStepsFolder, kStacksFolder}) TemporaryFolder::remove_abandoned(name);
  const TemporaryFolder steps(kStepsFolder);
  // Before threads start, which may read the environment.
  if (!steps.path().empty()) setenv(kStepsVariable, steps.path().c_str(), 1);
  const std::string no_kernels = record_kernels(options, steps.path());
  const LiveMetrics metrics(options.metrics, options.confirm);  // its thread inherits the signal mask
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t child = start(options.command, signals);
  const double begin = seconds_now();
  CarefulSampler sampler(
      child,
      {.adopter = getpid(), .guard = guard ? guard->process() : 0, .steps = steps.path(), .latest = metrics.latest()});
  std::unique_ptr<SlowdownProbe> slowdowns;
  if (guard) slowdowns = std::make_unique<SlowdownProbe>(*guard, SlowdownProbeOptions{metrics.latest(), steps.path()});
  SlowdownChecks checks;
  const auto finish = [&](const std::string& stopped) {
    if (slowdowns) checks = slowdowns->finish();
    slowdowns.reset();
    sampler.finish(stopped);
  };
  bool over = false;
  while (!has_ended(child)) {
    const HeldSignals::Arrived arrived = signals.wait(kPoll);
    if (arrived.signal != 0 && arrived.signal != SIGCHLD && !arrived.from_terminal) kill(child, arrived.signal);
    reap_others(child, sampler);
    if (!over && options.seconds > 0 && seconds_now() - begin >= options.seconds) {
      over = true;
      finish(kTimeIsOver);
      steps.remove();  // the command records no more kernels
    }
  }
  finish("");  // before the command is waited for, while its final times are known
  int status = 0;
  waitpid(child, &status, 0);
  if (!no_kernels.empty()) sampler.profile().watching.kernels_missing = no_kernels;
  sampler.profile().exit_code = exit_code_of(status);
  sampler.profile().command = joined(options.command);
  sampler.profile().slowdowns = checks;
  return sampler.profile();
}

// A process that is not a child. Remains valid if its number is used again.
class OtherProcess {
 public:
  explicit OtherProcess(int pid) : file_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {
    if (file_ >= 0) return;
    if (errno == ESRCH || errno == EINVAL)
      throw Error(ErrorKind::kInput, fmt::format("watch: found no process {}; expected one that is running", pid));
    throw io_error("watch", fmt::format("process {}", pid), errno);
  }
  ~OtherProcess() { close(file_); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  [[nodiscard]] bool has_ended() const {
    pollfd poll_file{file_, POLLIN, 0};
    return poll(&poll_file, 1, 0) > 0;
  }

 private:
  int file_;
};

RunProfile watch_process(const WatchOptions& options) {
  const HeldSignals signals(false);
  const OtherProcess process(options.pid);
  const double begin = seconds_now();
  const LiveMetrics metrics(options.metrics);
  CarefulSampler sampler(options.pid, {.latest = metrics.latest()});
  std::string stopped;
  while (stopped.empty() && !process.has_ended()) {
    const HeldSignals::Arrived arrived = signals.wait(kPoll);
    if (arrived.signal == SIGINT || arrived.signal == SIGTERM || arrived.signal == SIGHUP || arrived.signal == SIGQUIT)
      stopped = "by a signal";
    else if (options.seconds > 0 && seconds_now() - begin >= options.seconds)
      stopped = kTimeIsOver;
  }
  sampler.finish(stopped);
  for (const ProcessUse& use : sampler.profile().processes)
    if (use.pid == options.pid) sampler.profile().command = use.command;
  return sampler.profile();
}

}  // namespace

WatchResult run_watch(const WatchOptions& options) {
  return explain_run(options.command.empty() ? watch_process(options) : watch_command(options));
}

WatchResult explain_run(RunProfile profile) {
  WatchResult result;
  result.profile = std::move(profile);
  result.findings = findings_in(result.profile);
  return result;
}

}  // namespace unstarve
