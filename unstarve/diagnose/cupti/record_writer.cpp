#include "unstarve/diagnose/cupti/record_writer.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace unstarve {
namespace {

template <class Record>
Record read_as(const CuptiRecord* record) {
  Record copy;
  std::memcpy(&copy, record, sizeof copy);
  return copy;
}

// Without device and lane.
template <class Record>
KernelLogEntry in_time(KernelLogKind kind, const Record& record) {
  KernelLogEntry entry;
  entry.kind = kind;
  entry.begin_ns = static_cast<std::int64_t>(record.start);
  entry.end_ns = static_cast<std::int64_t>(record.end);
  return entry;
}

template <class Record>
KernelLogEntry on_device(KernelLogKind kind, const Record& record) {
  KernelLogEntry entry = in_time(kind, record);
  entry.device = static_cast<std::uint8_t>(record.device);
  entry.lane = std::uint64_t{record.context} << 32 | record.stream;
  return entry;
}

KernelLogEntry entry_of(const CuptiMemcpyRecord& copy) {
  constexpr std::uint8_t kToHost = 2, kArrayToHost = 4;
  KernelLogEntry entry = on_device(KernelLogKind::kCopy, copy);
  entry.detail = copy.copy_kind;
  entry.memory = copy.copy_kind == kToHost || copy.copy_kind == kArrayToHost ? copy.destination : copy.source;
  entry.value = copy.bytes;
  return entry;
}

KernelLogEntry entry_of(const CuptiSynchronisationRecord& wait) {
  KernelLogEntry entry = in_time(KernelLogKind::kSynchronisation, wait);
  entry.detail = static_cast<std::uint8_t>(wait.type);
  return entry;
}

KernelLogEntry entry_of(const CuptiOverheadRecord& overhead) {
  KernelLogEntry entry = in_time(KernelLogKind::kOverhead, overhead);
  entry.detail = static_cast<std::uint8_t>(overhead.overhead >> 16);
  return entry;
}

KernelLogEntry entry_of(const CuptiMemoryRecord& memory) {
  KernelLogEntry entry;
  entry.kind = KernelLogKind::kMemory;
  entry.detail = static_cast<std::uint8_t>(memory.operation);
  entry.memory = static_cast<std::uint8_t>(memory.memory);
  entry.device = static_cast<std::uint8_t>(memory.device);
  entry.begin_ns = entry.end_ns = static_cast<std::int64_t>(memory.time);
  entry.value = memory.bytes;
  entry.lane = memory.address;
  return entry;
}

KernelLogEntry copy_of(const CuptiUnifiedMemoryRecord& unified) {
  constexpr std::uint8_t kOnDevice = 8, kManaged = 5;  // of CUPTI's kinds of copies and memory; others are equal
  const std::uint32_t counter = unified.counter;
  KernelLogEntry entry = in_time(KernelLogKind::kCopy, unified);
  entry.detail = counter == kCuptiUnifiedOnDevice ? kOnDevice : static_cast<std::uint8_t>(counter);
  entry.memory = kManaged;
  entry.device = static_cast<std::uint8_t>(counter == kCuptiUnifiedToDevice ? unified.destination : unified.source);
  entry.lane = kUnifiedLane;
  entry.value = unified.value;
  return entry;
}

KernelLogEntry entry_of(const CuptiUnifiedMemoryRecord& unified) {
  const std::uint32_t counter = unified.counter;
  if (counter == kCuptiUnifiedToDevice || counter == kCuptiUnifiedToHost || counter == kCuptiUnifiedOnDevice)
    return copy_of(unified);
  KernelLogEntry entry = in_time(KernelLogKind::kUnified, unified);
  entry.detail = static_cast<std::uint8_t>(counter);
  entry.value = counter == kCuptiUnifiedGpuFault ? unified.value : 1;
  const bool has_end = counter == kCuptiUnifiedGpuFault || counter == kCuptiUnifiedThrottling;
  if (!has_end) entry.end_ns = entry.begin_ns;
  return entry;
}

}  // namespace

std::uint32_t RecordWriter::number_of(const char* name) {
  const std::string_view text(name != nullptr ? name : "unknown");
  const auto known = names_.find(text);
  if (known != names_.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(names_.size() + 1);
  const auto added = names_.emplace(text, number).first;
  log_.add({.kind = KernelLogKind::kName, .name = number}, added->first.c_str());
  return number;
}

void RecordWriter::set_own_thread() {
  own_self_ = static_cast<std::uint32_t>(pthread_self());
  own_id_ = static_cast<std::uint32_t>(syscall(SYS_gettid));
}

void RecordWriter::write(const CuptiRecord* record) {
  KernelLogEntry entry;
  switch (record->kind) {
    case kCuptiKernel:
    case kCuptiConcurrentKernel: {
      const auto kernel = read_as<CuptiKernelRecord>(record);
      entry = on_device(KernelLogKind::kKernel, kernel);
      entry.name = number_of(kernel.name);
      break;
    }
    case kCuptiMemcpy: entry = entry_of(read_as<CuptiMemcpyRecord>(record)); break;
    case kCuptiMemset: entry = on_device(KernelLogKind::kMemset, read_as<CuptiMemsetRecord>(record)); break;
    case kCuptiSynchronisation: entry = entry_of(read_as<CuptiSynchronisationRecord>(record)); break;
    case kCuptiOverhead: {
      const auto overhead = read_as<CuptiOverheadRecord>(record);
      const std::uint32_t thread = overhead.id[1];
      if (overhead.object == kCuptiThread && own_id_ != 0 && (thread == own_self_ || thread == own_id_)) return;
      entry = entry_of(overhead);
      break;
    }
    case kCuptiMemory: entry = entry_of(read_as<CuptiMemoryRecord>(record)); break;
    case kCuptiUnifiedMemory: entry = entry_of(read_as<CuptiUnifiedMemoryRecord>(record)); break;
    case kCuptiDriverCall:
    case kCuptiRuntimeCall: {
      const auto call = read_as<CuptiCallRecord>(record);
      const char* name = nullptr;
      if (cupti_.function_name == nullptr) return;
      (void)cupti_.function_name(call.kind == kCuptiDriverCall ? kCuptiDriver : kCuptiRuntime, call.function, &name);
      entry = in_time(KernelLogKind::kCall, call);
      entry.name = number_of(name);
      entry.lane = call.thread;
      break;
    }
    default: return;
  }
  if (entry.begin_ns > 0 && entry.end_ns >= entry.begin_ns) log_.add(entry);  // 0: times were not collected
}

}  // namespace unstarve
