#include "unstarve/diagnose/traces/kernel_log_events.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/cupti/cupti_api.h"
#include "unstarve/diagnose/traces/activity_names.h"
#include "unstarve/diagnose/traces/kernel_period.h"
#include "unstarve/diagnose/traces/steps.h"

namespace unstarve {
namespace {

constexpr std::size_t kFewestForCost = 8;  // steps in windows, and others

// CUPTI_ACTIVITY_MEMCPY_KIND_...
CopyDirection cupti_direction(std::uint8_t kind) {
  switch (kind) {
    case 1:
    case 3: return CopyDirection::kToDevice;
    case 2:
    case 4: return CopyDirection::kToHost;
    case 5:
    case 6:
    case 7:
    case 8:
    case 10: return CopyDirection::kOnDevice;
    default: return CopyDirection::kUnknown;
  }
}

// CUPTI_ACTIVITY_MEMORY_KIND_...
MemoryKind cupti_memory(std::uint8_t kind) {
  switch (kind) {
    case 1: return MemoryKind::kPageable;
    case 2: return MemoryKind::kPinned;
    case 3:
    case 4:
    case 6: return MemoryKind::kDevice;
    case 5:
    case 7: return MemoryKind::kManaged;
    default: return MemoryKind::kUnknown;
  }
}

// Whether CUPTI itself takes this time of the program. Compilation and loading of modules are the program's; buffers
// are flushed (1) mostly by the thread that records, which delays nothing.
// Runtime-triggered loading of modules, and lazy loading of functions.
bool loads_module(std::uint8_t kind) { return kind == 4 || kind == 5; }
bool is_of_cupti(std::uint8_t kind) { return kind == 2 || kind == 3 || kind == 7 || kind == 8; }

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? text.get() : name;
}

// Adds the entries of a file to `events`.
class KernelLogEvents {
 public:
  KernelLogEvents(KernelLogFile log, TraceEvents& events) : log_(std::move(log)), events_(events) {}

  KernelLogFacts add() {
    facts_.process = log_.process;
    facts_.message = log_.message;
    for (const LoggedWindow& window : log_.windows) {
      if (window.has_kernels) facts_.windows.push_back(window);
      add_ranges(window);
    }
    add_devices();
    add_events();
    add_memory();
    return std::move(facts_);
  }

 private:
  void add_ranges(const LoggedWindow& logged) {
    if (logged.monotonic_ns < 0 || logged.monotonic_ns >= kLatestNs) return;
    const Interval window{logged.monotonic_ns, logged.monotonic_ns + (logged.time.end - logged.time.begin)};
    std::vector<Interval>& recorded = facts_.ranges.recorded;
    if (!recorded.empty() && window.begin < recorded.back().end) return;
    recorded.push_back(window);
    for (const KernelLogEntry& entry : logged.ranges) {
      const auto name = log_.names.find(entry.name);
      const auto activity = name != log_.names.end() ? range_activity(name->second) : std::nullopt;
      if (!activity || entry.begin_ns < window.begin || entry.end_ns > window.end) continue;
      TraceEvent event;
      event.activity = *activity;
      const auto add = [&](TraceEvents& events, std::int64_t begin_ns, std::int64_t end_ns) {
        event.begin_ns = begin_ns;
        event.end_ns = end_ns;
        // PyTorch's emit_nvtx() adds numbers to the names of operators: "aten::mm, seq = 12".
        event.name = events.name_id(std::string_view(name->second).substr(0, name->second.find(',')));
        event.lane = events.lane_id(fmt::format("thread {}", entry.lane));
        events.add(event);
      };
      if (logged.has_kernels) add(events_, in_clock_of(logged, entry.begin_ns), in_clock_of(logged, entry.end_ns));
      if (*activity == TraceActivity::kPossibleStep) add(facts_.ranges, entry.begin_ns, entry.end_ns);
    }
  }

  // The part of an entry in the window in which it begins, or which begins in it.
  [[nodiscard]] std::optional<Interval> in_window(const KernelLogEntry& entry) const {
    const auto& windows = facts_.windows;
    auto window = std::upper_bound(windows.begin(), windows.end(), entry.end_ns,
                                   [](std::int64_t time, const KernelWindow& w) { return time < w.time.begin; });
    if (window == windows.begin()) return std::nullopt;
    --window;
    const Interval part{std::max(entry.begin_ns, window->time.begin), std::min(entry.end_ns, window->time.end)};
    return part.begin <= part.end ? std::optional(part) : std::nullopt;
  }

