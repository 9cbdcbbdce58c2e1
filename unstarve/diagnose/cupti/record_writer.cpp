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

template <class Record>
KernelLogEntry on_device(KernelLogKind kind, const Record& record) {
  KernelLogEntry entry;
  entry.kind = kind;
  entry.device = static_cast<std::uint8_t>(record.device);
  entry.begin_ns = static_cast<std::int64_t>(record.start);
  entry.end_ns = static_cast<std::int64_t>(record.end);
  entry.lane = std::uint64_t{record.context} << 32 | record.stream;
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
    case kCuptiMemcpy: {
      const auto copy = read_as<CuptiMemcpyRecord>(record);
      entry = on_device(KernelLogKind::kCopy, copy);
      constexpr std::uint8_t kToHost = 2, kArrayToHost = 4;
      entry.detail = copy.copy_kind;
      entry.memory = copy.copy_kind == kToHost || copy.copy_kind == kArrayToHost ? copy.destination : copy.source;
      entry.value = copy.bytes;
      break;
    }
    case kCuptiMemset: entry = on_device(KernelLogKind::kMemset, read_as<CuptiMemsetRecord>(record)); break;
    case kCuptiSynchronisation: {
      const auto wait = read_as<CuptiSynchronisationRecord>(record);
      entry.kind = KernelLogKind::kSynchronisation;
      entry.detail = static_cast<std::uint8_t>(wait.type);
      entry.begin_ns = static_cast<std::int64_t>(wait.start);
      entry.end_ns = static_cast<std::int64_t>(wait.end);
      break;
    }
    case kCuptiOverhead: {
      const auto overhead = read_as<CuptiOverheadRecord>(record);
      const std::uint32_t thread = overhead.id[1];
      if (overhead.object == kCuptiThread && own_id_ != 0 && (thread == own_self_ || thread == own_id_)) return;
      entry.kind = KernelLogKind::kOverhead;
      entry.detail = static_cast<std::uint8_t>(overhead.overhead >> 16);
      entry.begin_ns = static_cast<std::int64_t>(overhead.start);
      entry.end_ns = static_cast<std::int64_t>(overhead.end);
      break;
    }
    case kCuptiMemory: {
      const auto memory = read_as<CuptiMemoryRecord>(record);
      entry.kind = KernelLogKind::kMemory;
      entry.detail = static_cast<std::uint8_t>(memory.operation);
      entry.memory = static_cast<std::uint8_t>(memory.memory);
      entry.device = static_cast<std::uint8_t>(memory.device);
      entry.begin_ns = entry.end_ns = static_cast<std::int64_t>(memory.time);
      entry.value = memory.bytes;
      entry.lane = memory.address;
      break;
    }
    case kCuptiUnifiedMemory: {
      const auto unified = read_as<CuptiUnifiedMemoryRecord>(record);
      const std::uint32_t counter = unified.counter;
      entry.begin_ns = static_cast<std::int64_t>(unified.start);
      entry.end_ns = static_cast<std::int64_t>(unified.end);
      const bool copies =
          counter == kCuptiUnifiedToDevice || counter == kCuptiUnifiedToHost || counter == kCuptiUnifiedOnDevice;
      if (copies) {
        constexpr std::uint8_t kOnDevice = 8, kManaged = 5;  // of CUPTI's kinds of copies and memory; others are equal
        entry.kind = KernelLogKind::kCopy;
        entry.detail = counter == kCuptiUnifiedOnDevice ? kOnDevice : static_cast<std::uint8_t>(counter);
        entry.memory = kManaged;
        entry.device =
            static_cast<std::uint8_t>(counter == kCuptiUnifiedToDevice ? unified.destination : unified.source);
        entry.lane = kUnifiedLane;
        entry.value = unified.value;
        break;
      }
      entry.kind = KernelLogKind::kUnified;
      entry.detail = static_cast<std::uint8_t>(counter);
      entry.value = counter == kCuptiUnifiedGpuFault ? unified.value : 1;
      const bool has_end = counter == kCuptiUnifiedGpuFault || counter == kCuptiUnifiedThrottling;
      if (!has_end) entry.end_ns = entry.begin_ns;
      break;
    }
    case kCuptiDriverCall:
    case kCuptiRuntimeCall: {
      const auto call = read_as<CuptiCallRecord>(record);
      const char* name = nullptr;
      if (cupti_.function_name == nullptr) return;
      (void)cupti_.function_name(call.kind == kCuptiDriverCall ? kCuptiDriver : kCuptiRuntime, call.function, &name);
      entry.kind = KernelLogKind::kCall;
      entry.name = number_of(name);
      entry.begin_ns = static_cast<std::int64_t>(call.start);
      entry.end_ns = static_cast<std::int64_t>(call.end);
      entry.lane = call.thread;
      break;
    }
    default: return;
  }
  if (entry.begin_ns > 0 && entry.end_ns >= entry.begin_ns) log_.add(entry);  // 0: times were not collected
}

}  // namespace unstarve
