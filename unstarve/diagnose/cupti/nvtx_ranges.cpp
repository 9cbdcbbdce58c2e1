#include "unstarve/diagnose/cupti/nvtx_ranges.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>

#include "unstarve/core/digest.h"

namespace unstarve {
namespace {

constexpr std::size_t kQueued = 1 << 15;  // until the next write_ranges(), a quarter of a second later
constexpr std::size_t kProbes = 16;
constexpr std::uint32_t kDeepest = 64;  // open ranges of a thread
constexpr std::uint32_t kNoName = kMostRangeNames;

std::int64_t range_clock_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// FNV-1a. `any_number`: digits that follow each other count as one digit.
template <class Char>
std::uint64_t range_hash(const Char* text, bool any_number) {
  std::uint64_t hash = kFnvBegin;
  bool in_number = false;
  for (std::size_t i = 0; i + 1 < kRangeNameBytes && text[i] != 0; ++i) {
    const bool digit = any_number && text[i] >= '0' && text[i] <= '9';
    if (!digit || !in_number) hash = fnv1a_step(hash, static_cast<std::uint64_t>(digit ? '0' : text[i]));
    in_number = digit;
  }
  return std::max<std::uint64_t>(hash, 1);
}

// A hash table without locks: a key is set once, then its text.
struct RangeName {
  std::atomic<std::uint64_t> key = 0;  // 0: free
  std::atomic<bool> complete = false;
  bool written = false;  // to the file; of the thread that writes it
  char text[kRangeNameBytes] = {};
};
constinit RangeName range_names[kMostRangeNames];

template <class Char>
std::uint32_t range_name(const Char* text) {
  if (text == nullptr || *text == 0) return kNoName;
  const std::uint64_t key = range_hash(text, true);
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    const std::size_t number = (key + probe) % kMostRangeNames;
    RangeName& name = range_names[number];
    std::uint64_t found = name.key.load(std::memory_order_relaxed);
    if (found == 0 && name.key.compare_exchange_strong(found, key, std::memory_order_relaxed)) {
      for (std::size_t i = 0; i + 1 < kRangeNameBytes && text[i] != 0; ++i)
        name.text[i] = sizeof(Char) == 1 || (text[i] > 0 && text[i] < 128) ? static_cast<char>(text[i]) : '?';
      name.complete.store(true, std::memory_order_release);
      found = key;
    }
    if (found == key) return static_cast<std::uint32_t>(number);
  }
  return kNoName;
}

const void* registered_name(std::uint32_t name) { return reinterpret_cast<const void*>(std::uintptr_t{name} + 1); }

std::uint32_t range_name(const NvtxAttributes* attributes) {
  if (attributes == nullptr || attributes->bytes < sizeof *attributes) return kNoName;
  switch (attributes->message_type) {
    case kNvtxAscii: return range_name(attributes->message.ascii);
    case kNvtxWide: return range_name(attributes->message.wide);
    case kNvtxRegistered:
      return static_cast<std::uint32_t>(
          std::min<std::uintptr_t>(reinterpret_cast<std::uintptr_t>(attributes->message.registered) - 1, kNoName));
    default: return kNoName;
  }
}

struct EndedRange {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint32_t name = 0, thread = 0;
};

// A ring that any thread adds to and one takes from. The turn of a slot is twice the number of laps while it is free,
// and one more while it is filled.
class RangeQueue {
 public:
  // False: it is full.
  bool add(const EndedRange& range) {
    std::uint64_t position = added_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[position % kQueued];
      const std::uint64_t turn = slot.turn.load(std::memory_order_acquire), free = position / kQueued * 2;
      if (turn < free) return false;
      if (turn > free) {
        position = added_.load(std::memory_order_relaxed);
      } else if (added_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) {
        slot.range = range;
        slot.turn.store(free + 1, std::memory_order_release);
        return true;
      }
    }
  }
  // False: it is empty.
  bool take(EndedRange& range) {
    Slot& slot = slots_[taken_ % kQueued];
    const std::uint64_t filled = taken_ / kQueued * 2 + 1;
    if (slot.turn.load(std::memory_order_acquire) != filled) return false;
    range = slot.range;
    slot.turn.store(filled + 1, std::memory_order_release);
    ++taken_;
    return true;
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> turn = 0;
    EndedRange range;
  };
  Slot slots_[kQueued];
  std::atomic<std::uint64_t> added_ = 0;
  std::uint64_t taken_ = 0;
};
constinit RangeQueue ended_ranges;