  struct Name {
    std::uint32_t id = 0;
    TraceActivity kernel = TraceActivity::kKernel, call = TraceActivity::kRuntimeCall;
  };
  const Name& name_of(std::uint32_t number) {
    const auto known = ids_.find(number);
    if (known != ids_.end()) return known->second;
    const auto found = log_.names.find(number);
    const std::string text = found == log_.names.end() ? "unknown" : demangled(found->second);
    Name name;
    name.id = events_.name_id(text);
    if (kernel_traits(text).collective) name.kernel = TraceActivity::kCollective;
    name.call = runtime_activity(text);
    if (text.find("at::native") != std::string::npos) events_.framework = Framework::kPyTorch;
    if (text.find("tensorflow::") != std::string::npos) events_.framework = Framework::kTensorFlow;
    return ids_[number] = name;
  }

  void add_devices() {
    for (const auto& [index, logged] : log_.devices) {
      DeviceUse* const device = events_.device(index);
      if (device == nullptr) continue;
      device->name = logged.name;
      device->compute_capability = logged.compute_capability;
      device->memory_bytes = static_cast<std::int64_t>(logged.memory_bytes);
      facts_.pci_addresses[index] = logged.pci_address;
    }
  }

  void add_events() {
    events_.format = "CUPTI";
    for (const KernelWindow& window : facts_.windows) events_.recorded.push_back(window.time);
    // Calls first, the outer before the inner ones.
    std::ranges::sort(log_.entries, [](const KernelLogEntry& a, const KernelLogEntry& b) {
      return std::tie(a.lane, a.begin_ns, b.end_ns) < std::tie(b.lane, b.begin_ns, a.end_ns);
    });
    const bool has_calls = std::ranges::any_of(
        log_.entries, [](const KernelLogEntry& entry) { return entry.kind == KernelLogKind::kCall; });
    std::uint64_t thread = 0;
    std::int64_t outer_end_ns = std::numeric_limits<std::int64_t>::min();
    for (const KernelLogEntry& entry : log_.entries) {
      if (entry.kind == KernelLogKind::kCall) {
        const bool nested = entry.lane == thread && entry.end_ns <= outer_end_ns;
        if (nested) continue;
        thread = entry.lane;
        outer_end_ns = entry.end_ns;
      }
      const std::optional<Interval> part = in_window(entry);
      if (part) add_event(entry, *part, has_calls);
    }
  }

  // A release counts the bytes of its allocation if that was recorded, as records of releases may have none.
  void add_memory() {
    constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;  // sums do not overflow
    std::ranges::stable_sort(log_.memory,
                             [](const KernelLogEntry& a, const KernelLogEntry& b) { return a.begin_ns < b.begin_ns; });
    std::unordered_map<std::uint64_t, std::uint64_t> on_devices, on_host;  // bytes by address
    for (const KernelLogEntry& entry : log_.memory) {
      const MemoryKind kind = cupti_memory(entry.memory);
      if (kind != MemoryKind::kDevice && kind != MemoryKind::kPinned) continue;
      auto& live = kind == MemoryKind::kPinned ? on_host : on_devices;
      std::uint64_t bytes = std::min(entry.value, kMostBytes);
      const bool allocated = entry.detail == kMemoryAllocated;
      if (allocated) {
        live[entry.lane] = bytes;
      } else if (const auto known = live.find(entry.lane); known != live.end()) {
        bytes = known->second;
        live.erase(known);
      }
      const auto change = static_cast<std::int64_t>(bytes);
      if (!in_window(entry)) continue;
      (kind == MemoryKind::kPinned ? events_.memory.pinned : events_.memory.device)
          .push_back({entry.begin_ns, allocated ? change : -change});
    }
  }

