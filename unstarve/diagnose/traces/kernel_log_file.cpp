#include "unstarve/diagnose/traces/kernel_log_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/traces/event_list.h"

namespace unstarve {
namespace {

constexpr std::size_t kLongestText = 1000;

bool is_possible_time(std::int64_t ns) { return ns > -kLatestNs && ns < kLatestNs; }

class KernelLogParser {
 public:
  KernelLogParser(std::span<const std::uint8_t> file, const std::string& name) : file_(file), name_(name) {}

  KernelLogFile parse() {
    KernelLogHeader header;
    if (file_.size() < sizeof header) fail("found {} bytes", file_.size());
    std::memcpy(&header, file_.data(), sizeof header);
    if (std::memcmp(header.magic, kKernelLogMagic, sizeof header.magic) != 0) fail("found another kind of file");
    if (header.version != kKernelLogVersion) fail("found version {}", header.version);
    log_.process = header.process;
    offset_ = sizeof header;
    while (next()) {
    }
    if (open_) close_window(latest_ns_);  // the process was killed
    if (file_.size() + kLongestText + 100 > kMostLogBytes && log_.message.empty())
      log_.message = fmt::format("the limit of {} MB for kernels was reached", kMostLogBytes >> 20);
    return std::move(log_);
  }

 private:
  template <class... Arguments>
  [[noreturn]] void fail(fmt::format_string<Arguments...> found, Arguments&&... arguments) const {
    throw Error(ErrorKind::kInput, fmt::format("read kernels {}: {}; expected a file of unstarve watch", name_,
                                               fmt::format(found, std::forward<Arguments>(arguments)...)));
  }

  // False: the end.
  bool next() {
    KernelLogEntry entry;
    if (file_.size() - offset_ < sizeof entry) return false;
    std::memcpy(&entry, file_.data() + offset_, sizeof entry);
    const std::size_t at = std::exchange(offset_, offset_ + sizeof entry);
    if (!is_possible_time(entry.begin_ns) || !is_possible_time(entry.end_ns))
      fail("found an impossible time at byte {}", at);
    switch (entry.kind) {
      case KernelLogKind::kName:
      case KernelLogKind::kMessage: {
        if (entry.value > kLongestText) fail("found a text of {} bytes at byte {}", entry.value, at);
        const std::size_t padded = (entry.value + 7) / 8 * 8;
        if (file_.size() - offset_ < padded) return false;
        std::string text(reinterpret_cast<const char*>(file_.data()) + offset_, entry.value);
        offset_ += padded;
        (entry.kind == KernelLogKind::kMessage ? log_.message : log_.names[entry.name]) = std::move(text);
        return true;
      }
      case KernelLogKind::kWindowBegin:
        if (open_) close_window(latest_ns_);
        begin_window(entry);
        return true;
      case KernelLogKind::kWindowEnd:
        if (entry.detail != 0) window_.ranges.clear();
        if (open_) close_window(entry.end_ns);
        return true;
      case KernelLogKind::kRange:
        window_.ranges.push_back(entry);
        if (const auto end_ns = in_clock_of(window_, entry.end_ns); is_possible_time(end_ns))
          latest_ns_ = std::max(latest_ns_, end_ns);
        return true;
      case KernelLogKind::kMemory: log_.memory.push_back(entry); return true;
      case KernelLogKind::kUnified:
      case KernelLogKind::kKernel:
      case KernelLogKind::kCopy:
      case KernelLogKind::kMemset:
      case KernelLogKind::kSynchronisation:
      case KernelLogKind::kOverhead:
      case KernelLogKind::kCall:
        latest_ns_ = std::max(latest_ns_, entry.end_ns);
        log_.entries.push_back(entry);
        return true;
    }
    fail("found an entry of kind {} at byte {}", static_cast<int>(entry.kind), at);
  }

  void begin_window(const KernelLogEntry& begin) {
    open_ = true;
    latest_ns_ = begin.begin_ns;
    // After a correction of the clock, a window may begin before the end of the one before.
    window_ = {{{begin.begin_ns, begin.begin_ns}, static_cast<std::int64_t>(begin.value)},
               begin.detail == 0 && begin.begin_ns >= kernels_end_ns_,
               {}};
  }

  void close_window(std::int64_t end_ns) {
    open_ = false;
    window_.time.end = end_ns;
    if (end_ns <= window_.time.begin) return;
    if (window_.has_kernels) kernels_end_ns_ = end_ns;
    log_.windows.push_back(std::exchange(window_, {}));
  }

  std::span<const std::uint8_t> file_;
  const std::string& name_;
  std::size_t offset_ = 0;
  KernelLogFile log_;
  bool open_ = false;
  LoggedWindow window_;                                                     // the current one
  std::int64_t latest_ns_ = 0;                                              // of the entries of the current window
  std::int64_t kernels_end_ns_ = std::numeric_limits<std::int64_t>::min();  // of the latest window with kernels
};

}  // namespace

std::int64_t in_clock_of(const KernelWindow& window, std::int64_t monotonic_ns) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(monotonic_ns) +
                                   static_cast<std::uint64_t>(window.time.begin) -
                                   static_cast<std::uint64_t>(window.monotonic_ns));
}

KernelLogFile parse_kernel_log(std::span<const std::uint8_t> file, const std::string& name) {
  return KernelLogParser(file, name).parse();
}

}  // namespace unstarve
