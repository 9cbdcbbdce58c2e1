#pragma once
// Tests: the file of a watched process (cupti/kernel_log.h), made in memory.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "unstarve/diagnose/cupti/kernel_log.h"

namespace unstarve {

// Times are milliseconds.
class LogBytes {
 public:
  LogBytes() {
    KernelLogHeader header;
    std::memcpy(header.magic, kKernelLogMagic, sizeof header.magic);
    header.process = 4711;
    append(&header, sizeof header);
  }
  void add(const KernelLogEntry& entry) { append(&entry, sizeof entry); }
  void text(KernelLogKind kind, std::uint32_t number, const std::string& text) {
    this->text({.kind = kind, .name = number}, text);
  }
  void text(KernelLogEntry entry, const std::string& text) {
    entry.value = text.size();
    add(entry);
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
  }
  void begin(double ms, double monotonic_ms, bool only_ranges = false) {
    add({.kind = KernelLogKind::kWindowBegin,
         .detail = static_cast<std::uint8_t>(only_ranges),
         .begin_ns = ns(ms),
         .value = static_cast<std::uint64_t>(ns(monotonic_ms))});
  }
  void end(double ms, bool lost = false) {
    add({.kind = KernelLogKind::kWindowEnd, .detail = static_cast<std::uint8_t>(lost), .end_ns = ns(ms)});
  }
  void range(std::uint32_t name, double begin_ms, double end_ms, std::uint64_t thread = 77) {
    add({.kind = KernelLogKind::kRange,
         .name = kFirstRangeName + name,
         .begin_ns = ns(begin_ms),
         .end_ns = ns(end_ms),
         .lane = thread});
  }
  void kernel(std::uint32_t name, double begin_ms, double end_ms) {
    add({.kind = KernelLogKind::kKernel, .name = name, .begin_ns = ns(begin_ms), .end_ns = ns(end_ms), .lane = 7});
  }
  void call(std::uint32_t name, double begin_ms, double end_ms, std::uint64_t thread = 77) {
    add({.kind = KernelLogKind::kCall, .name = name, .begin_ns = ns(begin_ms), .end_ns = ns(end_ms), .lane = thread});
  }
  void copy(std::uint8_t memory, double begin_ms, double end_ms) {
    add({.kind = KernelLogKind::kCopy,
         .detail = 1,
         .memory = memory,
         .begin_ns = ns(begin_ms),
         .end_ns = ns(end_ms),
         .value = 1000});
  }
  void memory(std::uint8_t operation, std::uint64_t address, std::uint64_t bytes, double ms, std::uint8_t kind = 3) {
    add({.kind = KernelLogKind::kMemory,
         .detail = operation,
         .memory = kind,
         .begin_ns = ns(ms),
         .end_ns = ns(ms),
         .value = bytes,
         .lane = address});
  }
  void unified(std::uint8_t counter, std::uint64_t count, double begin_ms, double end_ms) {
    add({.kind = KernelLogKind::kUnified,
         .detail = counter,
         .begin_ns = ns(begin_ms),
         .end_ns = ns(end_ms),
         .value = count});
  }
  void overhead(std::uint8_t kind, double begin_ms, double end_ms) {
    add({.kind = KernelLogKind::kOverhead, .detail = kind, .begin_ns = ns(begin_ms), .end_ns = ns(end_ms)});
  }
  [[nodiscard]] std::vector<std::uint8_t>& bytes() { return bytes_; }

 private:
  static std::int64_t ns(double ms) { return static_cast<std::int64_t>(ms * 1e6); }
  void append(const void* data, std::size_t size) {
    bytes_.resize(bytes_.size() + size);
    std::memcpy(bytes_.data() + bytes_.size() - size, data, size);
  }
  std::vector<std::uint8_t> bytes_;
};

}  // namespace unstarve
