#include "unstarve/diagnose/traces/reduce.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "unstarve/diagnose/traces/activity_names.h"
#include "unstarve/diagnose/traces/fallback.h"
#include "unstarve/diagnose/traces/intervals.h"
#include "unstarve/diagnose/traces/step_memory.h"
#include "unstarve/diagnose/traces/steps.h"
#include "unstarve/diagnose/traces/window.h"

namespace unstarve {
namespace {

double seconds_of(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }

// What is active at a moment. The first seven are the parts of a step, in the same order.
enum Set : std::size_t {
  kInKernel,
  kInCopy,
  kInMemset,
  kInCollective,
  kInRuntime,
  kInLoader,
  kInOperator,
  kInCheckpoint,
  kInLogging,
  kInAllocation,
  kInSynchronisation,
  kInCopyCall,
  kInFallback,
  kSets,
};
static_assert(kInOperator == static_cast<std::size_t>(StepActivity::kOperator) && kStepActivities == kInOperator + 2);

bool is_on_device(TraceActivity activity) { return activity <= TraceActivity::kMemset; }
bool is_runtime_call(TraceActivity activity) {
  return activity >= TraceActivity::kLaunch && activity <= TraceActivity::kRuntimeCall;
}
bool is_of_main_thread(TraceActivity activity) {
  return activity == TraceActivity::kLoader || activity == TraceActivity::kCheckpoint ||
         activity == TraceActivity::kLogging;
}

std::int64_t median_ns(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::uint32_t busiest_lane(const std::vector<TraceEvent>& events) {
  std::map<std::uint32_t, std::int64_t> counts;
  for (const TraceEvent& event : events)
    if (!is_on_device(event.activity) && event.activity != TraceActivity::kOverhead) ++counts[event.lane];
  const auto most = std::ranges::max_element(counts, [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 0 : most->first;
}

class Names {
 public:
  explicit Names(const TraceEvents& events) : events_(events), sums_(events.names()) {}
  void add(std::uint32_t name, double seconds) {
    ++sums_[name].first;
    sums_[name].second += seconds;
  }
  [[nodiscard]] std::vector<NamedTime> longest() const {
    std::vector<NamedTime> named;
    for (std::uint32_t id = 0; id < sums_.size(); ++id)
      if (sums_[id].first > 0) named.push_back({events_.name(id), sums_[id].first, sums_[id].second});
    std::ranges::sort(named, [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
    if (named.size() > kMostNames) named.resize(kMostNames);
    return named;
  }

 private:
  const TraceEvents& events_;
  std::vector<std::pair<std::int64_t, double>> sums_;  // count, seconds
};

class Reduction {
 public:
  explicit Reduction(TraceEvents& events) : source_(events), events_(events.events()) {}

  TraceUse run() {
    use_.format = source_.format;
    use_.framework = source_.framework;
    use_.image_bytes = source_.image_bytes;
    use_.left_out = source_.left_out();
    use_.malformed = source_.malformed;
    use_.events = static_cast<std::int64_t>(events_.size());
    if (events_.empty()) return use_;
    const Interval observed = observed_time();
    use_.observed_s = seconds_of(observed.end - observed.begin);
    if (!source_.recorded.empty()) {
      use_.observed_s = 0;
      for (const Interval& window : source_.recorded) use_.observed_s += seconds_of(window.end - window.begin);
    }
    steps_ = steps_of(source_, observed);
    choose_threads();
    for (const Interval& window : steps_.windows) {
      windows_.add(window.begin, window.end);
      use_.analysed_s += seconds_of(window.end - window.begin);
    }
    windows_.close();
    collect_sets();
    sum_devices();
    sum_host();
    sweep();
    use_.memory = memory_in_steps(source_.memory.device, source_.recorded, steps_);
    use_.pinned = memory_in_steps(source_.memory.pinned, source_.recorded, steps_);
    sum_unified();
    sum_work();
    use_.window = window_of(source_, steps_, main_, launching_);
    return use_;
  }

 private:
  [[nodiscard]] Interval observed_time() const {
    Interval observed{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    for (const TraceEvent& event : events_) {
      if (event.activity == TraceActivity::kOverhead) continue;
      observed.begin = std::min(observed.begin, event.begin_ns);
      observed.end = std::max(observed.end, event.end_ns);
    }
    return observed.begin <= observed.end ? observed : Interval{};
  }

  // Of a trace without steps: in Kineto's traces the first thread of its process, in others the thread that loads most
  // often, or the busiest. The busiest may be PyTorch's thread for gradients.
  [[nodiscard]] std::uint32_t main_lane() const {
    const std::uint32_t busiest = busiest_lane(events_);
    if (source_.format == "Kineto") {
      const std::string& lane = source_.lane(busiest);  // "process/thread"
      const std::string process = lane.substr(0, lane.find('/')), first = process + "/" + process;
      for (const TraceEvent& event : events_)
        if (!is_on_device(event.activity) && source_.lane(event.lane) == first) return event.lane;
    }
    std::map<std::uint32_t, std::int64_t> counts;
    for (const TraceEvent& event : events_)
      if (event.activity == TraceActivity::kLoader) ++counts[event.lane];
    const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
    return most != counts.end() ? most->first : busiest;
  }

  void choose_threads() {
    main_ = steps_.lane ? *steps_.lane : main_lane();
    launching_ = {main_};
    for (const TraceEvent& event : events_)
      if (event.activity == TraceActivity::kLaunch) launching_.insert(event.lane);
  }

  // Whether the event counts, by its thread.
  [[nodiscard]] bool counts(const TraceEvent& event) const {
    if (is_runtime_call(event.activity)) return launching_.contains(event.lane);
    return !is_of_main_thread(event.activity) || event.lane == main_;
  }

  void collect_sets() {
    for (const TraceEvent& event : events_) {
      if (!counts(event)) continue;
      const auto add = [&](Set set) { sets_[set].add(event.begin_ns, event.end_ns); };
      if (is_runtime_call(event.activity)) add(kInRuntime);
      switch (event.activity) {
        case TraceActivity::kKernel: add(kInKernel); break;
        case TraceActivity::kCopy:
          add(kInCopy);
          if (event.direction == CopyDirection::kToHost) to_host_.add(event.begin_ns, event.end_ns);
          break;
        case TraceActivity::kMemset: add(kInMemset); break;
        case TraceActivity::kCollective: add(kInCollective); break;
        case TraceActivity::kLoader: add(kInLoader); break;
        case TraceActivity::kOperator: add(kInOperator); break;
        case TraceActivity::kCheckpoint: add(kInCheckpoint); break;
        case TraceActivity::kLogging: add(kInLogging); break;
        case TraceActivity::kAllocation: add(kInAllocation); break;
        case TraceActivity::kSynchronisation: add(kInSynchronisation); break;
        case TraceActivity::kCopyCall: add(kInCopyCall); break;
        default: break;
      }
    }
    for (std::size_t set = 0; set < kInFallback; ++set) sets_[set].close();
    to_host_.close();
    Intervals busy;
    for (const Set set : {kInLoader, kInCheckpoint, kInLogging})
      for (const Interval& each : sets_[set].list()) busy.add(each.begin, each.end);
    busy.close();
    Fallbacks fallbacks = find_fallbacks(source_, steps_, launching_, busy, sets_[kInRuntime]);
    use_.fallback = std::move(fallbacks.use);
    sets_[kInFallback] = std::move(fallbacks.gaps);
  }

  void sum_work() {
    for (const OperatorWork& work : source_.work) {
      if (!windows_.contains(work.begin_ns)) continue;
      ++use_.arithmetic.operators;
      (work.is_16_bits ? use_.arithmetic.operations_16 : use_.arithmetic.operations_32) += work.operations;
      if (work.is_16_bits && !work.is_aligned) use_.arithmetic.misaligned_16 += work.operations;
    }
  }

  void sum_unified() {
    UnifiedMemoryUse& use = use_.unified;
    Intervals stalls;
    for (const UnifiedEvent& event : source_.unified()) {
      const bool stalls_kernels =
          event.kind == UnifiedEvent::Kind::kGpuFault || event.kind == UnifiedEvent::Kind::kThrottling;
      if (stalls_kernels && event.end_ns > event.begin_ns) stalls.add(event.begin_ns, event.end_ns);
      if (!windows_.contains(event.begin_ns)) continue;
      const double seconds = seconds_of(event.end_ns - event.begin_ns);
      switch (event.kind) {
        case UnifiedEvent::Kind::kCpuFault: use.cpu_faults += event.count; break;
        case UnifiedEvent::Kind::kGpuFault:
          use.gpu_faults += event.count;
          use.gpu_fault_s += seconds;
          break;
        case UnifiedEvent::Kind::kThrashing: use.thrashing += event.count; break;
        case UnifiedEvent::Kind::kThrottling: use.throttled_s += seconds; break;
      }
    }
    stalls.close();
    for (const Interval& window : steps_.windows) use.stalled_s += seconds_of(stalls.overlap(window.begin, window.end));
  }

  void sum_devices() {
    for (const auto& [index, device] : source_.devices()) devices_[index] = device;
    std::map<int, Intervals> busy;
    std::map<std::pair<CopyDirection, MemoryKind>, CopyUse> copies;
    std::vector<std::optional<KernelTraits>> traits(source_.names());
    std::vector<std::int64_t> kernels;
    Names names(source_);
    for (const TraceEvent& event : events_) {
      if (!is_on_device(event.activity) || !windows_.contains(event.begin_ns)) continue;
      DeviceUse& device = devices_[event.device];
      device.index = event.device;
      const double seconds = seconds_of(event.end_ns - event.begin_ns);
      if (event.activity == TraceActivity::kKernel || event.activity == TraceActivity::kCollective) {
        busy[event.device].add(event.begin_ns, event.end_ns);
        names.add(event.name, seconds);
      }
      switch (event.activity) {
        case TraceActivity::kKernel: {
          std::optional<KernelTraits>& known = traits[event.name];
          if (!known) known = kernel_traits(source_.name(event.name));
          device.kernel_s += seconds;
          if (known->matrix) device.matrix_s += seconds;
          if (known->tensor_core) device.tensor_core_s += seconds;
          kernels.push_back(event.end_ns - event.begin_ns);
          break;
        }
        case TraceActivity::kCollective: device.collective_s += seconds; break;
        case TraceActivity::kMemset: device.memset_s += seconds; break;
        default: {
          device.copy_s += seconds;
          CopyUse& copy = copies[{event.direction, event.host_memory}];
          copy.direction = event.direction;
          copy.host_memory = event.host_memory;
          ++copy.count;
          copy.tiny += event.bytes <= static_cast<std::uint64_t>(kTinyCopyBytes) ? 1 : 0;
          copy.bytes += static_cast<std::int64_t>(event.bytes);
          copy.seconds += seconds;
          copy.overlapped_s += seconds_of(sets_[kInKernel].overlap(event.begin_ns, event.end_ns));
        }
      }
    }
    for (auto& [index, set] : busy) {
      set.close();
      for (const Interval& window : steps_.windows)
        devices_[index].busy_s += seconds_of(set.overlap(window.begin, window.end));
    }
    use_.runtime.kernels = static_cast<std::int64_t>(kernels.size());
    use_.runtime.median_kernel_s = seconds_of(median_ns(std::move(kernels)));
    use_.kernels = names.longest();
    for (const auto& [index, device] : devices_) {
      if (device.busy_s > 0 || device.copy_s > 0 || device.memset_s > 0) use_.devices.push_back(device);
    }
    for (const auto& [kind, copy] : copies) use_.copies.push_back(copy);
  }

  // Calls of the runtime, operators, and the names of ranges.
  void sum_host() {
    std::ranges::sort(events_, [](const TraceEvent& a, const TraceEvent& b) {
      return std::tie(a.lane, a.begin_ns, b.end_ns) < std::tie(b.lane, b.begin_ns, a.end_ns);
    });
    Names names(source_);
    struct Open {
      std::int64_t end_ns;
      double self_s;
      std::uint32_t name;
    };
    std::vector<Open> open;  // operators that contain the current one, outermost first
    const auto leave = [&](std::int64_t until) {
      for (; !open.empty() && open.back().end_ns <= until; open.pop_back())
        names.add(open.back().name, std::max(open.back().self_s, 0.0));
    };
    std::uint32_t lane = 0;
    for (const TraceEvent& event : events_) {
      if (event.activity == TraceActivity::kOverhead)
        use_.overhead_s += seconds_of(windows_.overlap(event.begin_ns, event.end_ns));
      if (event.activity == TraceActivity::kModuleLoad)
        use_.runtime.module_loading_s += seconds_of(windows_.overlap(event.begin_ns, event.end_ns));
      if (!windows_.contains(event.begin_ns)) continue;
      const double seconds = seconds_of(event.end_ns - event.begin_ns);
      if (event.activity == TraceActivity::kOperator) {
        leave(event.lane == lane ? event.begin_ns : std::numeric_limits<std::int64_t>::max());
        lane = event.lane;
        if (!open.empty()) open.back().self_s -= seconds;
        open.push_back({event.end_ns, seconds, event.name});
      }
      if (event.activity == TraceActivity::kLoader && counts(event)) name_loader(source_.name(event.name));
      if (is_runtime_call(event.activity) && launching_.contains(event.lane)) add_call(event.activity, seconds);
    }
    leave(std::numeric_limits<std::int64_t>::max());
    use_.operators = names.longest();
  }

  // The first name, or the first one that shows whether the DataLoader has workers: Python functions around it do not.
  void name_loader(const std::string& name) {
    constexpr std::string_view kIterator = "DataLoaderIter";
    const auto names_it = [&](const std::string& text) { return text.find(kIterator) != std::string::npos; };
    if (use_.loader.empty() || (!names_it(use_.loader) && names_it(name))) use_.loader = name;
  }

  void add_call(TraceActivity activity, double seconds) {
    CallUse* use = nullptr;
    switch (activity) {
      case TraceActivity::kLaunch: use = &use_.runtime.launches; break;
      case TraceActivity::kCopyCall: use = &use_.runtime.copies; break;
      case TraceActivity::kSynchronisation: use = &use_.runtime.synchronisations; break;
      case TraceActivity::kAllocation: use = &use_.runtime.allocations; break;
      default: use_.runtime.other_s += seconds; return;
    }
    ++use->count;
    use->seconds += seconds;
  }

  // One pass over the windows: parts of steps, and idle time by cause.
  void sweep() {
    const bool has_device = !sets_[kInKernel].empty() || !sets_[kInCollective].empty();
    std::array<std::size_t, kSets> next{};  // per set: its first interval that ends after `time`
    bool was_active = false;
    double in_wait = 0;  // how long the host has waited for the device, without interruption
    double waited = 0;   // idle time that is still explained by the wait before it: as long as the host waited
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    double gap = 0;
    for (const Interval& window : steps_.windows) {
      if (window.begin != last) {
        was_active = false;
        in_wait = waited = 0;
        add_gap(gap);
      }
      TraceStep step;
      step.seconds = seconds_of(window.end - window.begin);
      for (std::int64_t time = window.begin; time < window.end;) {
        std::array<bool, kSets> active{};
        std::int64_t until = window.end;
        for (std::size_t set = 0; set < kSets; ++set) {
          const std::vector<Interval>& list = sets_[set].list();
          while (next[set] < list.size() && list[next[set]].end <= time) ++next[set];
          if (next[set] == list.size()) continue;
          active[set] = list[next[set]].begin <= time;
          until = std::min(until, active[set] ? list[next[set]].end : list[next[set]].begin);
        }
        const double seconds = seconds_of(until - time);
        std::size_t part = 0;
        while (part <= kInOperator && !active[part]) ++part;
        step.parts[part] += seconds;
        const bool device_active = part <= kInCollective;
        const bool waits = active[kInSynchronisation] || active[kInCopyCall];
        if (!device_active && was_active)
          waited = active[kInSynchronisation] || (waits && to_host_.contains(time - 1)) ? in_wait : 0;
        in_wait = waits ? in_wait + seconds : 0;
        if (waits && waited > 0) waited += seconds;
        was_active = device_active;
        if (!device_active) add_idle(active, has_device, waited, seconds);
        if (device_active) add_gap(gap);
        if (!device_active && has_device) gap += seconds;
        time = until;
      }
      last = window.end;
      for (std::size_t part = 0; part < kStepActivities; ++part) use_.parts[part] += step.parts[part];
      if (steps_.found) use_.steps.push_back(step);
    }
    add_gap(gap);
  }

  void add_gap(double& gap) {
    if (gap <= 0) return;
    const auto bin =
        static_cast<std::size_t>(std::upper_bound(kGapEnds.begin(), kGapEnds.end(), gap) - kGapEnds.begin());
    ++use_.gaps.count[bin];
    use_.gaps.seconds[bin] += std::exchange(gap, 0);
  }

  // Without its wait, the host would have begun its next work earlier by as much as it waited: the rest of the idle
  // time has another cause.
  void add_idle(const std::array<bool, kSets>& active, bool has_device, double& waited, double seconds) {
    IdleUse& idle = use_.idle;
    if (active[kInLoader])
      idle.loader_s += seconds;
    else if (active[kInCheckpoint])
      idle.checkpoint_s += seconds;
    else if (active[kInLogging])
      idle.logging_s += seconds;
    else if (active[kInFallback])
      return;  // FallbackUse
    else if (has_device && active[kInAllocation])
      idle.allocation_s += seconds;
    else if (has_device) {
      const double after_wait = std::min(seconds, waited);
      waited -= after_wait;
      idle.synchronisation_s += after_wait;
      idle.launch_s += seconds - after_wait;
    }
  }

  TraceEvents& source_;
  std::vector<TraceEvent>& events_;
  TraceUse use_;
  TraceSteps steps_;
  Intervals windows_;
  std::uint32_t main_ = 0;
  std::set<std::uint32_t> launching_;
  std::array<Intervals, kSets> sets_;
  Intervals to_host_;
  std::map<int, DeviceUse> devices_;
};

}  // namespace

TraceUse reduce_trace(TraceEvents& events) { return Reduction(events).run(); }

}  // namespace unstarve
