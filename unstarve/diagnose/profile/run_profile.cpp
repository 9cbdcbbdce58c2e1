#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Warray-bounds"  // GCC 12 with JSON_DIAGNOSTICS: of branches for other types of values
#endif

#include "unstarve/diagnose/profile/run_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#define JSON_DIAGNOSTICS 1  // errors name the path of the field; no other file shares these types
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/profile/io_use.h"
#include "unstarve/diagnose/profile/json_problem.h"

namespace unstarve {

// The names of the fields in JSON are those of the members.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ThreadWaits, lock_s, mutex_s, file_s, flush_s, pipe_s, network_s, events_s, sleep_s,
                                   other_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ThreadUse, name, threads, cpu_s, run_delay_s, waits)
NLOHMANN_JSON_SERIALIZE_ENUM(ProcessRole, {{ProcessRole::kOther, "other"},
                                           {ProcessRole::kMain, "main"},
                                           {ProcessRole::kLoader, "loader"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FileSamples, samples, changed, small, small_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProcessUse, pid, parent, role, name, command, begin_s, end_s, ended, cpu_s,
                                   run_delay_s, busiest_thread_s, busiest_thread_begin_s, main_system_s,
                                   ended_children_s, minor_faults, major_faults, resident_bytes, peak_resident_bytes,
                                   locked_bytes, pinned_bytes, has_io, read_calls, read_bytes, storage_bytes,
                                   written_bytes, main_thread, threads, file_samples, has_openmp)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CoreUse, cpu, busy_share, stolen_share)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MachineUse, affinity_cores, quota_cores, busy_cores, stolen_share, throttled_share,
                                   cpu_pressure, io_pressure, memory_pressure, received_bytes_per_s, sent_bytes_per_s,
                                   shm_bytes, shm_used_bytes, memory_limit_bytes, cores)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Watching, seconds, samples, cpu_s, stacks_cpu_s, stopped)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunTimeline, interval_s, main, loader, other, storage_bytes_per_s, resident_bytes,
                                   read_bytes_per_s, received_bytes_per_s, sent_bytes_per_s, major_faults_per_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CodeLine, function, file, line)
NLOHMANN_JSON_SERIALIZE_ENUM(StackThread, {{StackThread::kMain, "main"},
                                           {StackThread::kHelper, "helper"},
                                           {StackThread::kLoader, "loader"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StackUse, thread, lines, seconds, interpreter_s, last_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PythonStacks, missing, seconds, interpreter_s, processes, lines, stacks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankNumbers, global, local)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankHost, name, usable_cores, foreign_cores, throttled_share, io_pressure,
                                   received_bytes_per_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankStacks, seconds, input, exchange, checkpoint, logging, compilation, hottest,
                                   hottest_share)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankSteps, count, rate, ends_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankUse, numbers, pid, begin_unix_s, seconds, host, main_cores, other_cores,
                                   run_delay, lock_wait, file_wait, network_wait, sleep_wait, major_faults_per_s,
                                   storage_bytes_per_s, loaders, stacks, steps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepUse, source, rate, seconds, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SlowdownCheck, role, sensitivity, low, high, pairs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SlowdownChecks, slowdown, progress, problem, groups)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunProfile, version, command, exit_code, watching, machine, processes, timeline,
                                   stacks, steps)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuSlowdownUse, reason, share)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuOther, pid, name, memory_bytes, present, utilisation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuUse, index, name, pci_address, missing, used, samples, utilisation_p10,
                                   utilisation_p50, utilisation_p90, utilisation_mean, idle_share, utilisation_shares,
                                   memory_bytes, peak_memory_bytes, temperature_c, power_w, power_limit_w,
                                   power_limit_default_w, busy_samples, clock_mhz, clock_most_mhz, slowdowns,
                                   link_generation, link_generation_most, link_lanes, link_lanes_most, numa_node,
                                   process_nodes, others)

NLOHMANN_JSON_SERIALIZE_ENUM(CopyDirection, {{CopyDirection::kUnknown, "unknown"},
                                             {CopyDirection::kToDevice, "to device"},
                                             {CopyDirection::kToHost, "to host"},
                                             {CopyDirection::kOnDevice, "on device"}})
