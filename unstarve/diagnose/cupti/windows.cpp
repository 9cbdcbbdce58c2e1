#include "unstarve/diagnose/cupti/windows.h"

#include <algorithm>
#include <ctime>

#include "unstarve/diagnose/cupti/cuda_devices.h"
#include "unstarve/diagnose/cupti/nvtx_ranges.h"

namespace unstarve {
namespace {

constexpr double kSlice = 0.25;  // seconds
constexpr int kMostDrains = 4;   // slices after a window, for what was launched in it

constexpr std::uint32_t kKinds[] = {kCuptiConcurrentKernel, kCuptiMemcpy, kCuptiMemset,       kCuptiSynchronisation,
                                    kCuptiOverhead,         kCuptiMemory, kCuptiUnifiedMemory};

std::string error_text(const CuptiRecorder& recorder, const char* function, CuptiStatus status) {
  const char* text = nullptr;
  const CuptiFunctions& cupti = recorder.cupti.functions();
  if (cupti.text == nullptr || cupti.text(status, &text) != kCuptiSuccess || text == nullptr) text = "unknown error";
  return std::string(function).append(": ").append(text).append(" (").append(std::to_string(status)).append(")");
}

std::int64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void no_callback(void*, int, std::uint32_t, const void*) {}

// Whether CUPTI accepts a subscriber, which then is removed. The reason is written if not.
bool is_alone(CuptiRecorder& recorder) {
  void* subscriber = nullptr;
  const CuptiStatus status = recorder.cupti.functions().subscribe(&subscriber, no_callback, nullptr);
  if (status == kCuptiSuccess) {
    (void)recorder.cupti.functions().unsubscribe(subscriber);
    return true;
  }
  write_message(recorder, status == kCuptiMultipleSubscribers || status == kCuptiMaxLimit
                              ? "another profiler uses CUPTI, as torch.profiler does"
                              : error_text(recorder, "cuptiSubscribe", status));
  return false;
}

// The begin or end of a window, now.
KernelLogEntry window_entry(const CuptiRecorder& recorder, KernelLogKind kind, bool lost = false) {
  KernelLogEntry entry;
  entry.kind = kind;
  entry.value = static_cast<std::uint64_t>(monotonic_ns());
  std::uint64_t now = entry.value;
  if (recorder.kernels) (void)recorder.cupti.functions().timestamp(&now);
  entry.begin_ns = entry.end_ns = static_cast<std::int64_t>(now);
  const bool mark = kind == KernelLogKind::kWindowEnd ? lost : !recorder.kernels;
  entry.detail = static_cast<std::uint8_t>(mark);
  return entry;
}

void write_entry(CuptiRecorder& recorder, const KernelLogEntry& entry) {
  const std::lock_guard lock(recorder.mutex);
  recorder.log.add(entry);
  recorder.log.flush();
}

// Chooses the counters of unified memory, which the kind of records requires. Some devices and some sets of devices
// have none: then there are no such records.
void choose_counters(const CuptiFunctions& cupti) {
  if (cupti.set_unified == nullptr) return;
  for (const std::uint32_t counter :
       {kCuptiUnifiedToDevice, kCuptiUnifiedToHost, kCuptiUnifiedCpuFault, kCuptiUnifiedGpuFault,
        kCuptiUnifiedThrashing, kCuptiUnifiedThrottling, kCuptiUnifiedOnDevice}) {
    CuptiUnifiedMemorySetting setting{.scope = 2, .counter = counter, .device = 0, .enable = 1};  // 2: all devices
    (void)cupti.set_unified(&setting, 1);
  }
}

// False: kernels cannot be recorded; the reason is written.
bool begin_kernels(CuptiRecorder& recorder) {
  if (!is_alone(recorder)) return false;
  const CuptiStatus status = recorder.cupti.functions().register_buffers(recorder.give_buffer, recorder.take_buffer);
  if (status != kCuptiSuccess) write_message(recorder, error_text(recorder, "cuptiActivityRegisterCallbacks", status));
  return status == kCuptiSuccess;
}

// As above. Waits until the program has probably finished what it launched before: that has no records.
bool enable_kernels(CuptiRecorder& recorder) {
  choose_counters(recorder.cupti.functions());
  for (const std::uint32_t kind : kKinds) {
    const CuptiStatus status = recorder.cupti.functions().enable(kind);
    if (status == kCuptiSuccess || kind != kCuptiConcurrentKernel) continue;
    write_message(recorder, error_text(recorder, "cuptiActivityEnable", status));
    return false;
  }
  recorder.cupti.enable_calls(true);
  if (recorder.program.wait(kSlice) || recorder.devices_written) return true;
  const auto devices = cuda_devices();
  const std::lock_guard lock(recorder.mutex);
  for (const auto& [entry, text] : devices) recorder.log.add(entry, text.c_str());
  recorder.devices_written = !devices.empty();
  return true;
}

// Records that still arrive are not evaluated: they may be those of the other profiler.
void give_up(CuptiRecorder& recorder) {
  const std::lock_guard lock(recorder.mutex);
  recorder.given_up = true;
  recorder.kernels = false;
}

bool has_buffers(CuptiRecorder& recorder) {
  const std::lock_guard lock(recorder.mutex);
  return recorder.buffers.given() > 0;
}

// Waits for kernels that have not ended, as a forced flush returns their records without times. False: another profiler
// has appeared, and has the records.
bool disable_kernels(CuptiRecorder& recorder, bool stops) {
  const CuptiFunctions& cupti = recorder.cupti.functions();
  recorder.cupti.enable_calls(false);
  for (const std::uint32_t kind : kKinds) (void)cupti.disable(kind);
  (void)cupti.flush(0);
  for (int drain = 0; drain < kMostDrains && !stops && has_buffers(recorder); ++drain) {
    stops = recorder.program.wait(kSlice);
    if (!stops && !is_alone(recorder)) {
      give_up(recorder);
      return false;
    }
    (void)cupti.flush(0);
  }
  (void)cupti.flush(kCuptiFlushForced);
  return true;
}

bool write_latest_ranges(CuptiRecorder& recorder) {
  const std::lock_guard lock(recorder.mutex);
  const bool all = write_ranges(recorder.log);
  recorder.log.flush();
  return all;
}

}  // namespace

void write_message(CuptiRecorder& recorder, const std::string& text) {
  const std::lock_guard lock(recorder.mutex);
  recorder.log.add({.kind = KernelLogKind::kMessage}, text.c_str());
  recorder.log.flush();
}

bool record_window(CuptiRecorder& recorder) {
  const CuptiFunctions& cupti = recorder.cupti.functions();
  if (recorder.log.is_removed()) return false;
  recorder.kernels = recorder.kernels && begin_kernels(recorder);
  if (!recorder.kernels && !nvtx_is_attached()) return true;
  // Enabling may take seconds, in which no kernel is recorded.
  recorder.kernels = recorder.kernels && enable_kernels(recorder);
  if (!recorder.kernels && !nvtx_is_attached()) return true;
  write_entry(recorder, window_entry(recorder, KernelLogKind::kWindowBegin));
  open_ranges();
  bool stops = false;
  for (double over = 0; over < recorder.times.on && !stops; over += kSlice) {
    stops = recorder.program.wait(std::min(kSlice, recorder.times.on - over));
    // Buffers with a record of a kernel that runs remain with CUPTI: they are lost if the process is killed.
    if (recorder.kernels) (void)cupti.flush(0);
    (void)write_latest_ranges(recorder);
    if (!recorder.kernels || stops || is_alone(recorder)) continue;
    close_ranges();
    give_up(recorder);  // the kinds remain enabled: the other profiler may have enabled them too
    return true;
  }
  close_ranges();
  const KernelLogEntry end = window_entry(recorder, KernelLogKind::kWindowEnd, !write_latest_ranges(recorder));
  if (recorder.kernels && !disable_kernels(recorder, stops)) return true;
  write_entry(recorder, end);  // with all its kernels: one without an end is not evaluated
  const std::lock_guard lock(recorder.mutex);
  return !recorder.log.is_full();
}

}  // namespace unstarve