  void add_event(const KernelLogEntry& entry, Interval part, bool has_calls) {
    TraceEvent event;
    event.begin_ns = part.begin;
    event.end_ns = part.end;
    const bool on_device = entry.kind == KernelLogKind::kKernel || entry.kind == KernelLogKind::kCopy ||
                           entry.kind == KernelLogKind::kMemset;
    if (on_device) {
      if (events_.device(entry.device) == nullptr) return;
      event.device = entry.device;
      const std::string stream = entry.lane == kUnifiedLane ? "unified" : std::to_string(entry.lane);
      event.lane = events_.lane_id(fmt::format("stream {}/{}", entry.device, stream));
    }
    switch (entry.kind) {
      case KernelLogKind::kKernel: {
        const Name& name = name_of(entry.name);
        event.activity = name.kernel;
        event.name = name.id;
        ++facts_.kernels;
        break;
      }
      case KernelLogKind::kCopy:
        event.activity = TraceActivity::kCopy;
        event.name = events_.name_id("Memcpy");
        event.bytes = std::min(entry.value, std::uint64_t{1} << 48);
        event.direction = cupti_direction(entry.detail);
        event.host_memory = cupti_memory(entry.memory);
        break;
      case KernelLogKind::kMemset:
        event.activity = TraceActivity::kMemset;
        event.name = events_.name_id("Memset");
        break;
      case KernelLogKind::kSynchronisation: {
        constexpr std::uint8_t kStreamWaitsForEvent = 2;  // the host does not wait
        if (has_calls || entry.detail == kStreamWaitsForEvent) return;
        event.activity = TraceActivity::kSynchronisation;
        event.name = events_.name_id("synchronisation");
        event.lane = events_.lane_id("host");
        break;
      }
      case KernelLogKind::kOverhead:
        if (loads_module(entry.detail)) {
          event.activity = TraceActivity::kModuleLoad;
          event.name = events_.name_id("module loading");
          event.lane = events_.lane_id("CUDA modules");
          break;
        }
        if (!is_of_cupti(entry.detail)) return;
        event.activity = TraceActivity::kOverhead;
        event.name = events_.name_id("CUPTI");
        event.lane = events_.lane_id("CUPTI");
        break;
      case KernelLogKind::kUnified: add_unified(entry, part); return;
      default: {
        const Name& name = name_of(entry.name);
        event.activity = name.call;
        event.name = name.id;
        event.lane = events_.lane_id(fmt::format("thread {}", entry.lane));
      }
    }
    events_.add(event);
  }

  void add_unified(const KernelLogEntry& entry, Interval part) {
    UnifiedEvent event;
    event.begin_ns = part.begin;
    event.end_ns = part.end;
    event.count = static_cast<std::int64_t>(std::min(entry.value, std::uint64_t{1} << 62));
    switch (entry.detail) {
      case kCuptiUnifiedCpuFault: event.kind = UnifiedEvent::Kind::kCpuFault; break;
      case kCuptiUnifiedGpuFault: event.kind = UnifiedEvent::Kind::kGpuFault; break;
      case kCuptiUnifiedThrashing: event.kind = UnifiedEvent::Kind::kThrashing; break;
      case kCuptiUnifiedThrottling: event.kind = UnifiedEvent::Kind::kThrottling; break;
      default: return;
    }
    events_.add(event);
  }

  KernelLogFile log_;
  TraceEvents& events_;
  KernelLogFacts facts_;
  std::map<std::uint32_t, Name> ids_;  // by the numbers of the file
};

// The thread with the most launches.
std::uint32_t launching_lane(TraceEvents& events) {
  std::map<std::uint32_t, std::int64_t> launches;
  for (const TraceEvent& event : events.events())
    if (event.activity == TraceActivity::kLaunch) ++launches[event.lane];
  const auto most =
      std::ranges::max_element(launches, [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == launches.end() ? events.lane_id("host") : most->first;
}

// `times`: ascending.
bool add_steps_between(const KernelLogFacts& facts, const std::vector<std::int64_t>& times, TraceEvents& events) {
  TraceEvent step;
  step.activity = TraceActivity::kStep;
  step.name = events.name_id("step");
  step.lane = launching_lane(events);
  bool added = false;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    for (const KernelWindow& window : facts.windows) {
      if (times[i] < window.time.begin || times[i + 1] > window.time.end) continue;
      step.begin_ns = times[i];
      step.end_ns = times[i + 1];
      events.add(step);
      added = true;
    }
  }
  return added;
}

std::int64_t monotonic_ns(double seconds) { return static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e9) * 1e9); }

}  // namespace