std::atomic<bool> attached = false, ranges_lost = false;
std::atomic<std::uint16_t> range_window = 0;  // 0: none is open
std::atomic<std::int64_t> range_window_ns = 0;
std::uint16_t latest_window = 0;  // of the thread that opens windows
std::size_t ranges_written = 0;   // of the thread that writes

void end_range(std::uint32_t name, std::int64_t begin_ns, std::int64_t end_ns) {
  if (name >= kMostRangeNames) return;
  const auto thread = static_cast<std::uint32_t>(pthread_self());  // as CUPTI numbers them
  if (!ended_ranges.add({begin_ns, end_ns, name, thread})) ranges_lost.store(true, std::memory_order_relaxed);
}

// ------------------------------------------------------------------------------------------ the functions for NVTX

struct OpenRange {
  const void* domain = nullptr;
  std::int64_t begin_ns = 0;
  std::uint32_t name = 0;
};
// Of a thread, as far as they began in the current window: those below them are not known.
struct OpenRanges {
  std::uint16_t window = 0;
  std::uint32_t count = 0, deeper = 0;  // deeper: not in the list
  OpenRange list[kDeepest];
};
constinit thread_local OpenRanges open_of_thread;

OpenRanges& ranges_in(std::uint16_t window) {
  OpenRanges& open = open_of_thread;
  if (open.window != window) {
    open.window = window;
    open.count = open.deeper = 0;
  }
  return open;
}

template <class Text>
int push_range(const void* domain, const Text* text) {
  const std::uint16_t window = range_window.load(std::memory_order_relaxed);
  if (window == 0) return kNvtxNotTracked;
  OpenRanges& open = ranges_in(window);
  if (open.count == kDeepest) {
    ++open.deeper;
  } else {
    const std::uint32_t name = range_name(text);
    open.list[open.count++] = {domain, range_clock_ns(), name};
  }
  return kNvtxNotTracked;
}
int push_in_domain(const void* domain, const NvtxAttributes* attributes) { return push_range(domain, attributes); }
template <class Text>
int push_without_domain(const Text* text) {
  return push_range(nullptr, text);
}

int pop_in_domain(const void* domain) {
  const std::uint16_t window = range_window.load(std::memory_order_relaxed);
  if (window == 0) return kNvtxNotTracked;
  const std::int64_t end_ns = range_clock_ns();
  OpenRanges& open = ranges_in(window);
  if (open.deeper > 0) {
    --open.deeper;
    return kNvtxNotTracked;
  }
  std::uint32_t i = open.count;
  while (i > 0 && open.list[i - 1].domain != domain) --i;
  if (i == 0) return kNvtxNotTracked;  // it began before the window
  end_range(open.list[i - 1].name, open.list[i - 1].begin_ns, end_ns);
  std::copy(open.list + i, open.list + open.count, open.list + i - 1);
  --open.count;
  return kNvtxNotTracked;
}
int pop_without_domain() { return pop_in_domain(nullptr); }

// A range that another thread may end. Its number has all that is known of it, so that no table is necessary:
//   16 bits window | 12 bits name | 36 bits time since the window began, 16 ns
constexpr int kNameShift = 36, kWindowShift = 48;
static_assert(kMostRangeNames == 1u << (kWindowShift - kNameShift));
template <class Text>
std::uint64_t start_range(const Text* text) {
  const std::uint16_t window = range_window.load(std::memory_order_acquire);
  if (window == 0) return 0;
  const std::uint32_t name = range_name(text);
  const auto passed = static_cast<std::uint64_t>(range_clock_ns() - range_window_ns.load(std::memory_order_relaxed));
  if (name == kNoName || passed >> (kNameShift + 4) != 0) return 0;
  return std::uint64_t{window} << kWindowShift | std::uint64_t{name} << kNameShift | passed >> 4;
}
std::uint64_t start_in_domain(const void*, const NvtxAttributes* attributes) { return start_range(attributes); }

