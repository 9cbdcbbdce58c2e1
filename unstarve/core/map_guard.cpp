#include "unstarve/core/map_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <vector>

#include "unstarve/core/error.h"

namespace unstarve {

namespace map_guard_detail {
std::atomic<std::uint64_t> lost_pages = 0;
}  // namespace map_guard_detail

namespace {

constexpr std::uint64_t kNothing = ~std::uint64_t{0};

// Read by the signal handler, which takes no lock: `begin` is set last and cleared first; 0 marks a free slot.
struct Slot {
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<std::uint64_t> first_lost = kNothing;  // offset
};
constexpr std::size_t kSlots = 65536;
Slot slots[kSlots];
std::atomic<std::size_t> used = 0;  // slots from here on were never filled
std::uintptr_t map_page_bytes = 4096;
struct sigaction previous_action;

Slot* slot_of(std::uintptr_t address) noexcept {
  const std::size_t count = used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uintptr_t begin = slots[i].begin.load(std::memory_order_acquire);
    if (begin != 0 && address >= begin && address < slots[i].end.load(std::memory_order_relaxed)) return &slots[i];
  }
  return nullptr;
}

// Async-signal-safe: only atomics and the raw system call. Library wrappers of mmap() are not safe in handlers, and
// a sanitizer's wrapper treats the new page as a write by this thread.
bool replace_page(std::uintptr_t address) noexcept {
  Slot* const slot = slot_of(address);
  if (slot == nullptr) return false;
  const std::uintptr_t page = address / map_page_bytes * map_page_bytes;
  const std::uint64_t offset = page - slot->begin.load(std::memory_order_relaxed);
  std::uint64_t first = slot->first_lost.load(std::memory_order_relaxed);
  while (offset < first && !slot->first_lost.compare_exchange_weak(first, offset)) {
  }
  // Recorded before the page is mapped, so that a reader of the zeros finds the record.
  map_guard_detail::lost_pages.fetch_add(1, std::memory_order_acq_rel);
  return ::syscall(SYS_mmap, page, map_page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != -1;
}

void on_bus_error(int number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const bool ours = info->si_code == BUS_ADRERR && replace_page(reinterpret_cast<std::uintptr_t>(info->si_addr));
  errno = saved_errno;
  if (ours) return;
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) return previous_action.sa_sigaction(number, info, context);
  if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN)
    return previous_action.sa_handler(number);
  // Default action: the fault repeats, or a signal sent by a process is raised again, and ends this process.
  ::signal(SIGBUS, SIG_DFL);
  if (info->si_code <= 0) ::raise(SIGBUS);
}

struct Table {
  std::mutex mutex;
  std::map<const void*, std::pair<std::size_t, std::string>> maps;  // slot and path
  std::vector<std::size_t> free;
};

// Never destroyed: static objects may forget their maps later.
Table& table() {
  static Table* const all = [] {
    map_page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &previous_action);
    return new Table;
  }();
  return *all;
}

}  // namespace

void guard_map(const void* begin, std::size_t bytes, const std::string& path) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  std::size_t number = used.load(std::memory_order_relaxed);
  if (!all.free.empty()) {
    number = all.free.back();
  } else if (number == kSlots) {
    return;
  }
  all.free.reserve(used.load(std::memory_order_relaxed) + 1);  // forget_map() must not throw
  all.maps.emplace(begin, std::pair(number, path));
  if (!all.free.empty()) all.free.pop_back();
  Slot& slot = slots[number];
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  slot.first_lost.store(kNothing, std::memory_order_relaxed);
  slot.end.store(address + bytes, std::memory_order_relaxed);
  slot.begin.store(address, std::memory_order_release);
  if (number == used.load(std::memory_order_relaxed)) used.store(number + 1, std::memory_order_release);
}

void forget_map(const void* begin) noexcept {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.maps.find(begin);
  if (found == all.maps.end()) return;
  slots[found->second.first].begin.store(0, std::memory_order_release);
  all.free.push_back(found->second.first);
  all.maps.erase(found);
}

void map_guard_detail::check_slowly(const void* begin, std::size_t bytes) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  auto found = all.maps.upper_bound(begin);
  if (found == all.maps.begin()) return;
  --found;
  const auto& [number, path] = found->second;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const Slot& slot = slots[number];
  const std::uintptr_t map = slot.begin.load(std::memory_order_relaxed);
  if (address >= slot.end.load(std::memory_order_relaxed)) return;
  const std::uint64_t lost = slot.first_lost.load(std::memory_order_acquire);
  if (lost == kNothing || address - map + bytes <= lost) return;
  throw Error(ErrorKind::kIo, "read " + path + ": the bytes from offset " + std::to_string(lost) +
                                  " on are lost: the file was shortened, or its disk failed, while it was read");
}

}  // namespace unstarve
