#include "unstarve/jobs/common/chrome_trace.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "unstarve/core/json.h"
#include "unstarve/core/version.h"
#include "unstarve/jobs/common/json.h"

namespace unstarve {
namespace {

enum TracedProcess { kRun = 1, kProcesses = 2, kTypicalSteps = 3, kThreads = 4 };
enum RunTrack { kFindingsTrack = 1, kStepsTrack = 2 };

double microseconds(double seconds) { return std::round(seconds * 1e9) / 1e3; }

class ChromeEvents {
 public:
  void name_process(int pid, const char* name) {
    add({{"ph", "M"}, {"name", "process_name"}, {"pid", pid}, {"args", {{"name", name}}}});
    add({{"ph", "M"}, {"name", "process_sort_index"}, {"pid", pid}, {"args", {{"sort_index", pid}}}});
  }
  void name_track(int pid, int tid, const std::string& name) {
    add({{"ph", "M"}, {"name", "thread_name"}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}});
    add({{"ph", "M"}, {"name", "thread_sort_index"}, {"pid", pid}, {"tid", tid}, {"args", {{"sort_index", tid}}}});
  }
  void slice(int pid, int tid, const char* category, const std::string& name, const Json& times_and_args) {
    Json event{{"ph", "X"}, {"cat", category}, {"name", name}, {"pid", pid}, {"tid", tid}};
    event.update(times_and_args);
    add(std::move(event));
  }
  void counter(const char* name, double seconds, Json values) {
    add({{"ph", "C"}, {"name", name}, {"pid", kRun}, {"ts", microseconds(seconds)}, {"args", std::move(values)}});
  }
  void add(Json event) { events_.push_back(std::move(event)); }
  [[nodiscard]] Json take() { return std::move(events_); }

