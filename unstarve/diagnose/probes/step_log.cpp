#include "unstarve/diagnose/probes/step_log.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"

namespace unstarve {
namespace {

constexpr std::int64_t kRing = 2048;

struct StepLog {
  std::int64_t count;
  double first;
  double ring[kRing];
};

StepUse steps_of(const StepLog& log) {
  StepUse steps;
  const auto time = [&](std::int64_t i) { return log.ring[i % kRing]; };
  const double seconds = log.count >= 2 ? time(log.count - 1) - log.first : 0;
  if (!(seconds > 0)) return {};
  steps.source = "un.step()";
  steps.count = log.count;
  steps.rate = static_cast<double>(log.count - 1) / seconds;
  for (std::int64_t i = std::max<std::int64_t>(log.count - kRing, 0) + 1; i < log.count; ++i)
    steps.seconds.push_back(time(i) - time(i - 1));
  return steps;
}

// Nothing if the file cannot be read, or has another form.
std::optional<StepLog> step_log_in(const std::filesystem::path& file) {
  StepLog log{};
  try {
    const std::string bytes = read_text_file(file);
    if (bytes.size() != sizeof log) return std::nullopt;
    std::memcpy(&log, bytes.data(), sizeof log);
  } catch (const Error&) {
    return std::nullopt;  // removed by another program
  }
  if (log.count < 0) return std::nullopt;
  return log;
}

// By process id.
std::map<int, StepLog> step_logs_in(const std::filesystem::path& folder) {
  std::map<int, StepLog> logs;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".steps") continue;
    const std::string name = entry->path().stem().string();
    int pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid <= 0) continue;
    if (const std::optional<StepLog> log = step_log_in(entry->path())) logs.emplace(pid, *log);
  }
  return logs;
}

// That with most steps, two at least.
std::optional<StepLog> longest_log_in(const std::filesystem::path& folder) {
  std::optional<StepLog> longest;
  for (const auto& [pid, log] : step_logs_in(folder))
    if ((!longest || log.count > longest->count) && !steps_of(log).source.empty()) longest = log;
  return longest;
}

}  // namespace

StepUse read_step_logs(const std::filesystem::path& folder) {
  const std::optional<StepLog> log = longest_log_in(folder);
  return log ? steps_of(*log) : StepUse();
}

double read_first_step(const std::filesystem::path& folder) {
  const std::optional<StepLog> log = longest_log_in(folder);
  return log ? log->first : 0;
}

std::map<int, RankSteps> read_rank_steps(const std::filesystem::path& folder, double to_unix_s) {
  std::map<int, RankSteps> result;
  for (const auto& [pid, log] : step_logs_in(folder)) {
    RankSteps steps;
    steps.count = log.count;
    steps.rate = steps_of(log).rate;
    for (std::int64_t i = std::max<std::int64_t>(log.count - kRing, 0); i < log.count; ++i)
      steps.ends_s.push_back(log.ring[i % kRing] + to_unix_s);
    if (steps.rate > 0 && std::ranges::is_sorted(steps.ends_s)) result[pid] = std::move(steps);
  }
  return result;
}

std::vector<double> read_step_times(const std::filesystem::path& folder, std::uint32_t process) {
  std::vector<double> times;
  const std::optional<StepLog> log = step_log_in(folder / (std::to_string(process) + ".steps"));
  if (!log) return times;
  for (std::int64_t i = std::max<std::int64_t>(log->count - kRing, 0); i < log->count; ++i)
    times.push_back(log->ring[i % kRing]);
  std::erase_if(times, [](double time) { return !(time >= 0); });
  std::ranges::sort(times);  // a step may have ended while the file was read
  return times;
}

}  // namespace unstarve