KernelLogFacts read_kernel_log(std::span<const std::uint8_t> file, const std::string& name, TraceEvents& events) {
  return KernelLogEvents(parse_kernel_log(file, name), events).add();
}

bool add_marked_steps(const KernelLogFacts& facts, std::span<const double> times, TraceEvents& events) {
  bool added = false;
  for (const KernelWindow& window : facts.windows) {
    std::vector<std::int64_t> in_window;
    for (const double time : times) {
      const std::int64_t ns = in_clock_of(window, monotonic_ns(time));
      if (ns >= window.time.begin && ns <= window.time.end) in_window.push_back(ns);
    }
    added = add_steps_between(facts, in_window, events) || added;
  }
  return added;
}

bool add_steps_by_kernels(const KernelLogFacts& facts, TraceEvents& events) {
  if (steps_of(events, {}).found) return false;
  struct Start {
    std::int64_t begin_ns;
    std::pair<std::uint32_t, std::uint32_t> kernel;  // lane and name
    bool operator<(const Start& other) const {
      return std::tie(begin_ns, kernel) < std::tie(other.begin_ns, other.kernel);
    }
  };
  std::vector<Start> starts;
  for (const TraceEvent& event : events.events())
    if (event.activity == TraceActivity::kKernel) starts.push_back({event.begin_ns, {event.lane, event.name}});
  std::sort(starts.begin(), starts.end());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
  std::vector<KernelStart> sequence;
  std::uint32_t window = 0;
  for (const Start& start : starts) {
    while (window + 1 < facts.windows.size() && facts.windows[window + 1].time.begin <= start.begin_ns) ++window;
    const auto number = numbers.try_emplace(start.kernel, static_cast<std::uint32_t>(numbers.size())).first->second;
    sequence.push_back({number, window});
  }
  std::vector<std::int64_t> times;
  for (const std::size_t begin : step_begins(sequence)) times.push_back(starts[begin].begin_ns);
  return add_steps_between(facts, times, events);
}

double first_step_s(const KernelLogFacts& facts, TraceEvents& events) {
  const TraceSteps steps = steps_of(events, {});
  if (!steps.found) return 0;
  const std::int64_t begin = steps.windows[0].begin;
  for (const KernelWindow& window : facts.windows)
    if (window.time.begin <= begin && begin <= window.time.end)
      return 1e-9 * static_cast<double>(window.monotonic_ns) + 1e-9 * static_cast<double>(begin - window.time.begin);
  return 0;
}

StepUse steps_by_ranges(KernelLogFacts& facts) {
  constexpr std::size_t kMost = 2048;
  StepUse use;
  const TraceSteps steps = steps_of(facts.ranges, {});
  if (!steps.found) return use;
  double seconds = 0;
  for (const Interval& step : steps.windows) {
    use.seconds.push_back(1e-9 * static_cast<double>(step.end - step.begin));
    seconds += use.seconds.back();
  }
  use.source = "NVTX ranges";
  use.rate = static_cast<double>(steps.windows.size()) / seconds;
  use.seconds.erase(use.seconds.begin(),
                    use.seconds.end() - static_cast<std::ptrdiff_t>(std::min(kMost, use.seconds.size())));
  return use;
}

// Seconds in which CUPTI records, too: before a window, and until its records have arrived.
constexpr double kBeforeWindow = 0.25, kAfterWindow = 1;

double cost_of_recording(const KernelLogFacts& facts, std::span<const double> times) {
  std::vector<double> inside, outside;
  for (std::size_t i = 1; i < times.size(); ++i) {
    bool in = false, touches = false;
    for (const KernelWindow& window : facts.windows) {
      const double begin = 1e-9 * static_cast<double>(window.monotonic_ns);
      const double end = begin + 1e-9 * static_cast<double>(window.time.end - window.time.begin);
      in = in || (times[i - 1] >= begin && times[i] <= end);
      touches = touches || (times[i] >= begin - kBeforeWindow && times[i - 1] <= end + kAfterWindow);
    }
    if (in || !touches) (in ? inside : outside).push_back(times[i] - times[i - 1]);
  }
  if (inside.size() < kFewestForCost || outside.size() < kFewestForCost) return 0;
  const double longer = median(inside), normal = median(outside);
  return longer > normal && longer > 0 ? 1 - std::max(normal, 0.0) / longer : 0;
}

}  // namespace unstarve