 private:
  Json events_ = Json::array();
};

Json times(double begin_s, double seconds) {
  const double begin = microseconds(begin_s);
  return {{"ts", begin}, {"dur", std::round((microseconds(begin_s + seconds) - begin) * 1e3) / 1e3}};
}

void add_findings(ChromeEvents& events, std::span<const RunFinding> findings) {
  if (findings.empty()) return;
  events.name_track(kRun, kFindingsTrack, "findings");
  for (const RunFinding& finding : findings) {
    events.add({{"ph", "i"},
                {"cat", "finding"},
                {"name", finding.title},
                {"pid", kRun},
                {"tid", kFindingsTrack},
                {"ts", 0},
                {"s", "t"},
                {"args",
                 {{"rule", finding.rule},
                  {"evidence", finding.evidence},
                  {"change", finding.change},
                  {"lost", finding.lost},
                  {"gain", finding.gain.gain}}}});
  }
}

void add_counters(ChromeEvents& events, const RunTimeline& timeline) {
  for (std::size_t i = 0; i < points_of(timeline); ++i) {
    const double at = static_cast<double>(i) * timeline.interval_s;
    events.counter("busy cores", at,
                   {{"main", timeline.main[i]}, {"loader", timeline.loader[i]}, {"other", timeline.other[i]}});
    events.counter("memory of the main process, MB", at, {{"resident", 1e-6 * timeline.resident_bytes[i]}});
    events.counter("read from storage, MB/s", at, {{"storage", 1e-6 * timeline.storage_bytes_per_s[i]}});
    if (i < timeline.read_bytes_per_s.size())
      events.counter("read by the program, MB/s", at, {{"read", 1e-6 * timeline.read_bytes_per_s[i]}});
    if (i < std::min(timeline.received_bytes_per_s.size(), timeline.sent_bytes_per_s.size())) {
      events.counter(
          "network, MB/s", at,
          {{"received", 1e-6 * timeline.received_bytes_per_s[i]}, {"sent", 1e-6 * timeline.sent_bytes_per_s[i]}});
    }
    if (i < timeline.gpu.size()) events.counter("GPU utilisation, %", at, {{"mean", 100 * timeline.gpu[i]}});
  }
}

void add_watched_steps(ChromeEvents& events, const RunProfile& profile) {
  const std::vector<double>& seconds = profile.steps.seconds;
  if (seconds.empty()) return;
  events.name_track(kRun, kStepsTrack, "steps, from " + profile.steps.source);
  const auto known = static_cast<std::int64_t>(seconds.size());
  std::int64_t number = std::max(profile.steps.count - known, std::int64_t{1});
  double at = std::max(profile.watching.seconds - std::accumulate(seconds.begin(), seconds.end(), 0.0), 0.0);
  for (const double each : seconds) {
    events.slice(kRun, kStepsTrack, "step", fmt::format("step {}", number++), times(at, each));
    at += each;
  }
}

void add_traced_steps(ChromeEvents& events, const TraceUse& trace) {
  if (trace.steps.empty()) return;
  events.name_track(kRun, kStepsTrack, "steps");
  double at = 0;
  int number = 0;
  for (const TraceStep& step : trace.steps) {
    events.slice(kRun, kStepsTrack, "step", fmt::format("step {}", ++number), times(at, step.seconds));
    Json parts = Json::object();
    for (std::size_t part = 0; part < kStepActivities; ++part)
      parts[to_string(static_cast<StepActivity>(part))] = 1e3 * step.parts[part];
    events.counter("parts of the step, ms", at, std::move(parts));
    at += step.seconds;
  }
}

void add_processes(ChromeEvents& events, const std::vector<ProcessUse>& processes) {
  if (processes.empty()) return;
  events.name_process(kProcesses, "processes");
  int track = 0;
  for (const ProcessUse& process : processes) {
    if (process.pid == 0) continue;  // several that have ended
    const std::string name = fmt::format("{} {}", process.pid, process.name);
    events.name_track(kProcesses, ++track, name);
    Json slice = times(process.begin_s, std::max(process.end_s - process.begin_s, 0.0));
    slice["args"] = {{"role", to_string(process.role)},
                     {"command", process.command},
                     {"cpu_s", process.cpu_s},
                     {"peak_resident_bytes", process.peak_resident_bytes}};
    events.slice(kProcesses, track, "process", name, slice);
  }
}

// As torch.profiler names them; other parts have no category of their own there.
const char* category_of(StepActivity part) {
  switch (part) {
    case StepActivity::kKernel:
    case StepActivity::kCommunication: return "kernel";
    case StepActivity::kCopy: return "gpu_memcpy";
    case StepActivity::kMemset: return "gpu_memset";
    case StepActivity::kRuntime: return "cuda_runtime";
    case StepActivity::kLoader:
    case StepActivity::kOperator: return "cpu_op";
    case StepActivity::kOther: break;
  }
  return "user_annotation";
}

// "device 2, stream 7" -> 2; -1 for threads.
int device_of(std::string_view lane) {
  constexpr std::string_view kDevice = "device ";
  int device = -1;
  if (lane.starts_with(kDevice)) std::from_chars(lane.data() + kDevice.size(), lane.data() + lane.size(), device);
  return device;
}

// Distributes the events of each lane to tracks in which they are disjoint or nested.
class Tracks {
 public:
  Tracks(ChromeEvents& events, const TraceWindow& window) : events_(events), lanes_(window.lanes.size()) {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) open(lane, window.lanes[lane]);
  }
  // The track for an event; events of a lane come in the order of their begin, longer ones first.
  int place(std::size_t lane, const std::string& name, double begin_us, double end_us) {
    for (Track& track : lanes_[lane]) {
      while (!track.ends.empty() && track.ends.back() <= begin_us) track.ends.pop_back();
      if (!track.ends.empty() && track.ends.back() < end_us) continue;
      track.ends.push_back(end_us);
      return track.tid;
    }
    open(lane, fmt::format("{} ({})", name, lanes_[lane].size() + 1)).ends.push_back(end_us);
    return next_;
  }

 private:
  struct Track {
    int tid;
    std::vector<double> ends;  // of open events, the innermost last
  };
  Track& open(std::size_t lane, const std::string& name) {
    events_.name_track(kTypicalSteps, ++next_, name);
    return lanes_[lane].emplace_back(Track{next_, {}});
  }
  ChromeEvents& events_;
  std::vector<std::vector<Track>> lanes_;
  int next_ = 0;
};

void add_window(ChromeEvents& events, const TraceWindow& window) {
  if (window.spans.empty()) return;
  events.name_process(kTypicalSteps, "typical steps");
  Tracks tracks(events, window);
  const std::size_t main = 0;  // lane of the steps
  struct Placed {
    std::size_t lane;
    double begin_s, seconds;
    const char* category;
    std::string name;
    int device;  // -1: none
  };
  std::vector<Placed> all;
  for (std::size_t i = 0; i < window.steps.size(); ++i) {
    const double end = i + 1 < window.steps.size() ? window.steps[i + 1] : window.seconds;
    all.push_back(
        {main, window.steps[i], end - window.steps[i], "user_annotation", fmt::format("ProfilerStep#{}", i + 1), -1});
  }
  for (const WindowSpan& span : window.spans) {
    const auto lane = static_cast<std::size_t>(span.lane);
    all.push_back({lane, span.begin_s, span.seconds, category_of(span.part),
                   window.names[static_cast<std::size_t>(span.name)], device_of(window.lanes[lane])});
  }
  std::ranges::stable_sort(all, [](const Placed& a, const Placed& b) {
    return std::pair(a.begin_s, -a.seconds) < std::pair(b.begin_s, -b.seconds);
  });
  for (const Placed& one : all) {
    Json slice = times(one.begin_s, one.seconds);
    const double begin = slice["ts"], end = begin + slice["dur"].get<double>();
    if (one.device >= 0) slice["args"] = {{"device", one.device}};
    const int tid = tracks.place(one.lane, window.lanes[one.lane], begin, end);
    events.slice(kTypicalSteps, tid, one.category, one.name, slice);
  }
}

