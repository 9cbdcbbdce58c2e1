#include "unstarve/storage/io/residency.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kSampled = 32;

}  // namespace

bool in_page_cache(int descriptor, std::uint64_t offset) noexcept {
  std::uint8_t byte = 0;
  const iovec room{&byte, 1};
  return ::preadv2(descriptor, &room, 1, static_cast<off_t>(offset), RWF_NOWAIT) >= 0 || errno != EAGAIN;
}

int useful_reads(std::uint64_t records, const std::function<bool(std::uint64_t)>& cached) {
  const std::uint64_t sampled = std::min(records, kSampled);
  std::uint64_t cold = 0;
  for (std::uint64_t i = 0; i < sampled; ++i) {
    try {
      // The middle of each of `sampled` equal intervals.
      if (!cached((2 * i + 1) * records / (2 * sampled))) ++cold;
    } catch (const Error&) {
      continue;
    }
  }
  return cold * 8 > sampled ? kDiskReads : 0;
}

}  // namespace unstarve