NLOHMANN_JSON_SERIALIZE_ENUM(MemoryKind, {{MemoryKind::kUnknown, "unknown"},
                                          {MemoryKind::kPageable, "pageable"},
                                          {MemoryKind::kPinned, "pinned"},
                                          {MemoryKind::kDevice, "device"},
                                          {MemoryKind::kManaged, "managed"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Framework, {{Framework::kUnknown, "unknown"},
                                         {Framework::kPyTorch, "PyTorch"},
                                         {Framework::kTensorFlow, "TensorFlow"},
                                         {Framework::kJax, "JAX"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TraceStep, seconds, parts)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceUse, index, name, compute_capability, memory_bytes, peak_memory_bytes, busy_s,
                                   kernel_s, copy_s, memset_s, collective_s, matrix_s, tensor_core_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CopyUse, direction, host_memory, count, tiny, bytes, seconds, overlapped_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CallUse, count, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RuntimeUse, launches, copies, synchronisations, allocations, other_s,
                                   module_loading_s, median_kernel_s, kernels)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IdleUse, loader_s, checkpoint_s, logging_s, allocation_s, synchronisation_s,
                                   launch_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NamedTime, name, count, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ArithmeticUse, operators, operations_16, operations_32, misaligned_16)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MalformedEvents, count, examples)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TraceUse, format, framework, loader, observed_s, analysed_s, overhead_s, events,
                                   left_out, image_bytes, steps, parts, idle, runtime, devices, copies, kernels,
                                   operators)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IdleGaps, count, seconds)

// [lane, name, part, begin_s, seconds]: there are thousands.
void to_json(nlohmann::json& json, const WindowSpan& span) {
  json = nlohmann::json::array({span.lane, span.name, static_cast<int>(span.part), span.begin_s, span.seconds});
}
void from_json(const nlohmann::json& json, WindowSpan& span) {
  span = {json.at(0).get<int>(), json.at(1).get<int>(), static_cast<StepActivity>(json.at(2).get<int>()),
          json.at(3).get<double>(), json.at(4).get<double>()};
}

void to_json(nlohmann::json& json, const ThreadSpan& span) {
  json = nlohmann::json::array({span.lane, static_cast<int>(span.state), span.begin_s, span.seconds});
}
void from_json(const nlohmann::json& json, ThreadSpan& span) {
  span = {json.at(0).get<int>(), static_cast<ThreadState>(json.at(1).get<int>()), json.at(2).get<double>(),
          json.at(3).get<double>()};
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ThreadWindow, begin_s, seconds, resolution_s, step_source, steps, lanes, spans)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RateUse, mean, p10, p50, p90)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IoUse, interval_s, read, storage, received, sent, major_faults, cached_share)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FallbackUse, count, seconds, bytes, operators)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(UnifiedMemoryUse, cpu_faults, gpu_faults, thrashing, gpu_fault_s, throttled_s,
                                   stalled_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MemoryUse, allocations, releases, allocated_bytes, peak_bytes, growth_bytes, levels)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProcessKernels, pid, rank, kernels, steps, step_s, busy_share, peak_memory,
                                   memory_growth, missing)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TraceWindow, seconds, steps, lanes, names, spans, left_out)

const std::vector<ProcessUse>& steady_processes(const RunProfile& profile) {
  return profile.steady.empty() ? profile.processes : profile.steady;
}

double steady_seconds(const RunProfile& profile) {
  return profile.watching.seconds - (profile.steady.empty() ? 0 : profile.steady_from_s);
}

double own_cpu_s(const RunProfile& profile) {
  double seen = 0, ended = 0, ended_of_parents = 0;
  for (const ProcessUse& process : profile.processes) {
    seen += process.cpu_s;
    if (process.ended) ended += process.cpu_s;
    ended_of_parents = std::max(ended_of_parents, process.ended_children_s);
  }
  return seen + std::max(ended_of_parents - ended, 0.0);
}

double foreign_cores(const RunProfile& profile) {
  if (profile.watching.seconds <= 0) return 0;
  const double own =
      (own_cpu_s(profile) + profile.watching.cpu_s + profile.watching.stacks_cpu_s) / profile.watching.seconds;
  return std::max(profile.machine.busy_cores - own, 0.0);
}

std::size_t points_of(const RunTimeline& timeline) noexcept {
  return std::min({timeline.main.size(), timeline.loader.size(), timeline.other.size(), timeline.resident_bytes.size(),
                   timeline.storage_bytes_per_s.size()});
}

double usable_cores(const MachineUse& machine) {
  const auto affinity = static_cast<double>(machine.affinity_cores);
  return machine.quota_cores > 0 ? std::min(machine.quota_cores, affinity) : affinity;
}