void add_threads(ChromeEvents& events, const ThreadWindow& window) {
  if (window.spans.empty()) return;
  events.name_process(kThreads, "threads");
  events.name_track(kThreads, 1, window.steps.empty() ? "steps are unknown" : "steps, by " + window.step_source);
  for (std::size_t i = 0; i < window.steps.size(); ++i) {
    const double end = i + 1 < window.steps.size() ? window.steps[i + 1] : window.seconds;
    events.slice(kThreads, 1, "typical_step", fmt::format("step {}", i + 1),
                 times(window.begin_s + window.steps[i], std::max(end - window.steps[i], 0.0)));
  }
  for (std::size_t lane = 0; lane < window.lanes.size(); ++lane)
    events.name_track(kThreads, static_cast<int>(lane) + 2, window.lanes[lane]);
  for (const ThreadSpan& span : window.spans) {
    events.slice(kThreads, span.lane + 2, "thread_state", to_string(span.state),
                 times(window.begin_s + span.begin_s, span.seconds));
  }
}

// As a relative reference of a URL: no letter of a name has a meaning.
std::string url_of(const std::string& path) {
  std::string url = "./";
  for (const char letter : path) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0 || letter == '/' || letter == '.' || letter == '-' || letter == '_')
      url += letter;
    else
      url += fmt::format("%{:02X}", byte);
  }
  return url;
}

std::string trace_document(Json events, const std::string& command) {
  return json_text(Json{{"traceEvents", std::move(events)},
                        {"displayTimeUnit", "ms"},
                        {"otherData", {{"version", std::string("unstarve ") + kVersion}, {"command", command}}}}) +
         "\n";
}

}  // namespace

std::string chrome_trace(const Recording& recording) {
  ChromeEvents events;
  std::vector<std::string> processes;
  int tid = 0;
  for (const RecordedTrack& track : recording.tracks) {
    auto process = std::ranges::find(processes, track.process);
    if (process == processes.end()) {
      process = processes.insert(process, track.process);
      events.name_process(static_cast<int>(processes.size()), track.process.c_str());
    }
    const int pid = static_cast<int>(process - processes.begin()) + 1;
    events.name_track(pid, ++tid, track.name);
    for (const RecordedSpan& span : track.spans) {
      Json slice = times(span.begin_s, std::max(span.seconds, 0.0));
      for (const auto& [name, value] : span.figures) slice["args"][name] = value;
      events.slice(pid, tid, "measurement", span.name, slice);
    }
  }
  for (const RecordedCounter& counter : recording.counters) {
    for (const RecordedCounter::Point& point : counter.points) {
      Json values = Json::object();
      for (std::size_t i = 0; i < counter.parts.size(); ++i) values[counter.parts[i]] = point.values[i];
      events.counter(counter.name.c_str(), point.seconds, std::move(values));
    }
  }
  return trace_document(events.take(), recording.command);
}

std::string chrome_trace(const RunProfile& profile, std::span<const RunFinding> findings) {
  ChromeEvents events;
  events.name_process(kRun, "run");
  add_findings(events, findings);
  add_counters(events, profile.timeline);
  // Windows in which watch recorded kernels are not at the beginning of the run: its steps are those that it observed.
  const bool watched = profile.watching.seconds > 0;
  if (watched) add_watched_steps(events, profile);
  if (profile.trace && !watched) add_traced_steps(events, *profile.trace);
  if (profile.trace) add_window(events, profile.trace->window);
  add_threads(events, profile.thread_window);
  add_processes(events, profile.processes);
  return trace_document(events.take(), profile.command);
}

void add_trace_link(Report& report, const std::filesystem::path& page, const std::filesystem::path& trace) {
  if (report.curves.empty()) return;
  const std::filesystem::path folder = std::filesystem::absolute(page).parent_path();
  const std::string relative = std::filesystem::absolute(trace).lexically_relative(folder).string();
  report.curves.back().links.push_back(
      {url_of(relative), trace.filename().string(),
       "this run as a trace: drop the file on https://ui.perfetto.dev or open it in chrome://tracing"});
}

}  // namespace unstarve
