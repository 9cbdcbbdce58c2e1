#include "unstarve/diagnose/traces/kernel_log_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/traces/event_list.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

constexpr std::size_t kLongestText = 1000;
// Kernels may arrive that ended while CUPTI was enabled, before their window, or that began after it.
constexpr std::int64_t kNearNs = 60'000'000'000;

bool is_possible_time(std::int64_t ns) { return ns > -kLatestNs && ns < kLatestNs; }

// `text`: "0000:41:00.0 NVIDIA H100".
LoggedDevice device_of(const KernelLogEntry& entry, const std::string& text) {
  LoggedDevice device;
  const std::size_t blank = std::min(text.find(' '), text.size());
  device.pci_address = text.substr(0, blank);
  for (char& c : device.pci_address)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  device.name = printable(text.substr(std::min(blank + 1, text.size())));
  device.compute_capability = entry.detail / 10.0;
  device.memory_bytes = std::min(entry.lane, std::uint64_t{1} << 50);
  return device;
}

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
    if (open_) close_incomplete_window();  // the process was killed
    leave_out_other_clocks();
    if (file_.size() + kLongestText + 100 > kMostLogBytes && log_.message.empty())
      log_.message = fmt::format("the limit of {} MB for kernels was reached", kMostLogBytes >> 20);
    if (is_incomplete_ && log_.message.empty() && std::ranges::none_of(log_.windows, &LoggedWindow::has_kernels))
      log_.message = "the first window of kernels has no end: the program was killed in it, or still runs";
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
      case KernelLogKind::kMessage:
      case KernelLogKind::kDevice: {
        if (entry.value > kLongestText) fail("found a text of {} bytes at byte {}", entry.value, at);
        const std::size_t padded = (entry.value + 7) / 8 * 8;
        if (file_.size() - offset_ < padded) return false;
        std::string text(reinterpret_cast<const char*>(file_.data()) + offset_, entry.value);
        offset_ += padded;
        if (entry.kind == KernelLogKind::kDevice)
          log_.devices[entry.device] = device_of(entry, text);
        else
          (entry.kind == KernelLogKind::kMessage ? log_.message : log_.names[entry.name]) = std::move(text);
        return true;
      }
      case KernelLogKind::kWindowBegin:
        if (open_) close_incomplete_window();
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
               log_.entries.size(),
               {}};
  }

  void close_window(std::int64_t end_ns) {
    open_ = false;
    window_.time.end = end_ns;
    if (end_ns <= window_.time.begin) return;
    if (window_.has_kernels) kernels_end_ns_ = end_ns;
    log_.windows.push_back(std::exchange(window_, {}));
  }

  // Some of its records were not written.
  void close_incomplete_window() {
    is_incomplete_ = is_incomplete_ || (window_.has_kernels && log_.entries.size() > window_.first_entry);
    window_.has_kernels = false;
    close_window(latest_ns_);
  }

  // Another profiler may give CUPTI a clock of its own, in which the times of kernels then are.
  void leave_out_other_clocks() {
    std::size_t end = log_.entries.size();
    for (auto window = log_.windows.rbegin(); window != log_.windows.rend(); ++window) {
      bool arrived = false, near = false;
      for (std::size_t i = window->first_entry; i < end; ++i) {
        const KernelLogEntry& entry = log_.entries[i];
        if (entry.kind != KernelLogKind::kKernel) continue;
        arrived = true;
        near = near || (entry.begin_ns <= window->time.end + kNearNs && entry.end_ns >= window->time.begin - kNearNs);
      }
      end = window->first_entry;
      if (!window->has_kernels || !arrived || near) continue;
      window->has_kernels = false;
      if (log_.message.empty())
        log_.message = "some kernels have times of another clock, which another profiler may have set";
    }
  }

  std::span<const std::uint8_t> file_;
  const std::string& name_;
  std::size_t offset_ = 0;
  KernelLogFile log_;
  bool open_ = false, is_incomplete_ = false;
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
