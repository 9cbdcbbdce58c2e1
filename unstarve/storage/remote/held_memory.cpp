#include "unstarve/storage/remote/held_memory.h"

#include <fmt/format.h>

#include <atomic>

#include "unstarve/storage/dataset/notice.h"

namespace unstarve::remote {
namespace {

std::atomic<std::uint64_t> held_total{0};

}  // namespace

std::optional<HeldMemory> HeldMemory::reserve(std::uint64_t bytes, std::uint64_t limit) {
  HeldMemory memory(bytes);
  if (held_total.fetch_add(bytes) + bytes <= limit) return memory;
  return std::nullopt;
}

std::uint64_t HeldMemory::total() noexcept { return held_total.load(); }

HeldMemory::~HeldMemory() { held_total.fetch_sub(bytes_); }

void report_held(const std::string& name, HeldCase object, std::uint64_t held_bytes) {
  static std::atomic<bool> noted[3];
  if (noted[static_cast<std::size_t>(object)].exchange(true)) return;
  const std::string limits =
      fmt::format("objects of at most {} MiB, {} MiB together", kHeldObjectBytes >> 20, held_bytes >> 20);
  switch (object) {
    case HeldCase::kNoRanges:
      return emit_notice(
          fmt::format("{}: the server ignores range requests; {}, are read once and held in memory", name, limits));
    case HeldCase::kTooLarge:
      return emit_notice(fmt::format(
          "{}: the server ignores range requests, and the object is too large to be held in memory: every read "
          "transfers it from its beginning. Copy it, or use a server that supports ranges",
          name));
    case HeldCase::kUnsized:
      return emit_notice(
          fmt::format("{}: the server does not report the size; {}, are read when they are opened and held in memory",
                      name, limits));
  }
}

}  // namespace unstarve::remote
