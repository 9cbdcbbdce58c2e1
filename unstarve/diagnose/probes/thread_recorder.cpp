#include "unstarve/diagnose/probes/thread_recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <random>

#include "unstarve/core/clock.h"
#include "unstarve/diagnose/probes/proc_text.h"
#include "unstarve/diagnose/probes/thread_waits.h"

namespace unstarve {
namespace {

enum File : std::size_t { kSchedule, kStatus, kIo, kSystemCall };
constexpr const char* kFileNames[] = {"schedstat", "status", "io", "syscall"};

}  // namespace

ThreadRecorder::ThreadRecorder(int process, std::size_t most, const std::filesystem::path& proc) : most_(most) {
  looks_.reserve(most);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const auto path = proc / fmt::format("{}/task/{}/{}", process, process, kFileNames[i]);
    files_[i] = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
}

bool ThreadRecorder::look(double seconds) {
  if (looks_.size() == most_) return false;
  const std::optional<RunTimes> times = parse_run_times(read_again(files_[kSchedule], buffer_));
  if (!times) return false;
  if (looks_.empty()) first_wait_ns_ = times->waiting_ns;
  last_wait_ns_ = times->waiting_ns;
  const std::int64_t switches = parse_voluntary_switches(read_again(files_[kStatus], buffer_)).value_or(0);
  const IoCounts io = parse_io_counts(read_again(files_[kIo], buffer_)).value_or(IoCounts{});
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  looks_.push_back({seconds,
                    {1e-9 * number(times->running_ns), number(switches), number(io.read_calls), number(io.read_bytes),
                     number(io.written_bytes)}});
  if (looks_.size() % kRare != 0) return true;
  ++rare_looks_;
  const std::optional<SystemCall> call = parse_system_call(read_again(files_[kSystemCall], buffer_));
  if (call && wait_of(*call, "") == Wait::kSleep) ++sleeping_;
  return true;
}

void ThreadRecorder::record(double interval_s, const std::stop_token& stop) {
  std::minstd_rand random;
  std::uniform_real_distribution<double> shift(0, 0.8);  // of an interval
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  const double begin = seconds_now();
  double now = begin;
  while (look(now - begin) && !stop.stop_requested()) {
    const double slot = std::floor((now - begin) / interval_s) + 1;
    const double next = begin + (slot + shift(random)) * interval_s;
    never.wait_for(lock, stop, std::chrono::duration<double>(std::max(next - now, 0.0)), [] { return false; });
    now = seconds_now();
  }
}

double ThreadRecorder::seconds() const { return looks_.empty() ? 0 : looks_.back().seconds - looks_.front().seconds; }

ThreadSeries ThreadRecorder::series(double interval_s) const {
  ThreadSeries series{interval_s, {}};
  const auto size = static_cast<std::size_t>(seconds() / interval_s);
  for (std::size_t counter = 0; counter < kCounters; ++counter) {
    std::vector<double>& values = series.counters.emplace_back();
    std::size_t next = 1;  // the look after the present time
    double before = 0;
    for (std::size_t i = 0; i <= size && looks_.size() >= 2; ++i) {
      const double time = looks_[0].seconds + static_cast<double>(i) * interval_s;
      while (next + 1 < looks_.size() && looks_[next].seconds < time) ++next;
      const Look &a = looks_[next - 1], &b = looks_[next];
      const double share = std::clamp((time - a.seconds) / (b.seconds - a.seconds), 0.0, 1.0);
      const double at = std::lerp(a.counters[counter], b.counters[counter], share);
      if (i > 0) values.push_back(at - before);
      before = at;
    }
  }
  return series;
}

double ThreadRecorder::cpu_share() const {
  return seconds() > 0 ? (looks_.back().counters[0] - looks_.front().counters[0]) / seconds() : 0;
}

double ThreadRecorder::wait_share() const {
  return seconds() > 0 ? 1e-9 * static_cast<double>(last_wait_ns_ - first_wait_ns_) / seconds() : 0;
}

double ThreadRecorder::sleep_share() const {
  return static_cast<double>(sleeping_) / static_cast<double>(std::max<std::size_t>(rare_looks_, 1));
}

}  // namespace unstarve