void add_waits(ThreadWaits& sum, const ThreadWaits& waits, double factor) {
  for (double ThreadWaits::*const wait :
       {&ThreadWaits::lock_s, &ThreadWaits::mutex_s, &ThreadWaits::file_s, &ThreadWaits::flush_s, &ThreadWaits::pipe_s,
        &ThreadWaits::network_s, &ThreadWaits::events_s, &ThreadWaits::sleep_s, &ThreadWaits::other_s})
    sum.*wait += factor * waits.*wait;
}

void add_file_samples(FileSamples& sum, const FileSamples& samples) {
  for (std::int64_t FileSamples::*const count :
       {&FileSamples::samples, &FileSamples::changed, &FileSamples::small, &FileSamples::small_bytes})
    sum.*count += samples.*count;
}

namespace {

std::vector<int> flushing_lines(const PythonStacks& stacks) {
  std::vector<int> indices;
  for (std::size_t i = 0; i < stacks.lines.size(); ++i)
    if (stacks.lines[i].flushes) indices.push_back(static_cast<int>(i));
  return indices;
}

// What only watching a program shows: null in the profile of a trace.
constexpr std::array kOfWatching{"command", "exit_code", "watching", "machine", "timeline", "stacks", "steps"};

bool is_of_trace(const RunProfile& profile) { return profile.trace && profile.watching.seconds <= 0; }

}  // namespace

