#include "unstarve/jobs/probe/memory_probe.h"

#include <malloc.h>

#include <fstream>
#include <string>

namespace unstarve {
namespace {

// A line "VmRSS:   1234 kB" of /proc/self/status, in bytes.
std::size_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != key) continue;
    std::size_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

MemoryProbe::MemoryProbe() {
  malloc_trim(0);
  std::ofstream mark("/proc/self/clear_refs");
  mark << "5" << std::flush;  // resets VmHWM (proc(5))
  exact_ = static_cast<bool>(mark);
  before_ = status_bytes("VmRSS:");
}

std::size_t MemoryProbe::peak_growth_bytes() const {
  const std::size_t peak = status_bytes("VmHWM:");
  return peak > before_ ? peak - before_ : 0;
}

}  // namespace unstarve