void end_started(std::uint64_t range) {
  const std::uint16_t window = range_window.load(std::memory_order_acquire);
  if (window == 0 || range >> kWindowShift != window) return;
  const std::int64_t end_ns = range_clock_ns();
  const std::uint64_t passed = (range & ((std::uint64_t{1} << kNameShift) - 1)) << 4;
  end_range(static_cast<std::uint32_t>(range >> kNameShift) % kMostRangeNames,
            range_window_ns.load(std::memory_order_relaxed) + static_cast<std::int64_t>(passed), end_ns);
}
void end_in_domain(const void*, std::uint64_t range) { end_started(range); }

// Outside of windows, too: names and domains are used later. A domain is known by the hash of its name.
template <class Char>
const void* register_name(const void*, const Char* text) {
  return registered_name(range_name(text));
}
template <class Char>
const void* create_domain(const Char* name) {
  return name == nullptr ? nullptr : reinterpret_cast<const void*>(std::uintptr_t{range_hash(name, false)});
}

struct FunctionTable {
  NvtxFunction** entries = nullptr;
  unsigned count = 0;

  template <class Function>
  void set(unsigned position, Function* function) const {
    if (position < count && entries[position] != nullptr) *entries[position] = reinterpret_cast<NvtxFunction>(function);
  }
};

}  // namespace

bool attach_nvtx(NvtxExportTable tables) noexcept {
  const auto* const known = static_cast<const NvtxTables*>(tables != nullptr ? tables(kNvtxCallbacks) : nullptr);
  if (known == nullptr || known->bytes < sizeof *known || known->table_of == nullptr) return false;
  FunctionTable core, core2;
  if (known->table_of(kNvtxCore, &core.entries, &core.count) == 0 || core.entries == nullptr) return false;
  core.set(kNvtxRangePushEx, push_without_domain<NvtxAttributes>);
  core.set(kNvtxRangePushA, push_without_domain<char>);
  core.set(kNvtxRangePushW, push_without_domain<wchar_t>);
  core.set(kNvtxRangePop, pop_without_domain);
  core.set(kNvtxRangeStartEx, start_range<NvtxAttributes>);
  core.set(kNvtxRangeStartA, start_range<char>);
  core.set(kNvtxRangeStartW, start_range<wchar_t>);
  core.set(kNvtxRangeEnd, end_started);
  if (known->table_of(kNvtxCore2, &core2.entries, &core2.count) != 0 && core2.entries != nullptr) {
    core2.set(kNvtxDomainRangePushEx, push_in_domain);
    core2.set(kNvtxDomainRangePop, pop_in_domain);
    core2.set(kNvtxDomainRangeStartEx, start_in_domain);
    core2.set(kNvtxDomainRangeEnd, end_in_domain);
    core2.set(kNvtxDomainRegisterStringA, register_name<char>);
    core2.set(kNvtxDomainRegisterStringW, register_name<wchar_t>);
    core2.set(kNvtxDomainCreateA, create_domain<char>);
    core2.set(kNvtxDomainCreateW, create_domain<wchar_t>);
  }
  attached.store(true, std::memory_order_release);
  return true;
}

bool nvtx_is_attached() noexcept { return attached.load(std::memory_order_acquire); }

void open_ranges() noexcept {
  EndedRange late;  // of the window before
  while (ended_ranges.take(late)) {
  }
  ranges_lost = false;
  if (++latest_window == 0) latest_window = 1;
  range_window_ns.store(range_clock_ns(), std::memory_order_relaxed);
  range_window.store(latest_window, std::memory_order_release);
}

void close_ranges() noexcept { range_window = 0; }

bool write_ranges(KernelLog& log) noexcept {
  EndedRange range;
  while (ended_ranges.take(range)) {
    if (ranges_written == kMostRanges) continue;
    ++ranges_written;
    RangeName& name = range_names[range.name];
    if (!name.written && name.complete.load(std::memory_order_acquire)) {
      log.add({.kind = KernelLogKind::kName, .name = kFirstRangeName + range.name}, name.text);
      name.written = true;
    }
    log.add({.kind = KernelLogKind::kRange,
             .name = kFirstRangeName + range.name,
             .begin_ns = range.begin_ns,
             .end_ns = range.end_ns,
             .lane = range.thread});
  }
  return !ranges_lost && ranges_written < kMostRanges;
}

void forget_ranges() noexcept {
  for (RangeName& name : range_names) name.written = false;
  ranges_written = 0;
}

}  // namespace unstarve