std::string to_json(const RunProfile& profile) {
  // Names and arguments of processes may contain any bytes.
  nlohmann::json json(profile);
  if (!profile.ranks.empty()) json["ranks"] = profile.ranks;
  if (profile.slowdowns.slowdown > 0) json["slowdowns"] = profile.slowdowns;
  if (!profile.steady.empty()) {
    json["steady"] = profile.steady;
    json["steady_from_s"] = profile.steady_from_s;
  }
  if (profile.trace) {
    json["trace"] = *profile.trace;
    json["trace"]["gaps"] = profile.trace->gaps;
    json["trace"]["window"] = profile.trace->window;
    if (const MemoryUse& memory = profile.trace->memory; memory.allocations + memory.releases > 0)
      json["trace"]["memory"] = memory;
    if (const MemoryUse& pinned = profile.trace->pinned; pinned.allocations + pinned.releases > 0)
      json["trace"]["pinned"] = pinned;
    if (profile.trace->unified.used()) json["trace"]["unified"] = profile.trace->unified;
    if (profile.trace->fallback.count > 0) json["trace"]["fallback"] = profile.trace->fallback;
    if (profile.trace->arithmetic.operators > 0) json["trace"]["arithmetic"] = profile.trace->arithmetic;
    if (profile.trace->malformed.count > 0) json["trace"]["malformed"] = profile.trace->malformed;
    if (!profile.trace->processes.empty()) json["trace"]["processes"] = profile.trace->processes;
  }
  if (!profile.gpus.empty()) json["gpus"] = profile.gpus;
  if (is_of_trace(profile)) {
    for (const char* const key : kOfWatching) json[key] = nullptr;
    return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  json["io"] = io_use(profile);
  if (!profile.thread_window.spans.empty()) json["thread_window"] = profile.thread_window;
  if (const std::vector<int> flushing = flushing_lines(profile.stacks); !flushing.empty())
    json["stacks"]["flushing"] = flushing;
  if (!profile.timeline.gpu.empty()) json["timeline"]["gpu"] = profile.timeline.gpu;
  if (!profile.watching.gpus_missing.empty()) json["watching"]["gpus_missing"] = profile.watching.gpus_missing;
  if (!profile.watching.kernels_missing.empty()) json["watching"]["kernels_missing"] = profile.watching.kernels_missing;
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

TraceUse trace_from(const nlohmann::json& json, const std::string& origin) {
  TraceUse trace = json.get<TraceUse>();
  trace.gaps = json.at("gaps").get<IdleGaps>();
  if (json.contains("memory")) trace.memory = json.at("memory").get<MemoryUse>();
  if (json.contains("pinned")) trace.pinned = json.at("pinned").get<MemoryUse>();
  if (json.contains("unified")) trace.unified = json.at("unified").get<UnifiedMemoryUse>();
  if (json.contains("fallback")) trace.fallback = json.at("fallback").get<FallbackUse>();
  if (json.contains("arithmetic")) trace.arithmetic = json.at("arithmetic").get<ArithmeticUse>();
  if (json.contains("malformed")) trace.malformed = json.at("malformed").get<MalformedEvents>();
  if (json.contains("processes")) trace.processes = json.at("processes").get<std::vector<ProcessKernels>>();
  trace.window = json.at("window").get<TraceWindow>();
  const auto check = [&](const char* what, int index, std::size_t size) {
    if (index >= 0 && static_cast<std::size_t>(index) < size) return;
    throw Error(ErrorKind::kInput,
                fmt::format("{}: found {} {} of the window; expected less than {}", origin, what, index, size));
  };
  for (const WindowSpan& span : trace.window.spans) {
    check("lane", span.lane, trace.window.lanes.size());
    check("name", span.name, trace.window.names.size());
    check("part", static_cast<int>(span.part), kStepActivities);
  }
  return trace;
}

ThreadWindow thread_window_from(const nlohmann::json& json, const std::string& origin) {
  const auto window = json.get<ThreadWindow>();
  for (const ThreadSpan& span : window.spans) {
    const auto state = static_cast<std::size_t>(span.state);
    if (span.lane >= 0 && static_cast<std::size_t>(span.lane) < window.lanes.size() && state < kThreadStates) continue;
    throw Error(ErrorKind::kInput,
                fmt::format("{}: found lane {} and state {} in thread_window; expected less than {} "
                            "and {}",
                            origin, span.lane, static_cast<int>(span.state), window.lanes.size(), kThreadStates));
  }
  return window;
}

}  // namespace

RunProfile run_profile_from_json(const std::string& text, const std::string& origin) {
  try {
    nlohmann::json json = nlohmann::json::parse(text);
    if (const int version = json.at("version").get<int>(); version != kRunProfileVersion) {
      throw Error(
          ErrorKind::kInput,
          fmt::format("read {}: found version {} of the profile; expected {}. Make the profile again, by unstarve "
                      "watch, or by unstarve diagnose from the trace.",
                      origin, version, kRunProfileVersion));
    }
    const nlohmann::json nothing = RunProfile();
    for (const char* const key : kOfWatching)
      if (json.contains(key) && json.at(key).is_null()) json[key] = nothing.at(key);
    RunProfile profile = json.get<RunProfile>();
    for (const StackUse& stack : profile.stacks.stacks) {
      for (const int line : stack.lines) {
        if (line >= 0 && static_cast<std::size_t>(line) < profile.stacks.lines.size()) continue;
        throw Error(ErrorKind::kInput, fmt::format("{}: found line {} of a stack; expected less than {}", origin, line,
                                                   profile.stacks.lines.size()));
      }
    }
    for (const int line : json.at("stacks").value("flushing", std::vector<int>())) {
      if (line < 0 || static_cast<std::size_t>(line) >= profile.stacks.lines.size()) {
        throw Error(ErrorKind::kInput, fmt::format("{}: found line {} in stacks.flushing; expected less than {}",
                                                   origin, line, profile.stacks.lines.size()));
      }
      profile.stacks.lines[static_cast<std::size_t>(line)].flushes = true;
    }
    if (json.contains("slowdowns")) profile.slowdowns = json.at("slowdowns").get<SlowdownChecks>();
    if (json.contains("steady")) {
      profile.steady = json.at("steady").get<std::vector<ProcessUse>>();
      profile.steady_from_s = json.at("steady_from_s").get<double>();
    }
    if (json.contains("thread_window")) profile.thread_window = thread_window_from(json.at("thread_window"), origin);
    if (json.contains("ranks")) profile.ranks = json.at("ranks").get<std::vector<RankUse>>();
    for (const RankUse& rank : profile.ranks) {
      if (std::ranges::is_sorted(rank.steps.ends_s) &&
          rank.steps.count >= static_cast<std::int64_t>(rank.steps.ends_s.size()))
        continue;
      throw Error(ErrorKind::kInput, fmt::format("{}: found ends of steps in another order, or more than {} steps; "
                                                 "expected the latest ends in order",
                                                 origin, rank.steps.count));
    }
    if (json.contains("trace")) profile.trace = trace_from(json.at("trace"), origin);
    if (json.contains("gpus")) profile.gpus = json.at("gpus").get<std::vector<GpuUse>>();
    profile.timeline.gpu = json.at("timeline").value("gpu", std::vector<double>());
    profile.watching.kernels_missing = json.at("watching").value("kernels_missing", "");
    profile.watching.gpus_missing = json.at("watching").value("gpus_missing", "");
    return profile;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kInput,
                fmt::format("read {}: found no profile of a run: {}; expected the output of unstarve "
                            "watch --out",
                            origin, json_problem(error.what())));
  }
}

}  // namespace unstarve
